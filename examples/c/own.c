/* Samples an energy of its own: 20 bits in a ring, of which four or so like to be 1, and neighbours like to be equal. */
#include "bitmc.h"
#include <stdio.h>

static float energy(void *user, const bitmc_state *x) {
    float pull = *(const float *)user, sum = 0.0f, ones = -4.0f;
    for (size_t site = 0; site < x->sites; site++) {
        uint32_t here = bitmc_state_get(x, site), next = bitmc_state_get(x, (site + 1) % x->sites);
        ones += (float)here;
        sum += here == next ? 0.0f : pull;
    }
    return sum + 0.5f * ones * ones;
}

static unsigned check(bitmc_status status) { /* says what is wrong */
    return status == BITMC_STATUS_OK ? 0 : (unsigned)printf("%s\n", bitmc_status_text(status));
}

int main(void) {
    static unsigned char memory[2048]; /* bitmc_chain_bytes(&model) says how much */
    uint32_t sums[20];
    float pull = 0.3f, mean;
    bitmc_model model = {0};
    bitmc_rng rng = {0};
    bitmc_chain chain = {0};
    bitmc_sampler gibbs = {0};
    bitmc_stats stats = {0};
    if (check(bitmc_own_init(&model, 20, 2, BITMC_CATEGORICAL, energy, NULL, NULL, &pull)) ||
        check(bitmc_rng_init(&rng, 1, 0)) || check(bitmc_chain_init(&chain, &model, memory, sizeof memory, &rng)) ||
        check(bitmc_gibbs_init(&gibbs, 0)) || check(bitmc_stats_init(&stats, sums, 20)) ||
        check(bitmc_chain_run(&chain, &gibbs, &rng, 10000, &stats)) || check(bitmc_stats_mean(&stats, 0, &mean)))
        return 1;
    printf("P(bit 0 is 1) = %.3f, by enumeration .240\n", (double)mean);
    return mean < 0.20f || mean > 0.28f;
}
