/* The chain that the firmware `ising` runs too: DMALA on a 5x5 torus with a field; the hash of its states and
 * energies is the same on every machine, from C and from Rust. */
#ifndef ISING_H
#define ISING_H

#include "bitmc.h"
#include <string.h>

#define ISING_HASH 0x9198BD89u

static uint32_t hash_word(uint32_t hash, uint32_t word) {
    return (((hash << 5) | (hash >> 27)) ^ word) * 0x9E3779B1u;
}

static bitmc_status ising_hash(uint32_t *hash) {
    static bitmc_model model;
    static bitmc_rng rng;
    static bitmc_chain chain;
    static bitmc_sampler sampler;
    static unsigned char couplings[1280], memory[768];
    bitmc_edge edges[50];
    float fields[25];
    for (uint32_t site = 0; site < 25; site++) {
        uint32_t row = site / 5, column = site % 5;
        bitmc_edge right = {site, 5 * row + (column + 1) % 5, 0.1f};
        bitmc_edge below = {site, 5 * ((row + 1) % 5) + column, 0.1f};
        edges[2 * site] = right;
        edges[2 * site + 1] = below;
        fields[site] = 0.2f;
    }
    bitmc_status status = bitmc_ising_init(&model, BITMC_SPINS_EDGES_TWICE, edges, 50, fields, 25, couplings,
                                           sizeof couplings);
    if (status == BITMC_STATUS_OK) status = bitmc_rng_init(&rng, 1, 0);
    if (status == BITMC_STATUS_OK) status = bitmc_chain_init(&chain, &model, memory, sizeof memory, &rng);
    if (status == BITMC_STATUS_OK) status = bitmc_langevin_init(&sampler, 0.6f, 1);
    if (status == BITMC_STATUS_OK) status = bitmc_chain_run(&chain, &sampler, &rng, 500, NULL);
    *hash = 0x811C9DC5u;
    for (int step = 0; step < 12288 && status == BITMC_STATUS_OK; step++) {
        bitmc_state state;
        float energy;
        uint32_t bits;
        status = bitmc_chain_step(&chain, &sampler, &rng, NULL);
        if (status == BITMC_STATUS_OK) status = bitmc_chain_state(&chain, &state);
        if (status == BITMC_STATUS_OK) status = bitmc_chain_energy(&chain, &energy);
        if (status != BITMC_STATUS_OK) break;
        memcpy(&bits, &energy, sizeof bits);
        for (size_t word = 0; word < state.word_count; word++)
            *hash = hash_word(*hash, state.words[word]);
        *hash = hash_word(*hash, bits);
    }
    return status;
}

#endif
