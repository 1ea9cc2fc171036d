/* Samples an energy that is evaluated outside: ask for a state, evaluate it anywhere, tell. The energy is that of own.c. */
#include "bitmc.h"
#include <stdio.h>

#define SITES 20

/* E and dE/dx: here a function, in your program a network, another processor, the next tick. */
static float evaluate(const bitmc_state *x, float *gradient) {
    float pull = 0.3f, sum = 0.0f, ones = -4.0f;
    for (size_t site = 0; site < SITES; site++) ones += (float)bitmc_state_get(x, site);
    for (size_t site = 0; site < SITES; site++) {
        uint32_t here = bitmc_state_get(x, site), next = bitmc_state_get(x, (site + 1) % SITES);
        uint32_t before = bitmc_state_get(x, (site + SITES - 1) % SITES);
        sum += here == next ? 0.0f : pull;
        gradient[site] = 2.0f * pull * (1.0f - (float)(before + next)) + ones;
    }
    return sum + 0.5f * ones * ones;
}

static unsigned check(bitmc_status status) { /* says what is wrong */
    return status == BITMC_STATUS_OK ? 0 : (unsigned)printf("%s\n", bitmc_status_text(status));
}

int main(void) {
    static unsigned char memory[1024]; /* bitmc_open_bytes(SITES, 2, BITMC_CATEGORICAL) says how much */
    const uint32_t start[1] = {15};
    float gradient[SITES], energy, mean = 0.0f;
    bitmc_state x = {start, 1, SITES, 2};
    bitmc_open chain = {0};
    bitmc_rng rng = {0};
    bitmc_sampler sampler = {0};
    energy = evaluate(&x, gradient);
    if (check(bitmc_open_init(&chain, SITES, 2, BITMC_CATEGORICAL, NULL, memory, sizeof memory, start, 1, energy, gradient,
                              SITES)) ||
        check(bitmc_rng_init(&rng, 1, 0)) || check(bitmc_langevin_init(&sampler, 0.5f, 1)))
        return 1;
    for (int step = 0; step < 100000; step++) {
        if (check(bitmc_open_ask(&chain, &sampler, NULL, 0, &rng, &x))) return 1;
        energy = evaluate(&x, gradient);
        if (check(bitmc_open_tell(&chain, energy, gradient, SITES, NULL)) || check(bitmc_open_state(&chain, &x))) return 1;
        mean += (float)bitmc_state_get(&x, 0) / 100000.0f;
    }
    printf("P(bit 0 is 1) = %.3f, by enumeration .240\n", (double)mean);
    return mean < 0.20f || mean > 0.28f;
}
