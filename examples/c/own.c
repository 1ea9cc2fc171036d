/* Samples an energy of its own: 20 bits, of which four or so like to be 1, and neighbours like to be equal. */
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

static float gradient(void *user, const bitmc_state *x, size_t site, uint32_t value) {
    float pull = *(const float *)user, ones = -4.0f;
    for (size_t other = 0; other < x->sites; other++)
        ones += (float)bitmc_state_get(x, other);
    float left = (float)bitmc_state_get(x, (site + x->sites - 1) % x->sites);
    float right = (float)bitmc_state_get(x, (site + 1) % x->sites);
    (void)value;
    return ones + 2.0f * pull * (1.0f - left - right);
}

int main(void) {
    static unsigned char memory[2048];
    float pull = 0.3f;
    bitmc_model model;
    bitmc_rng rng;
    bitmc_chain chain;
    bitmc_sampler sampler;
    bitmc_stats stats;
    bitmc_summary summary;
    bitmc_status status = bitmc_own_init(&model, 20, 2, 0, energy, gradient, &pull);
    if (status == BITMC_STATUS_OK) status = bitmc_rng_init(&rng, 1, 0);
    if (status == BITMC_STATUS_OK) status = bitmc_chain_init(&chain, &model, memory, sizeof memory, &rng);
    if (status == BITMC_STATUS_OK) status = bitmc_langevin_init(&sampler, 0.5f, 1);
    if (status == BITMC_STATUS_OK) status = bitmc_stats_init(&stats, NULL, 0);
    if (status == BITMC_STATUS_OK) status = bitmc_chain_run(&chain, &sampler, &rng, 100000, &stats);
    if (status == BITMC_STATUS_OK) status = bitmc_stats_summary(&stats, &summary);
    printf("%s: mean energy %.3f, acceptance %.3f\n", bitmc_status_text(status), (double)summary.energy,
           (double)summary.acceptance);
    return status == BITMC_STATUS_OK ? 0 : 1;
}
