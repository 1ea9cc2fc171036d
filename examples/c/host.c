/* What the C face promises, from a C program: models against exact means, snapshots; misuse.c has the rest. Exit
 * status 0 for a pass. Compiled as C11 and as C++17. */
#include "check.h"
#include "ising.h"
#include <math.h>

static float two_minima(void *user, const bitmc_state *x) {
    float sum = 0.0f;
    for (size_t site = 0; site < x->sites; site++) sum += (float)bitmc_state_get(x, site);
    *(int *)user += 1;
    return 0.5f * (sum - 3.0f) * (sum - 3.0f);
}

static float slope(void *user, const bitmc_state *x, size_t site, uint32_t value) {
    float sum = -3.0f;
    (void)user, (void)site, (void)value;
    for (size_t other = 0; other < x->sites; other++) sum += (float)bitmc_state_get(x, other);
    return sum;
}

/* The same for all sites at once. */
static void slopes(void *user, const bitmc_state *x, float *out, size_t count) {
    for (size_t site = 0; site < count; site++) out[site] = slope(user, x, 0, 0);
}

/* The mean of the first site over so many steps, or NAN. */
static double mean_of(bitmc_model *model, bitmc_sampler *sampler, uint64_t steps, bitmc_summary *summary) {
    static unsigned char memory[16384];
    static uint32_t sums[64];
    bitmc_chain chain;
    bitmc_rng rng;
    bitmc_stats stats;
    float mean = NAN;
    if (bitmc_rng_init(&rng, 5, 1) || bitmc_chain_init(&chain, model, memory, sizeof memory, &rng) ||
        bitmc_chain_run(&chain, sampler, &rng, 500, NULL) || bitmc_stats_init(&stats, sums, 25) ||
        bitmc_chain_run(&chain, sampler, &rng, steps, &stats) || bitmc_stats_summary(&stats, summary) ||
        bitmc_stats_mean(&stats, 0, &mean))
        return NAN;
    return mean;
}

/* A free spin in a field w: P(1) = 1 / (1 + e^(-2w)); standard errors are from batches, 5 of them. */
static void models_and_samplers(void) {
    static unsigned char couplings[4096], cycle[4096], noise[512];
    bitmc_model model;
    bitmc_sampler sampler;
    bitmc_summary summary;
    bitmc_edge edges[50];
    float fields[25];
    for (uint32_t site = 0; site < 25; site++) {
        bitmc_edge right = {site, site / 5 * 5 + (site + 1) % 5, 0.1f}, below = {site, (site + 5) % 25, 0.1f};
        edges[2 * site] = right, edges[2 * site + 1] = below;
        fields[site] = 0.2f;
    }
    check(!bitmc_ising_init(&model, BITMC_SPINS_EDGES_TWICE, edges, 50, fields, 25, couplings, sizeof couplings),
          "an Ising model");
    const char *names[] = {"Ising, DMALA", "Ising, Gibbs", "Ising, AB of first order", "Ising, AB-edge", "Ising, ACS"};
    for (int which = 0; which < 5; which++) {
        bitmc_status status =
            which == 0   ? bitmc_langevin_init(&sampler, 0.6f, 1)
            : which == 1 ? bitmc_gibbs_init(&sampler, 0)
            : which == 2 ? bitmc_balanced_init(&sampler, 0.8f, 0.6f)
            : which == 3 ? bitmc_second_order_init(&sampler, &model, 2.0f, 0.8f, 1.0f, noise, sizeof noise)
                         : bitmc_cyclical_init(&sampler, 4.0f, 0.3f, 0.9f, 8, cycle, sizeof cycle);
        double mean = status ? NAN : mean_of(&model, &sampler, 40000, &summary);
        /* <s> = .482970 by transfer matrix; the energy's sample size bounds that of a spin from below here. */
        double exact = 0.5 * (1.0 + 0.482970), error = sqrt(exact * (1.0 - exact) / summary.energy_ess);
        check(fabs(mean - exact) < 5.0 * error && summary.faults == 0, names[which]);
    }
    check(!bitmc_potts_init(&model, edges, 50, NULL, 25, 3, couplings, sizeof couplings) &&
              !bitmc_langevin_init(&sampler, 1.0f, 1) &&
              fabs(mean_of(&model, &sampler, 40000, &summary) - 1.0) < 5.0 * sqrt(2.0 / 3.0 / summary.energy_ess),
          "a Potts model of 3 values without a field: the mean value is 1");
    {
        static unsigned char table[2048];
        const float weights[6] = {0.0f, 0.0f, 0.5f, -1.0f, 1.0f, 0.25f};
        const float visible[3] = {0.4f, -0.2f, 0.1f}, hidden[2] = {0.3f, -0.5f};
        double exact = 1.0 / (1.0 + exp(-0.4)); /* the first unit has no weights */
        check(!bitmc_rbm_init(&model, weights, visible, 3, hidden, 2, table, sizeof table) &&
                  !bitmc_langevin_init(&sampler, 1.0f, 1) &&
                  fabs(mean_of(&model, &sampler, 40000, &summary) - exact) <
                      5.0 * sqrt(exact * (1.0 - exact) / summary.energy_ess),
              "a restricted Boltzmann machine");
    }
    {
        int calls = 0;
        /* 10 bits: P(bit) = sum_k C(10,k) e^(-(k-3)^2/2) k/10 / sum_k C(10,k) e^(-(k-3)^2/2). */
        double top = 0.0, bottom = 0.0, choose = 1.0;
        for (int k = 0; k <= 10; choose *= (10.0 - k) / (k + 1.0), k++) {
            bottom += choose * exp(-0.5 * (k - 3.0) * (k - 3.0));
            top += choose * exp(-0.5 * (k - 3.0) * (k - 3.0)) * k / 10.0;
        }
        double exact = top / bottom;
        static const char *const kinds[] = {"an energy of the caller's", "an energy of the caller's without a gradient",
                                            "an energy of the caller's with its gradient at once"};
        for (int kind = 0; kind < 3; kind++) {
            check(!bitmc_own_init(&model, 10, 2, 0, two_minima, kind == 0 ? slope : NULL, kind == 2 ? slopes : NULL, &calls) &&
                      !bitmc_langevin_init(&sampler, 0.5f, 1) &&
                      fabs(mean_of(&model, &sampler, 40000, &summary) - exact) <
                          5.0 * sqrt(exact * (1.0 - exact) / summary.energy_ess) &&
                      calls > 40000,
                  kinds[kind]);
        }
    }
}

static void exchange_and_snapshots(void) {
    static unsigned char couplings[2048], memory[3][1024], again[3][1024], rungs[512], rungs2[512], bytes[8192];
    const float betas[3] = {0.2f, 0.5f, 1.0f};
    bitmc_edge edges[9];
    float fields[9] = {0.0f};
    bitmc_model model;
    bitmc_rng rng, rng2;
    bitmc_ladder ladder, ladder2;
    bitmc_replica replicas[3], replicas2[3];
    bitmc_sampler samplers[3];
    uint32_t total = 0, swaps, swaps2;
    size_t written = 0;
    int same = 1;
    for (uint32_t site = 0; site < 9; site++) {
        bitmc_edge edge = {site, (site + 1) % 9, 0.8f};
        edges[site] = edge;
    }
    int ready = !bitmc_ising_init(&model, BITMC_SPINS_EDGES_ONCE, edges, 9, fields, 9, couplings, sizeof couplings) &&
                !bitmc_rng_init(&rng, 1, 0) && !bitmc_rng_init(&rng2, 2, 0) &&
                !bitmc_ladder_init(&ladder, betas, 3, rungs, sizeof rungs) &&
                !bitmc_ladder_init(&ladder2, betas, 3, rungs2, sizeof rungs2);
    for (int index = 0; index < 3 && ready; index++) {
        ready = !bitmc_replica_init(&replicas[index], &model, memory[index], sizeof memory[index], &rng) &&
                !bitmc_replica_init(&replicas2[index], &model, again[index], sizeof again[index], &rng2) &&
                !bitmc_langevin_init(&samplers[index], 0.5f, 1);
    }
    check(ready, "replicas on a ladder");
    for (int round = 0; round < 200 && ready; round++) {
        ready = !bitmc_exchange_save(7, &ladder, replicas, 3, &rng, bytes, sizeof bytes, &written) &&
                !bitmc_exchange_load(7, &ladder2, replicas2, 3, &rng2, bytes, written) &&
                !bitmc_exchange(&ladder, replicas, 3, samplers, &rng, 2, &swaps) &&
                !bitmc_exchange(&ladder2, replicas2, 3, samplers, &rng2, 2, &swaps2);
        total += swaps;
        same &= swaps == swaps2;
        for (int index = 0; index < 3; index++) {
            bitmc_state one, two;
            same &= !bitmc_replica_state(&replicas[index], &one) && !bitmc_replica_state(&replicas2[index], &two) &&
                    one.words[0] == two.words[0];
        }
    }
    check(ready && total > 50, "replica exchange");
    check(ready && same, "replica exchange goes on bit for bit");
}

static void kept(void) {
    static unsigned char couplings[512], memory[768], memory2[768];
    static uint8_t bytes[4096], altered[4096];
    static uint32_t sums[9], sums2[9];
    bitmc_edge edges[2] = {{0, 1, 0.5f}, {1, 2, -0.25f}};
    float fields[9] = {0.1f, 0.2f, 0.3f};
    bitmc_model model;
    bitmc_rng rng, rng2;
    bitmc_chain chain, chain2;
    bitmc_sampler sampler;
    bitmc_stats stats, stats2;
    bitmc_info info, info2;
    uint32_t held[1] = {3};
    size_t need = 0, written = 0;
    int same = !bitmc_ising_init(&model, BITMC_BITS_EDGES_ONCE, edges, 2, fields, 9, couplings, sizeof couplings) &&
               !bitmc_rng_init(&rng, 1, 0) && !bitmc_rng_init(&rng2, 9, 3) &&
               !bitmc_chain_init(&chain, &model, memory, sizeof memory, &rng) &&
               !bitmc_chain_init(&chain2, &model, memory2, sizeof memory2, &rng2) &&
               !bitmc_chain_clamp(&chain, held, 1) && !bitmc_langevin_init(&sampler, 0.5f, 1) &&
               !bitmc_stats_init(&stats, sums, 9) && !bitmc_stats_init(&stats2, sums2, 9);
    for (int step = 0; step < 300 && same; step++) {
        same = bitmc_save(1, &chain, &rng, &stats, NULL, 0, &need) == BITMC_STATUS_MEMORY &&
               !bitmc_save(1, &chain, &rng, &stats, bytes, need, &written) && written == need &&
               !bitmc_load(1, &chain2, &rng2, &stats2, bytes, written) &&
               !bitmc_chain_step(&chain, &sampler, &rng, &info) && !bitmc_chain_step(&chain2, &sampler, &rng2, &info2) &&
               memcmp(&info, &info2, sizeof info) == 0 && !bitmc_chain_run(&chain, &sampler, &rng, 3, &stats);
    }
    check(same, "a chain, its generator and its statistics go on bit for bit");
    size_t refused = 0, bits = 8 * written;
    for (size_t bit = 0; bit < bits; bit++) {
        memcpy(altered, bytes, written);
        altered[bit / 8] ^= (uint8_t)(1u << bit % 8);
        refused += bitmc_load(1, &chain2, &rng2, &stats2, altered, written) != BITMC_STATUS_OK;
    }
    check(bits > 1000 && refused == bits, "every flipped bit of a snapshot is refused");
    check(bitmc_load(1, &chain2, &rng2, &stats2, bytes, written - 1) == BITMC_STATUS_SNAPSHOT, "a torn snapshot");
    check(bitmc_load(2, &chain2, &rng2, &stats2, bytes, written) == BITMC_STATUS_OTHER, "one of another model");
    check(bitmc_load(1, &chain2, &rng2, NULL, bytes, written) == BITMC_STATUS_OTHER, "one with more parts");
}

/* An open chain told what the functions say is the chain over them, bit for bit, also from a snapshot between the halves.
 * Negative control: told the gradient of the state before, it is another one. */
static void halves(void) {
    static unsigned char memory[1024], open_memory[3][1024], cycle[1024], bytes[4096];
    const uint32_t start[1] = {7};
    const char *names[] = {"DMALA", "DULA", "AB of first order", "ACS"};
    bitmc_model model;
    bitmc_sampler sampler;
    int calls = 0;
    int ready = !bitmc_own_init(&model, 10, 2, 0, two_minima, slope, NULL, &calls);
    for (int which = 0; which < 4; which++) {
        bitmc_chain chain;
        bitmc_open open[3]; /* one to be told right, one from snapshots, one to be told wrong */
        bitmc_rng rng, open_rng[3];
        bitmc_state x = {start, 1, 10, 2}, y;
        bitmc_info info, did;
        float gradient[10], old[10], energy = two_minima(&calls, &x);
        int same = 1, other = 0;
        size_t written;
        slopes(NULL, &x, gradient, 10);
        ready = ready && bitmc_open_bytes(10, 2, 0) <= sizeof open_memory[0] && !bitmc_rng_init(&rng, 3, 0) &&
                !bitmc_chain_init_at(&chain, &model, memory, sizeof memory, start, 1) &&
                !(which == 0   ? bitmc_langevin_init(&sampler, 0.5f, 1)
                  : which == 1 ? bitmc_langevin_init(&sampler, 0.2f, 0)
                  : which == 2 ? bitmc_balanced_init(&sampler, 0.8f, 0.6f)
                               : bitmc_cyclical_init(&sampler, 4.0f, 0.3f, 0.9f, 4, cycle, sizeof cycle));
        for (int k = 0; k < 3; k++)
            ready = ready && !bitmc_rng_init(&open_rng[k], 3, 0) &&
                    !bitmc_open_init(&open[k], 10, 2, 0, NULL, open_memory[k], sizeof open_memory[k], start, 1, energy, gradient, 10);
        for (int step = 0; step < 1000 && ready; step++) {
            ready = !bitmc_chain_step(&chain, &sampler, &rng, &info) && !bitmc_chain_state(&chain, &x);
            for (int k = 0; k < 3 && ready; k++) {
                ready = !bitmc_open_state(&open[k], &y);
                slopes(NULL, &y, old, 10);
                ready = ready && !bitmc_open_ask(&open[k], &sampler, NULL, 0, &open_rng[k], &y);
                if (k == 0) { /* the second one goes on from here */
                    ready = ready && !bitmc_open_save(1, &open[0], &open_rng[0], bytes, sizeof bytes, &written) &&
                            !bitmc_open_load(1, &open[1], &open_rng[1], bytes, written) &&
                            !bitmc_open_ask(&open[0], &sampler, NULL, 0, &open_rng[0], &y);
                }
                energy = two_minima(&calls, &y);
                slopes(NULL, &y, gradient, 10);
                ready = ready && !bitmc_open_tell(&open[k], energy, k == 2 ? old : gradient, 10, &did) &&
                        !bitmc_open_state(&open[k], &y) && !bitmc_open_energy(&open[k], &energy);
                if (k == 2)
                    other |= x.words[0] != y.words[0];
                else
                    same &= x.words[0] == y.words[0] && memcmp(&info, &did, sizeof info) == 0;
            }
        }
        check(ready && same, names[which]);
        check(ready && other, "told the gradient of the state before, another chain");
    }
}

/* New fields over the same couplings: the chain that goes on is the one over a model that is made of them. */
static void new_fields(void) {
    static unsigned char couplings[2][4096], linear[1024], memory[2][2048], noise[512];
    bitmc_edge edges[25];
    float most[75], fields[75];
    bitmc_model base, now, fresh;
    bitmc_chain chain, twin;
    bitmc_rng rng, twin_rng;
    bitmc_sampler sampler[2];
    bitmc_state x, y;
    for (uint32_t site = 0; site < 25; site++) {
        bitmc_edge edge = {site, (site + 1) % 25, 0.5f};
        edges[site] = edge;
    }
    for (int site = 0; site < 75; site++) most[site] = 1.0f, fields[site] = 0.125f * (float)(site % 9) - 0.5f;
    fields[3] = 1.0f; /* as large as the largest that the base was made with: the same fixed point */
    for (int potts = 0; potts < 2; potts++) {
        size_t count = potts ? 75 : 25;
        int ready =
            potts ? !bitmc_potts_init(&base, edges, 25, most, 25, 3, couplings[0], sizeof couplings[0]) &&
                        !bitmc_potts_init(&fresh, edges, 25, fields, 25, 3, couplings[1], sizeof couplings[1])
                  : !bitmc_ising_init(&base, 0, edges, 25, most, 25, couplings[0], sizeof couplings[0]) &&
                        !bitmc_ising_init(&fresh, 0, edges, 25, fields, 25, couplings[1], sizeof couplings[1]);
        int same = 1, moved = 0;
        ready = ready && bitmc_model_linear_bytes(&base) <= sizeof linear && !bitmc_rng_init(&rng, 4, 0) &&
                !bitmc_langevin_init(&sampler[0], 0.5f, 1) &&
                !bitmc_second_order_init(&sampler[1], &base, 2.0f, 0.8f, 1.0f, noise, sizeof noise) &&
                !bitmc_chain_init(&chain, &base, memory[0], sizeof memory[0], &rng);
        for (int frame = 0; frame < 20 && ready; frame++) {
            uint32_t words[2] = {0, 0};
            ready = !bitmc_chain_run(&chain, &sampler[0], &rng, 20, NULL) &&
                    !bitmc_model_with_linear(&now, &base, fields, count, linear, sizeof linear) &&
                    !bitmc_chain_rebind(&chain, &now) && !bitmc_chain_state(&chain, &x);
            memcpy(words, x.words, 4 * x.word_count);
            ready = ready && !bitmc_chain_init_at(&twin, &fresh, memory[1], sizeof memory[1], words, x.word_count) &&
                    !bitmc_rng_init(&rng, 5, (uint32_t)frame) && !bitmc_rng_init(&twin_rng, 5, (uint32_t)frame);
            for (int which = 0; which < 2; which++) {
                float energy, twin_energy;
                /* The sampler of second order has its noise from the base, which is as it was. */
                ready = ready && !bitmc_chain_run(&chain, &sampler[which], &rng, 5, NULL) &&
                        !bitmc_chain_run(&twin, &sampler[which], &twin_rng, 5, NULL) && !bitmc_chain_state(&chain, &x) &&
                        !bitmc_chain_state(&twin, &y) && !bitmc_chain_energy(&chain, &energy) &&
                        !bitmc_chain_energy(&twin, &twin_energy);
                same &= memcmp(x.words, y.words, 4 * x.word_count) == 0 && energy == twin_energy;
            }
            moved |= memcmp(words, x.words, 4 * x.word_count) != 0;
            /* Back, and in place: the model of the frame before is made again. */
            ready = ready && (frame % 2 ? !bitmc_chain_rebind(&chain, &base)
                                        : !bitmc_model_with_linear(&now, &base, NULL, 0, linear, sizeof linear) &&
                                              !bitmc_chain_rebind(&chain, &now));
        }
        check(ready && same && moved, potts ? "new fields of a Potts model" : "new fields of an Ising model");
    }
}

static float wrong_gradient(void *user, const bitmc_state *x, size_t site, uint32_t value) {
    return -slope(user, x, site, value);
}

static void wrong_gradients(void *user, const bitmc_state *x, float *out, size_t count) {
    slopes(user, x, out, count);
    out[4] += 0.5f;
}

static float changing(void *user, const bitmc_state *x) {
    float energy = two_minima(user, x);
    return energy + 0.25f * (float)*(int *)user;
}

/* NaN or minus infinity where bit 2 is 1. */
static float at_times_nan(void *user, const bitmc_state *x) {
    return bitmc_state_get(x, 2) ? NAN : two_minima(user, x);
}

static float at_times_minus_infinity(void *user, const bitmc_state *x) {
    return bitmc_state_get(x, 2) ? -INFINITY : two_minima(user, x);
}

static float at_times_nan_slope(void *user, const bitmc_state *x, size_t site, uint32_t value) {
    return bitmc_state_get(x, 2) ? NAN : slope(user, x, site, value);
}

static void compared_with_itself(void) {
    static unsigned char memory[2048], couplings[512];
    const uint32_t words[3] = {0, 1023, 341};
    const bitmc_edge edges[2] = {{0, 1, 0.5f}, {1, 2, -0.25f}};
    const float fields[10] = {0.5f};
    bitmc_checked saw;
    bitmc_model model;
    int calls = 0;
    check(!bitmc_own_init(&model, 10, 2, 0, two_minima, slope, NULL, &calls) && bitmc_check_bytes(&model) <= sizeof memory &&
              !bitmc_check(&model, words, 3, memory, sizeof memory, &saw) && saw.wrong == BITMC_WRONG_NOTHING &&
              saw.moves == 30 && fabsf(saw.slope - 1.0f) < 1e-3f && saw.correlation > 0.999f && saw.gap < 1e-3f,
          "an energy agrees with its gradient");
    check(!bitmc_own_init(&model, 10, 2, 0, two_minima, NULL, slopes, &calls) &&
              !bitmc_check(&model, words, 3, memory, sizeof memory, &saw) && fabsf(saw.slope - 1.0f) < 1e-3f,
          "with its gradient at once");
    check(!bitmc_own_init(&model, 10, 2, 0, two_minima, NULL, NULL, &calls) &&
              !bitmc_check(&model, words, 3, memory, sizeof memory, &saw) && isnan(saw.slope) && saw.gap > 1.0f,
          "one without a gradient");
    check(!bitmc_own_init(&model, 10, 2, 0, two_minima, wrong_gradient, NULL, &calls) &&
              bitmc_check(&model, words, 3, memory, sizeof memory, &saw) == BITMC_STATUS_CHECK &&
              saw.wrong == BITMC_WRONG_SIGN && fabsf(saw.slope + 1.0f) < 1e-3f,
          "a wrong sign is seen");
    check(!bitmc_own_init(&model, 20, 2, 0, two_minima, slope, wrong_gradients, &calls) &&
              bitmc_check(&model, words, 3, memory, sizeof memory, &saw) == BITMC_STATUS_CHECK &&
              saw.wrong == BITMC_WRONG_GRADIENT && saw.state == 0 && saw.site == 4 && fabsf(saw.got - saw.need) == 0.5f,
          "a gradient at once that is another one, and where");
    check(!bitmc_own_init(&model, 10, 2, 0, changing, slope, NULL, &calls) &&
              bitmc_check(&model, words, 3, memory, sizeof memory, &saw) == BITMC_STATUS_CHECK &&
              (saw.wrong == BITMC_WRONG_TOTAL || saw.wrong == BITMC_WRONG_DIFFERENCE) && saw.need != saw.got,
          "an energy that changes");
    for (int kind = 0; kind < 2; kind++)
        check(!bitmc_own_init(&model, 10, 2, 0, kind ? at_times_minus_infinity : at_times_nan, slope, NULL, &calls) &&
                  bitmc_check(&model, words, 1, memory, sizeof memory, &saw) == BITMC_STATUS_CHECK &&
                  saw.wrong == BITMC_WRONG_FAULT && saw.site == 2 && saw.value == 1,
              kind ? "an energy of minus infinity beside a state" : "an energy of NaN beside a state");
    check(!bitmc_own_init(&model, 10, 2, 0, two_minima, at_times_nan_slope, NULL, &calls) &&
              bitmc_check(&model, words, 1, memory, sizeof memory, &saw) == BITMC_STATUS_CHECK &&
              saw.wrong == BITMC_WRONG_NAN_GRADIENT,
          "a gradient of NaN beside a state");
    check(!bitmc_ising_init(&model, 0, edges, 2, fields, 10, couplings, sizeof couplings) &&
              !bitmc_check(&model, words, 3, memory, sizeof memory, &saw) && fabsf(saw.slope - 1.0f) < 1e-3f,
          "a model of the library");
}

int main(void) {
    uint32_t hash;
    models_and_samplers();
    halves();
    new_fields();
    compared_with_itself();
    exchange_and_snapshots();
    kept();
    bitmc_status status = ising_hash(&hash);
    check(status == BITMC_STATUS_OK && hash == ISING_HASH, "the firmware's chain has the firmware's hash");
    printf("hash %08x\n%d failed\n", (unsigned)hash, failures);
    return failures != 0;
}
