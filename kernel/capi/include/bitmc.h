/* bitmc: samples from p(x) proportional to exp(-E(x)). Made from kernel/capi/src by cbindgen (.ci/c --header).
 *
 * Every struct is the caller's: declare it, and hand its address to the _init function. What a struct is built
 * on (memory, a model) is lent to it, and must stay where it is as long as the struct is used. Nothing is
 * allocated, nothing needs to be freed. A struct is not to be copied, and memory is lent to one struct alone.
 * One thread at a time may use a struct; chains on several threads may be built on one model and one sampler.
 * Functions that can fail return BITMC_STATUS_OK or say what is wrong; bitmc_status_text gives it in words. */

#ifndef BITMC_H
#define BITMC_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

// Spins -1 and +1, every edge once: log p = sum w s + sum over edges J s s'.
#define BITMC_SPINS_EDGES_ONCE 0

// Spins -1 and +1, every edge twice: log p = sum w s + 2 sum over edges J s s'.
#define BITMC_SPINS_EDGES_TWICE 1

// Bits 0 and 1, every edge once: log p = sum w x + sum over edges J x x'.
#define BITMC_BITS_EDGES_ONCE 2

// Values without an order.
#define BITMC_CATEGORICAL 0

// Whole numbers.
#define BITMC_ORDINAL 1

// What a call came to. Anything but `BITMC_STATUS_OK` has changed nothing that was in use, with two exceptions. An
// _init that had begun to write when it found out (an energy of NaN, a field of NaN) leaves its struct, and the chain
// that was in its memory, not ready: later calls say BITMC_STATUS_NOT_READY. bitmc_load, where the parts are others
// than those that were saved (BITMC_STATUS_OTHER), may have filled some. A generator does not move in an _init
// that is refused.
typedef enum bitmc_status {
  // Done.
  BITMC_STATUS_OK = 0,
  // An address is null.
  BITMC_STATUS_NULL,
  // A struct was not initialised, or is one of another kind; or the model or the memory of a chain, or the model of a
  // sampler, is another's now.
  BITMC_STATUS_NOT_READY,
  // A struct or its memory is used from within its own callback.
  BITMC_STATUS_BUSY,
  // A struct or an array is not aligned as its type.
  BITMC_STATUS_ALIGNMENT,
  // Memory or a buffer is too short.
  BITMC_STATUS_MEMORY,
  // A number is out of its range, not finite, or does not fit another; or two arrays, or an array and lent memory, overlap.
  BITMC_STATUS_ARGUMENT,
  // Words are no state of the model.
  BITMC_STATUS_STATE,
  // The energy is not finite at the start, or its gradient is NaN there.
  BITMC_STATUS_ENERGY,
  // The bytes are no snapshot, or one that is torn, altered or of another version.
  BITMC_STATUS_SNAPSHOT,
  // The snapshot is of another model, or of other parts.
  BITMC_STATUS_OTHER,
  // Edges or rows contradict each other: a site that does not exist, an edge to itself or twice, rows without order
  // or symmetry.
  BITMC_STATUS_EDGES,
  // This sampler needs an Ising or Potts model.
  BITMC_STATUS_SAMPLER,
} bitmc_status;

// A model. It must stay where it is as long as a chain uses it; chains on several threads may.
typedef struct bitmc_model {
  uint64_t opaque[20];
} bitmc_model;

// A chain.
typedef struct bitmc_chain {
  uint64_t opaque[32];
} bitmc_chain;

// A generator: xoshiro128++ in sixteen lanes.
typedef struct bitmc_rng {
  uint64_t opaque[52];
} bitmc_rng;

// A sampler. It has no state: any number of chains may use one, on several threads too.
typedef struct bitmc_sampler {
  uint64_t opaque[28];
} bitmc_sampler;

// What a step did.
typedef struct bitmc_info {
  // 1 where the chain moved to what was proposed.
  uint32_t accepted;
  // Sites that the proposal changed.
  uint32_t proposed;
  // The log of the acceptance ratio.
  float log_ratio;
  // The difference of the energies.
  float difference;
  // 1 where the energy gave NaN or minus infinity, or its gradient NaN.
  uint32_t fault;
} bitmc_info;

// Statistics of a run.
typedef struct bitmc_stats {
  uint64_t opaque[64];
} bitmc_stats;

// A state: fields of 1, 2, 4, 8 or 16 bits, the narrowest that holds `arity` values, the first site lowest.
typedef struct bitmc_state {
  // The fields, exactly so many words; what is behind the last site is zero.
  const uint32_t *words;
  // How many words there are.
  size_t word_count;
  // Sites.
  size_t sites;
  // Values of a site.
  uint32_t arity;
} bitmc_state;

// A chain whose temperature can be changed.
typedef struct bitmc_replica {
  uint64_t opaque[48];
} bitmc_replica;

// Which replica stands at which inverse temperature.
typedef struct bitmc_ladder {
  uint64_t opaque[8];
} bitmc_ladder;

// An edge between two sites.
typedef struct bitmc_edge {
  // A site.
  uint32_t a;
  // Another one.
  uint32_t b;
  // What couples them.
  float coupling;
} bitmc_edge;

// E(x) for x: +inf forbids it. `user` is what bitmc_own_init was given.
typedef float (*bitmc_energy)(void *user, const struct bitmc_state *x);

// dE/dx of one site: on the scale of 0 and 1 for two values, by value for whole numbers, and for categories the
// slope for `value` alone.
typedef float (*bitmc_gradient)(void *user, const struct bitmc_state *x, size_t site, uint32_t value);

// A chain over bits with p(x) proportional to 2^((b.x + x.Kx / 2) / 65536), b and K whole numbers. It has its
// own model, and touches no floating-point register.
typedef struct bitmc_quantised {
  uint64_t opaque[16];
} bitmc_quantised;

// One neighbour of a site.
typedef struct bitmc_entry {
  // The neighbour.
  uint32_t site;
  // The coupling: 65,536 stands for a factor of two.
  int32_t coupling;
} bitmc_entry;

// A chain of DMALA over bits with p(x) proportional to 2^((b.x + x.Kx / 2) / 65536), b and K whole numbers. It has
// its own model, and touches no floating-point register.
typedef struct bitmc_quantised_langevin {
  uint64_t opaque[24];
} bitmc_quantised_langevin;

// What they say.
typedef struct bitmc_summary {
  // Steps seen.
  uint64_t steps;
  // Steps that met NaN or minus infinity.
  uint64_t faults;
  // The share of accepted steps.
  float acceptance;
  // Sites that change in a step, on average.
  float jump_distance;
  // Mean energy.
  float energy;
  // Its standard error, from batch means; NaN before there are enough steps.
  float energy_error;
  // The effective sample size of the energy; NaN before there are enough steps.
  float energy_ess;
} bitmc_summary;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Bytes of memory for a chain over a model; 0 where there is none.
size_t bitmc_chain_bytes(const struct bitmc_model *model);

// A chain that starts at independent uniform values.
enum bitmc_status bitmc_chain_init(struct bitmc_chain *chain,
                                   const struct bitmc_model *model,
                                   uint8_t *lent,
                                   size_t bytes,
                                   struct bitmc_rng *rng);

// A chain that starts at a state, given by its words, exactly as many as it has, outside of the memory that is lent.
enum bitmc_status bitmc_chain_init_at(struct bitmc_chain *chain,
                                      const struct bitmc_model *model,
                                      uint8_t *lent,
                                      size_t bytes,
                                      const uint32_t *words,
                                      size_t word_count);

// Holds the sites whose bit in `words` is 1 at their present values; the others are free. Bit i of word j is
// site 32 j + i, whatever the values of a site are. BITMC_STATUS_ARGUMENT where they lie in the memory of the chain, as a
// state does that it shows.
enum bitmc_status bitmc_chain_clamp(struct bitmc_chain *chain,
                                    const uint32_t *words,
                                    size_t word_count);

// One step; what it did, unless `info` is null.
enum bitmc_status bitmc_chain_step(struct bitmc_chain *chain,
                                   const struct bitmc_sampler *sampler,
                                   struct bitmc_rng *rng,
                                   struct bitmc_info *info);

// `steps` steps, each shown to `stats` unless it is null. BITMC_STATUS_ARGUMENT where its sums lie in the memory of the
// chain.
enum bitmc_status bitmc_chain_run(struct bitmc_chain *chain,
                                  const struct bitmc_sampler *sampler,
                                  struct bitmc_rng *rng,
                                  uint64_t steps,
                                  struct bitmc_stats *stats);

// The state, to look at until the next call with this chain.
enum bitmc_status bitmc_chain_state(struct bitmc_chain *chain, struct bitmc_state *state);

// The energy of the state.
enum bitmc_status bitmc_chain_energy(struct bitmc_chain *chain, float *energy);

// Bytes of memory for a replica over a model; 0 where there is none.
size_t bitmc_replica_bytes(const struct bitmc_model *model);

// A replica that starts at independent uniform values.
enum bitmc_status bitmc_replica_init(struct bitmc_replica *replica,
                                     const struct bitmc_model *model,
                                     uint8_t *lent,
                                     size_t bytes,
                                     struct bitmc_rng *rng);

// The state of a replica, to look at until the next call with it.
enum bitmc_status bitmc_replica_state(struct bitmc_replica *replica, struct bitmc_state *state);

// The energy of the state of a replica, at temperature 1.
enum bitmc_status bitmc_replica_energy(struct bitmc_replica *replica, float *energy);

// Bytes of memory for bitmc_ladder_init.
size_t bitmc_ladder_bytes(size_t rungs);

// A ladder with replica i at the inverse temperature `betas[i]`, which rise from 0 or above; two or more.
enum bitmc_status bitmc_ladder_init(struct bitmc_ladder *ladder,
                                    const float *betas,
                                    size_t rungs,
                                    uint8_t *memory,
                                    size_t bytes);

// The replica at a rung.
enum bitmc_status bitmc_ladder_replica(struct bitmc_ladder *ladder, size_t rung, size_t *replica);

// One round of replica exchange: `steps` steps of each of `count` replicas that stand side by side, by the
// sampler of its rung (`samplers` has one a rung), then one round of swaps between neighbours. The number of
// swaps, unless `swaps` is null.
enum bitmc_status bitmc_exchange(struct bitmc_ladder *ladder,
                                 struct bitmc_replica *replicas,
                                 size_t count,
                                 const struct bitmc_sampler *samplers,
                                 struct bitmc_rng *rng,
                                 uint64_t steps,
                                 uint32_t *swaps);

// Bytes of memory for bitmc_ising_init.
size_t bitmc_ising_bytes(size_t sites, size_t edges);

// An Ising model, or any binary pairwise one, from its edges and one field a site; `convention` is one of
// BITMC_SPINS_EDGES_ONCE, ... Edges and fields are copied into the memory.
enum bitmc_status bitmc_ising_init(struct bitmc_model *model,
                                   uint32_t convention,
                                   const struct bitmc_edge *edges,
                                   size_t edge_count,
                                   const float *fields,
                                   size_t sites,
                                   uint8_t *memory,
                                   size_t bytes);

// Bytes of memory for bitmc_potts_init.
size_t bitmc_potts_bytes(size_t sites, size_t arity, size_t edges);

// A Potts model: log p = sum w[site][value] + sum over edges of J where both have the same value. `fields` has
// sites x arity numbers, or is null. Edges and fields are copied into the memory.
enum bitmc_status bitmc_potts_init(struct bitmc_model *model,
                                   const struct bitmc_edge *edges,
                                   size_t edge_count,
                                   const float *fields,
                                   size_t sites,
                                   size_t arity,
                                   uint8_t *memory,
                                   size_t bytes);

// Bytes of memory for bitmc_rbm_init.
size_t bitmc_rbm_bytes(size_t visible, size_t hidden);

// A restricted Boltzmann machine over its visible units: `weights` is visible x hidden, row by row. All of it is
// copied into the memory.
enum bitmc_status bitmc_rbm_init(struct bitmc_model *model,
                                 const float *weights,
                                 const float *visible_biases,
                                 size_t visible,
                                 const float *hidden_biases,
                                 size_t hidden,
                                 uint8_t *memory,
                                 size_t bytes);

// An energy of the caller's, over `sites` sites of `arity` values; `kind` is BITMC_CATEGORICAL or BITMC_ORDINAL
// and of no matter for two values. Without a gradient (null) samplers by gradients propose blindly: right, and slow;
// Gibbs sampling never asks for one.
enum bitmc_status bitmc_own_init(struct bitmc_model *model,
                                 size_t sites,
                                 size_t arity,
                                 uint32_t kind,
                                 bitmc_energy energy,
                                 bitmc_gradient gradient,
                                 void *user);

// The value of a site; 0 where there is none.
uint32_t bitmc_state_get(const struct bitmc_state *state, size_t site);

// A chain that starts at the state in `words`, bit i of word j being site 32 j + i. Row i of K is
// `entries[ends[i - 1]] .. entries[ends[i] - 1]`, neighbours ascending, each edge in the rows of both its sites;
// `linear` is b. `fields` is room for a number a site. All five are lent, without a
// byte in common of `words` and `fields` with another; the tables may stand in flash.
enum bitmc_status bitmc_quantised_init(struct bitmc_quantised *chain,
                                       const uint32_t *ends,
                                       const struct bitmc_entry *entries,
                                       size_t entry_count,
                                       const int32_t *linear,
                                       size_t sites,
                                       uint32_t *words,
                                       size_t word_count,
                                       int32_t *fields,
                                       size_t field_count);

// Draws `count` sites in order, from `first` on: a whole sweep from 0, or a part of one that fits the time there
// is. Adds the sites that changed to `flips`, unless it is null.
enum bitmc_status bitmc_quantised_sweep(struct bitmc_quantised *chain,
                                        struct bitmc_rng *rng,
                                        size_t first,
                                        size_t count,
                                        uint64_t *flips);

// The state, to look at until the next call with this chain.
enum bitmc_status bitmc_quantised_state(struct bitmc_quantised *chain, struct bitmc_state *state);

// A chain that starts at the state in `words`, over the rows that `bitmc_quantised_init` takes. `penalty` is the log
// odds against a flip that changes nothing, 65,536 a factor of two, at most 2^30: 47,274 divided by the step size.
// `fields` is room for a number a site, `flips` for as many words as the state has. All six are lent,
// without a byte in common of `words`, `fields` and `flips` with another.
enum bitmc_status bitmc_quantised_langevin_init(struct bitmc_quantised_langevin *chain,
                                                const uint32_t *ends,
                                                const struct bitmc_entry *entries,
                                                size_t entry_count,
                                                const int32_t *linear,
                                                size_t sites,
                                                uint32_t penalty,
                                                uint32_t *words,
                                                uint32_t *flips,
                                                size_t word_count,
                                                int32_t *fields,
                                                size_t field_count);

// A step: whether it was accepted (1 or 0), and how many sites the proposal changed, each unless null.
enum bitmc_status bitmc_quantised_langevin_step(struct bitmc_quantised_langevin *chain,
                                                struct bitmc_rng *rng,
                                                uint32_t *accepted,
                                                uint32_t *proposed);

// The state, to look at until the next call with this chain.
enum bitmc_status bitmc_quantised_langevin_state(struct bitmc_quantised_langevin *chain,
                                                 struct bitmc_state *state);

// The generator of chain `stream` under `seed`; streams do not overlap. Takes time in proportion to `stream`, about
// 0.1 us each on a PC: number the chains of one run by it, and tell devices or runs apart by the seed.
enum bitmc_status bitmc_rng_init(struct bitmc_rng *rng,
                                 uint64_t seed,
                                 uint32_t stream);

// The next 32 bits; 0 where there is no generator, or it is in use by the call that a callback belongs to.
uint32_t bitmc_rng_next(struct bitmc_rng *rng);

// Discrete Langevin at a step size on the scale of 0 and 1: with the Metropolis test (`adjusted` not 0, DMALA),
// which keeps the law, or without (DULA), which comes near it.
enum bitmc_status bitmc_langevin_init(struct bitmc_sampler *sampler,
                                      float step_size,
                                      uint32_t adjusted);

// The balanced sampler of first order (AB-1st): step size sigma, balance from above 0 to 1.
enum bitmc_status bitmc_balanced_init(struct bitmc_sampler *sampler,
                                      float step_size,
                                      float balance);

// Gibbs sampling: a step is a sweep over all sites (`updates` 0), or so many updates of random sites.
enum bitmc_status bitmc_gibbs_init(struct bitmc_sampler *sampler,
                                   uint32_t updates);

// Bytes of memory for bitmc_second_order_init.
size_t bitmc_second_order_bytes(size_t sites);

// The balanced sampler of second order (AB-edge) for the couplings of an Ising or Potts model: step size sigma
// (INFINITY is allowed), balance alpha, and the precision kappa of its auxiliary variable (1 is usual). Where the model is
// made again, the sampler is not ready any more.
enum bitmc_status bitmc_second_order_init(struct bitmc_sampler *sampler,
                                          const struct bitmc_model *model,
                                          float step_size,
                                          float balance,
                                          float precision,
                                          uint8_t *memory,
                                          size_t bytes);

// Bytes of memory for bitmc_cyclical_init.
size_t bitmc_cyclical_bytes(size_t steps);

// The cyclical sampler (ACS): cycles of `steps` steps (1 or more), from the largest step size and balance down to the
// smallest step size and a balance of one half. 0 < smallest <= largest, .5 <= balance <= 1.
enum bitmc_status bitmc_cyclical_init(struct bitmc_sampler *sampler,
                                      float largest,
                                      float smallest,
                                      float balance,
                                      size_t steps,
                                      uint8_t *memory,
                                      size_t bytes);

// A run as bytes: the chain, its generator and its statistics; those that are null are left out. `model` is a
// number of the caller's, such as a hash of the parameters, without which the bytes cannot be loaded. `written`
// (unless it is null) is how many bytes there are, or, with BITMC_STATUS_MEMORY, how many are needed. A refusal leaves
// `out` as it was.
enum bitmc_status bitmc_save(uint64_t model,
                             struct bitmc_chain *chain,
                             struct bitmc_rng *rng,
                             struct bitmc_stats *stats,
                             uint8_t *out,
                             size_t bytes,
                             size_t *written);

// Goes on from the bytes of bitmc_save with the same parts, over the same model: bit for bit as if the run had
// never stopped. What is torn, altered, of another version or of another model is refused before anything is
// changed; where the parts are others than those that were saved, BITMC_STATUS_OTHER, some may have been filled. Bytes after
// the snapshot are not looked at.
enum bitmc_status bitmc_load(uint64_t model,
                             struct bitmc_chain *chain,
                             struct bitmc_rng *rng,
                             struct bitmc_stats *stats,
                             const uint8_t *bytes,
                             size_t count);

// Replica exchange as bytes: the ladder, all its replicas, the generator. As bitmc_save. BITMC_STATUS_ARGUMENT where
// `count` is not the number of its rungs.
enum bitmc_status bitmc_exchange_save(uint64_t model,
                                      struct bitmc_ladder *ladder,
                                      struct bitmc_replica *replicas,
                                      size_t count,
                                      struct bitmc_rng *rng,
                                      uint8_t *out,
                                      size_t bytes,
                                      size_t *written);

// Goes on from the bytes of bitmc_exchange_save. As bitmc_load. BITMC_STATUS_ARGUMENT where `count` is not the number of
// rungs.
enum bitmc_status bitmc_exchange_load(uint64_t model,
                                      struct bitmc_ladder *ladder,
                                      struct bitmc_replica *replicas,
                                      size_t count,
                                      struct bitmc_rng *rng,
                                      const uint8_t *bytes,
                                      size_t byte_count);

// Statistics that have seen nothing. `sums` are the sums of the values of the first `sites` sites, the memory of
// bitmc_stats_mean, and are overwritten with 0; for none, they are null and `sites` is 0. Where a sum is full (of bits after
// 4e9 steps) all means stand still.
enum bitmc_status bitmc_stats_init(struct bitmc_stats *stats,
                                   uint32_t *sums,
                                   size_t sites);

// What they say so far; before the first step all but `steps` and `faults` are NaN.
enum bitmc_status bitmc_stats_summary(struct bitmc_stats *stats, struct bitmc_summary *summary);

// The mean value of a site. BITMC_STATUS_ARGUMENT where it has no sum or does not exist, BITMC_STATUS_NOT_READY before the first step.
enum bitmc_status bitmc_stats_mean(struct bitmc_stats *stats,
                                   size_t site,
                                   float *mean);

// A status in words: a constant string.
const char *bitmc_status_text(uint32_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BITMC_H */
