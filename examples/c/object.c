/* Runs the object for kernel code, in a program: Gibbs sampling and DMALA without floats. Their chains have the hashes of
 * the firmware `integers`, whole and in parts of a sweep, and `integer_langevin`; their distributions are those of the enumeration;
 * what is wrong is refused. */
#include "bitmc.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 512 sweeps of the 12x12 Ising torus, J = .3. */
enum { SIDE = 12, SITES = SIDE * SIDE, SWEEPS = 512, COUPLING = 113459 };
#define HASH 0x076C0F80u
#define LANGEVIN_HASH 0xA2275999u

static uint32_t ends[SITES], words[(SITES + 31) / 32];
static bitmc_entry entries[4 * SITES];
static int32_t linear[SITES], fields[SITES];

static uint32_t torus(void) { /* its entries */
    uint32_t count = 0;
    memset(words, 0, sizeof words);
    for (uint32_t a = 0; a < SITES; a++) {
        for (uint32_t b = 0; b < SITES; b++) {
            uint32_t rows = (a / SIDE + SIDE - b / SIDE) % SIDE, columns = (a + SIDE - b % SIDE) % SIDE;
            int near = rows == 1 || rows == SIDE - 1, beside = columns == 1 || columns == SIDE - 1;
            if ((near && columns == 0) || (beside && rows == 0)) {
                entries[count].site = b;
                entries[count++].coupling = COUPLING;
            }
        }
        ends[a] = count;
        linear[a] = -2 * COUPLING;
    }
    return count;
}

static void stir(uint32_t *hash) {
    for (size_t i = 0; i < sizeof words / 4; i++)
        *hash = (((*hash << 5) | (*hash >> 27)) ^ words[i]) * 0x9E3779B1u;
}

static bitmc_status gibbs_hash(size_t part, uint32_t *hash) {
    static bitmc_quantised chain;
    static bitmc_rng rng;
    bitmc_status status = bitmc_quantised_init(&chain, ends, entries, torus(), linear, SITES, words,
                                               sizeof words / 4, fields, SITES);
    if (status == BITMC_STATUS_OK) status = bitmc_rng_init(&rng, 1, 0);
    *hash = 0x811C9DC5u;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t first = 0; first < SITES && status == BITMC_STATUS_OK; first += part) {
            size_t left = SITES - first;
            status = bitmc_quantised_sweep(&chain, &rng, first, part < left ? part : left, NULL);
        }
        stir(hash);
    }
    return status;
}

static bitmc_status langevin_hash(uint32_t *hash) {
    static uint32_t flips[sizeof words / 4];
    static bitmc_quantised_langevin chain;
    static bitmc_rng rng;
    bitmc_status status = bitmc_quantised_langevin_init(&chain, ends, entries, torus(), linear, SITES, 189096, words,
                                                        flips, sizeof words / 4, fields, SITES);
    if (status == BITMC_STATUS_OK) status = bitmc_rng_init(&rng, 1, 0);
    *hash = 0x811C9DC5u;
    for (int step = 0; step < SWEEPS && status == BITMC_STATUS_OK; step++) {
        status = bitmc_quantised_langevin_step(&chain, &rng, NULL, NULL);
        stir(hash);
    }
    return status;
}

/* Four bits, all coupled: chi-square of 100,000 states, 12 steps apart, against the enumerated distribution. */
enum { BITS = 4, STATES = 1 << BITS, DRAWS = 100000 };
static const int32_t K[BITS][BITS] = {
    {0, 40000, -25000, 10000}, {40000, 0, 15000, -35000}, {-25000, 15000, 0, 30000}, {10000, -35000, 30000, 0}};
static const int32_t B[BITS] = {-20000, 5000, 30000, -45000};

static double chi_square(const uint32_t *counts, double sign) {
    double weight[STATES], sum = 0, chi = 0;
    for (int x = 0; x < STATES; x++) {
        double power = 0;
        for (int i = 0; i < BITS; i++)
            for (int j = 0; j <= i; j++)
                if (x >> i & x >> j & 1) power += i == j ? B[i] : (i + j == 1 ? sign : 1) * K[i][j];
        sum += weight[x] = exp2(power / 65536);
    }
    for (int x = 0; x < STATES; x++) {
        double expected = DRAWS * weight[x] / sum;
        chi += (counts[x] - expected) * (counts[x] - expected) / expected;
    }
    return chi;
}

static bitmc_status count(int langevin, uint32_t *counts) {
    uint32_t row_ends[BITS] = {3, 6, 9, 12}, word = 0, flips;
    bitmc_entry pairs[BITS * (BITS - 1)];
    int32_t room[BITS];
    bitmc_quantised gibbs;
    bitmc_quantised_langevin chain;
    bitmc_rng rng;
    for (uint32_t i = 0, place = 0; i < BITS; i++)
        for (uint32_t j = 0; j < BITS; j++)
            if (i != j) {
                pairs[place].site = j;
                pairs[place++].coupling = K[i][j];
            }
    bitmc_status status =
        langevin ? bitmc_quantised_langevin_init(&chain, row_ends, pairs, 12, B, BITS, 60000, &word, &flips, 1, room, BITS)
                 : bitmc_quantised_init(&gibbs, row_ends, pairs, 12, B, BITS, &word, 1, room, BITS);
    if (status == BITMC_STATUS_OK) status = bitmc_rng_init(&rng, 2, 0);
    for (int draw = 0; draw < DRAWS && status == BITMC_STATUS_OK; draw++) {
        for (int step = 0; step < 12 && status == BITMC_STATUS_OK; step++)
            status = langevin ? bitmc_quantised_langevin_step(&chain, &rng, NULL, NULL)
                              : bitmc_quantised_sweep(&gibbs, &rng, 0, BITS, NULL);
        counts[word]++;
    }
    return status;
}

/* What must be refused, each with its status. */
static int refused(void) {
    uint32_t two[2] = {1, 2}, word[1] = {0}, padded[1] = {4}, flips[1], accepted, proposed;
    bitmc_entry pair[2] = {{1, 7}, {0, 7}}, lame[2] = {{1, 7}, {0, 8}};
    int32_t b[2] = {1, 2}, up[2] = {1 << 24, 1 << 24}, room[2];
    bitmc_quantised chain, none;
    bitmc_quantised_langevin jumps;
    bitmc_rng rng;
    bitmc_state state;
    memset(&none, 0, sizeof none), memset(&jumps, 0, sizeof jumps);
    return bitmc_quantised_init(NULL, two, pair, 2, b, 2, word, 1, room, 2) == BITMC_STATUS_NULL &&
           bitmc_quantised_init(&chain, NULL, pair, 2, b, 2, word, 1, room, 2) == BITMC_STATUS_NULL &&
           bitmc_quantised_init(&chain, two, pair, 2, b, 2, word, 1, room, 1) == BITMC_STATUS_MEMORY &&
           bitmc_quantised_init(&chain, two, pair, 2, b, 2, word, 0, room, 2) == BITMC_STATUS_STATE &&
           bitmc_quantised_init(&chain, two, pair, 2, b, 2, padded, 1, room, 2) == BITMC_STATUS_STATE &&
           bitmc_quantised_init(&chain, two, lame, 2, b, 2, word, 1, room, 2) == BITMC_STATUS_EDGES &&
           bitmc_rng_init(&rng, 1, 0) == BITMC_STATUS_OK &&
           bitmc_quantised_sweep(&none, &rng, 0, 2, NULL) == BITMC_STATUS_NOT_READY &&
           bitmc_quantised_init(&chain, two, pair, 2, b, 2, word, 1, room, 2) == BITMC_STATUS_OK &&
           bitmc_quantised_sweep(&chain, &rng, 1, 2, NULL) == BITMC_STATUS_INDEX &&
           bitmc_quantised_sweep(&chain, &rng, 1, (size_t)-1, NULL) == BITMC_STATUS_INDEX &&
           bitmc_quantised_sweep(&chain, NULL, 0, 2, NULL) == BITMC_STATUS_NULL &&
           bitmc_quantised_sweep_free(&chain, NULL, two, 1, NULL) == BITMC_STATUS_NULL &&
           bitmc_quantised_sweep_free(&chain, &rng, word, 1, NULL) == BITMC_STATUS_OVERLAP &&
           bitmc_quantised_sweep_free(&chain, &rng, two, 1, NULL) == BITMC_STATUS_OK &&
           bitmc_quantised_state(&chain, &state) == BITMC_STATUS_OK && state.sites == 2 &&
           state.words == word && bitmc_quantised_set_linear(&chain, up, 1) == BITMC_STATUS_COUNT &&
           bitmc_quantised_set_linear(&chain, up, 2) == BITMC_STATUS_OK &&
           bitmc_quantised_sweep(&chain, &rng, 0, 2, NULL) == BITMC_STATUS_OK && word[0] == 3 &&
           bitmc_quantised_langevin_init(&jumps, two, pair, 2, b, 2, 9, word, NULL, 1, room, 2) == BITMC_STATUS_NULL &&
           bitmc_quantised_langevin_init(&jumps, two, pair, 2, b, 2, 1u << 31, word, flips, 1, room, 2) ==
               BITMC_STATUS_ARGUMENT &&
           bitmc_quantised_langevin_init(&jumps, two, pair, 2, b, 2, 9, padded, flips, 1, room, 2) == BITMC_STATUS_STATE &&
           bitmc_quantised_langevin_step(&jumps, &rng, NULL, NULL) == BITMC_STATUS_NOT_READY &&
           bitmc_quantised_langevin_init(&jumps, two, pair, 2, b, 2, 9, word, flips, 1, room, 2) == BITMC_STATUS_OK &&
           bitmc_quantised_langevin_step(&jumps, &rng, &accepted, &proposed) == BITMC_STATUS_OK && accepted < 2 &&
           proposed <= 2 && bitmc_quantised_langevin_step_free(&jumps, &rng, NULL, 0, NULL, &proposed) == BITMC_STATUS_OK &&
           proposed == 0 && bitmc_quantised_langevin_set_linear(&jumps, up, 2) == BITMC_STATUS_OK &&
           bitmc_quantised_langevin_state(&jumps, &state) == BITMC_STATUS_OK && state.words == word;
}

int main(void) {
    uint32_t whole, parts, langevin;
    bitmc_status status = gibbs_hash(SITES, &whole);
    if (status == BITMC_STATUS_OK) status = gibbs_hash(37, &parts);
    if (status == BITMC_STATUS_OK) status = langevin_hash(&langevin);
    int passed = 1;
    for (int sampler = 0; sampler < 2 && status == BITMC_STATUS_OK; sampler++) {
        uint32_t counts[STATES] = {0};
        status = count(sampler, counts);
        /* 15 degrees of freedom: a sound chain is above 56.5 once in a million; one of another distribution must be. */
        double chi = chi_square(counts, 1), twin = chi_square(counts, -1);
        printf("%s: chi-square %.1f, of another distribution %.0f\n", sampler ? "DMALA" : "Gibbs", chi, twin);
        passed = passed && chi < 56.5 && twin > 56.5;
    }
    if (status != BITMC_STATUS_OK) {
        printf("%s\n", bitmc_status_text(status));
        return 1;
    }
    int checked = refused();
    printf("hashes %08x, in parts %08x, DMALA %08x; misuse %s\n", (unsigned)whole, (unsigned)parts, (unsigned)langevin,
           checked ? "refused" : "NOT refused");
    return whole != HASH || parts != HASH || langevin != LANGEVIN_HASH || !passed || !checked;
}
