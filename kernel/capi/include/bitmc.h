/* bitmc: samples from p(x) proportional to exp(-E(x)). Made from kernel/capi/src by cbindgen (.ci/c --header).
 *
 * Every struct is the caller's: declare it, and hand its address to the _init function. What a struct is built
 * on (memory, a model) is borrowed by it, and must stay where it is as long as the struct is used. Nothing is
 * allocated, nothing needs to be freed. A struct is not to be copied, and memory is borrowed by one struct alone.
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

// What a call came to. Anything but `BITMC_STATUS_OK` has changed nothing that was in use, with two exceptions. First, the
// _init of a model or a chain may have begun to write when it finds an edge, a number or an energy that is wrong. It leaves
// its struct, and the chain that was in its memory, not ready: later calls say BITMC_STATUS_NOT_READY. So does
// bitmc_model_with_linear. Second, bitmc_load may have filled some parts where it says BITMC_STATUS_OTHER: they are others
// than those that were saved. So may bitmc_exchange_load where it says BITMC_STATUS_ENERGY. A generator does not move in an
// _init that is refused.
typedef enum bitmc_status {
  // Done.
  BITMC_STATUS_OK = 0,
  // An address is null.
  BITMC_STATUS_NULL,
  // A struct was not initialised, or is of another kind. Or the model or the memory that a chain or a sampler uses
  // is another's now.
  BITMC_STATUS_NOT_READY,
  // A struct or its memory is used from within its own callback.
  BITMC_STATUS_BUSY,
  // A struct or an array is not aligned as its type.
  BITMC_STATUS_ALIGNMENT,
  // Memory or a buffer is too short.
  BITMC_STATUS_MEMORY,
  // A parameter of a sampler, a schedule or a ladder is out of its range or not finite: a step size, a balance, a number of
  // updates, an inverse temperature.
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
  // This sampler, or a change of fields, needs an Ising or Potts model.
  BITMC_STATUS_SAMPLER,
  // Nothing was asked, so that nothing can be told.
  BITMC_STATUS_NOT_ASKED,
  // A gradient has another length than the sites need, or there is none where one is needed.
  BITMC_STATUS_GRADIENT,
  // A step of this sampler has no two halves: Gibbs sampling cannot be asked.
  BITMC_STATUS_HALVES,
  // The energy contradicts itself; bitmc_check says where.
  BITMC_STATUS_CHECK,
  // A number that stands for a choice is none that the header names: `kind`, `convention`, `adjusted`.
  BITMC_STATUS_CHOICE,
  // Two arrays, or an array or a struct and caller-provided memory, overlap.
  BITMC_STATUS_OVERLAP,
  // A count is 0, too large, or does not fit another: of sites, values, fields, entries, units, steps, rungs, replicas or
  // words.
  BITMC_STATUS_COUNT,
  // There is no such site or rung.
  BITMC_STATUS_INDEX,
  // A coupling, a weight, a bias or a field is NaN or infinite.
  BITMC_STATUS_NOT_FINITE,
  // A coupling, a weight, a bias or a field is too large, or so small beside another one that it is lost in rounding.
  BITMC_STATUS_SCALE,
} bitmc_status;

// What is wrong with an energy.
typedef enum bitmc_wrong {
  // Nothing.
  BITMC_WRONG_NOTHING = 0,
  // The energy is another one when it is evaluated again.
  BITMC_WRONG_TOTAL,
  // The energy is NaN or minus infinity where `site` has the value `value`.
  BITMC_WRONG_FAULT,
  // A difference of energies is off, of one site or many.
  BITMC_WRONG_DIFFERENCE,
  // The gradient by sites is another one than the whole gradient, or it is another one when it is evaluated again.
  BITMC_WRONG_GRADIENT,
  // The gradient is NaN.
  BITMC_WRONG_NAN_GRADIENT,
  // The gradient points the other way.
  BITMC_WRONG_SIGN,
  // The energy, `got`, is 2^17 or more in size, and small differences are lost in its rounding. Subtract a constant.
  BITMC_WRONG_LARGE,
  // Another thing: a fault of the library.
  BITMC_WRONG_OTHER,
} bitmc_wrong;

// A model. It must stay where it is as long as a chain uses it; chains on several threads may.
typedef struct bitmc_model {
  uint64_t opaque[22];
} bitmc_model;

// A chain.
typedef struct bitmc_chain {
  uint64_t opaque[36];
} bitmc_chain;

// A generator: xoshiro128++ in sixteen lanes.
typedef struct bitmc_rng {
  uint64_t opaque[52];
} bitmc_rng;

// A sampler. It has no state: any number of chains may use one, on several threads too.
typedef struct bitmc_sampler {
  uint64_t opaque[36];
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

// What bitmc_check saw.
typedef struct bitmc_checked {
  // What is wrong.
  enum bitmc_wrong wrong;
  // The number of the state where it is, from 0.
  size_t state;
  // The site.
  size_t site;
  // Its value.
  uint32_t value;
  // What would be right.
  float need;
  // What was said.
  float got;
  // Moves of one site to an allowed state, over which the gradient was compared with the differences of energies.
  uint64_t moves;
  // The energy changes by this much of what the gradient says: about 1, and 2 or one half for a forgotten factor. NaN where
  // the gradient is 0 everywhere.
  float slope;
  // Their correlation, about 1; NaN where it has none.
  float correlation;
  // The most that the gradient and the difference of a move are apart.
  float gap;
  // The site that has it.
  size_t gap_site;
} bitmc_checked;

// A chain whose temperature can be changed.
typedef struct bitmc_replica {
  uint64_t opaque[48];
} bitmc_replica;

// Which replica is at which inverse temperature.
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

// dE/dx of one site. For two values it is on the scale of 0 and 1, for whole numbers by value. For categories it is the slope
// for `value` alone.
typedef float (*bitmc_gradient)(void *user, const struct bitmc_state *x, size_t site, uint32_t value);

// dE/dx of all sites at once, into `out`, which is zeros: one number a site, or for categories `[site][value]`, `count` in all.
typedef void (*bitmc_gradient_all)(void *user, const struct bitmc_state *x, float *out, size_t count);

// A chain that is told its energies: by a network, another processor, the next tick.
typedef struct bitmc_open {
  uint64_t opaque[88];
} bitmc_open;

// A chain over bits with p(x) proportional to 2^((b.x + x.Kx / 2) / 65536), b and K whole numbers. It has its
// own model, and touches no floating-point register.
typedef struct bitmc_quantised {
  uint64_t opaque[20];
} bitmc_quantised;

// One neighbour of a site.
typedef struct bitmc_entry {
  // The neighbour.
  uint32_t site;
  // The coupling: 65,536 is a factor of two.
  int32_t coupling;
} bitmc_entry;

// A chain of DMALA over bits with p(x) proportional to 2^((b.x + x.Kx / 2) / 65536), b and K whole numbers. It has
// its own model, and touches no floating-point register.
typedef struct bitmc_quantised_langevin {
  uint64_t opaque[30];
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
                                   uint8_t *borrowed,
                                   size_t bytes,
                                   struct bitmc_rng *rng);

// A chain that starts at a state, given by its words, exactly as many as it has, outside of the caller-provided memory.
enum bitmc_status bitmc_chain_init_at(struct bitmc_chain *chain,
                                      const struct bitmc_model *model,
                                      uint8_t *borrowed,
                                      size_t bytes,
                                      const uint32_t *words,
                                      size_t word_count);

// Holds the sites whose bit in `words` is 1 at their present values; the others are free. Bit i of word j is
// site 32 j + i, whatever the values of a site are. BITMC_STATUS_OVERLAP where they lie in the memory of the chain, as a
// state does that it shows.
enum bitmc_status bitmc_chain_clamp(struct bitmc_chain *chain,
                                    const uint32_t *words,
                                    size_t word_count);

// Goes on at the state over another model of the same sites and values, as bitmc_model_with_linear makes them. Energy and
// gradient are computed again, and clamped sites stay clamped. The model that the chain had is ready still, or it is the same
// struct, made again. BITMC_STATUS_MEMORY where a model of another kind needs other memory than the chain has. Where it is
// refused the chain is as it was.
enum bitmc_status bitmc_chain_rebind(struct bitmc_chain *chain,
                                     const struct bitmc_model *model);

// One step; what it did, unless `info` is null.
enum bitmc_status bitmc_chain_step(struct bitmc_chain *chain,
                                   const struct bitmc_sampler *sampler,
                                   struct bitmc_rng *rng,
                                   struct bitmc_info *info);

// `steps` steps, each shown to `stats` unless it is null. BITMC_STATUS_OVERLAP where its sums lie in the memory of the
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

// Bytes of memory for bitmc_check; 0 where there is no model.
size_t bitmc_check_bytes(const struct bitmc_model *model);

// Compares the energy of a model with its gradient, at some states: for a test of an energy of the caller's. The
// states are one behind the other in `words`, and their energies are finite. BITMC_STATUS_CHECK where the energy
// contradicts itself; what was seen, unless `checked` is null. Moves of many sites are checked from each state to
// the next: give it a few that differ at many sites. The memory is that of no chain.
//
// No single number of a gradient is wrong by itself: look at `slope` and `correlation`.
enum bitmc_status bitmc_check(const struct bitmc_model *model,
                              const uint32_t *words,
                              size_t word_count,
                              uint8_t *memory,
                              size_t bytes,
                              struct bitmc_checked *checked);

// Bytes of memory for a replica over a model; 0 where there is none.
size_t bitmc_replica_bytes(const struct bitmc_model *model);

// A replica that starts at independent uniform values.
enum bitmc_status bitmc_replica_init(struct bitmc_replica *replica,
                                     const struct bitmc_model *model,
                                     uint8_t *borrowed,
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

// One round of replica exchange over `count` replicas in one array. Each makes `steps` steps by the sampler of its
// rung (`samplers` has one a rung). One round of swaps between neighbours follows. The number of swaps, unless
// `swaps` is null.
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

// A Potts model: log p = sum w[site][value] + sum over edges of J where both have the same value. The array `fields`
// has sites x arity numbers, or is null. Edges and fields are copied into the memory.
enum bitmc_status bitmc_potts_init(struct bitmc_model *model,
                                   const struct bitmc_edge *edges,
                                   size_t edge_count,
                                   const float *fields,
                                   size_t sites,
                                   size_t arity,
                                   uint8_t *memory,
                                   size_t bytes);

// Bytes of memory for bitmc_model_with_linear over an Ising or Potts model; 0 for others.
size_t bitmc_model_linear_bytes(const struct bitmc_model *base);

// The couplings of the base, an Ising or Potts model, with other fields: no coupling is sorted or checked again. The
// `fields` are as in its `_init`; null and 0 are none. They must fit the fixed point of the base
// (BITMC_STATUS_SCALE), so make that with the largest fields that will come. The base is not made again as long
// as this model is used. bitmc_chain_rebind lets a chain go on over it.
enum bitmc_status bitmc_model_with_linear(struct bitmc_model *model,
                                          const struct bitmc_model *base,
                                          const float *fields,
                                          size_t field_count,
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
// (either, for two values). Its gradient is told site by site by `gradient`, or as a whole by `gradient_all`, which
// is preferred; either may be null. Categories of 65 values or more are asked site by site: BITMC_STATUS_GRADIENT
// where there is `gradient_all` alone. Without a gradient samplers by
// gradients propose blindly: right, and slow. A step of Gibbs sampling asks for none; the start of a chain does.
enum bitmc_status bitmc_own_init(struct bitmc_model *model,
                                 size_t sites,
                                 size_t arity,
                                 uint32_t kind,
                                 bitmc_energy energy,
                                 bitmc_gradient gradient,
                                 bitmc_gradient_all gradient_all,
                                 void *user);

// The value of a site; 0 where there is none.
uint32_t bitmc_state_get(const struct bitmc_state *state, size_t site);

// Bytes of memory for bitmc_open_init; 0 where there are no such sites.
size_t bitmc_open_bytes(size_t sites, size_t arity, uint32_t kind);

// A chain over `sites` sites of `arity` values. It starts at the state in `words`, exactly as many as it has, and is told
// the energy and the gradient there. The number `kind` is BITMC_CATEGORICAL or BITMC_ORDINAL (either, for two
// values). The array `arities` has the number of values of every site where they differ, 1 to `arity`, and is
// borrowed; otherwise it is null.
//
// A gradient has one number a site: on the scale of 0 and 1 for two values, by value for whole numbers. Categories of
// more than two values have `arity` numbers a site, `[site][value]`. Null and 0 say that there is no gradient: a state of energy
// +inf needs none.
enum bitmc_status bitmc_open_init(struct bitmc_open *open,
                                  size_t sites,
                                  size_t arity,
                                  uint32_t kind,
                                  const uint16_t *arities,
                                  uint8_t *memory,
                                  size_t bytes,
                                  const uint32_t *words,
                                  size_t word_count,
                                  float energy,
                                  const float *gradient,
                                  size_t gradient_count);

// The first half of a step: draws the proposed state, to look at until the next call with this chain. Evaluate its energy and
// gradient, and tell them by bitmc_open_tell. Until then, to ask again gives the same state. BITMC_STATUS_HALVES for Gibbs
// sampling.
//
// `gradient` is null, and its count 0: the chain keeps the gradient of its state. For categories of 65 values or more it keeps
// none, and it is given here. BITMC_STATUS_GRADIENT where it is missing; then nothing is drawn.
enum bitmc_status bitmc_open_ask(struct bitmc_open *open,
                                 const struct bitmc_sampler *sampler,
                                 const float *gradient,
                                 size_t gradient_count,
                                 struct bitmc_rng *rng,
                                 struct bitmc_state *proposed);

// The second half of a step: takes the energy and the gradient at the proposed state, and accepts or rejects it. An energy of
// +inf forbids the state. What the step did, unless `info` is null. Draws nothing. Where the call is refused the proposal stays.
enum bitmc_status bitmc_open_tell(struct bitmc_open *open,
                                  float energy,
                                  const float *gradient,
                                  size_t gradient_count,
                                  struct bitmc_info *info);

// The state, to look at until the next call with this chain.
enum bitmc_status bitmc_open_state(struct bitmc_open *open, struct bitmc_state *state);

// The energy of the state.
enum bitmc_status bitmc_open_energy(struct bitmc_open *open, float *energy);

// Moves the chain to a state, clamped sites too, with its energy and gradient, and cancels a proposal. Where it is refused the
// chain is as it was.
enum bitmc_status bitmc_open_restart(struct bitmc_open *open,
                                     const uint32_t *words,
                                     size_t word_count,
                                     float energy,
                                     const float *gradient,
                                     size_t gradient_count);

// Tells the energy and the gradient at the chain's state again, after the model has changed, and cancels a proposal. Where it
// is refused the chain is as it was.
enum bitmc_status bitmc_open_rebind(struct bitmc_open *open,
                                    float energy,
                                    const float *gradient,
                                    size_t gradient_count);

// As bitmc_chain_clamp; cancels a proposal.
enum bitmc_status bitmc_open_clamp(struct bitmc_open *open,
                                   const uint32_t *words,
                                   size_t word_count);

// An open chain and its generator (unless that is null) as bytes, between the halves of a step too. As bitmc_save.
enum bitmc_status bitmc_open_save(uint64_t model,
                                  struct bitmc_open *open,
                                  struct bitmc_rng *rng,
                                  uint8_t *out,
                                  size_t bytes,
                                  size_t *written);

// Goes on from the bytes of bitmc_open_save: a proposal that was not told yet is asked again, the same state. As bitmc_load.
enum bitmc_status bitmc_open_load(uint64_t model,
                                  struct bitmc_open *open,
                                  struct bitmc_rng *rng,
                                  const uint8_t *bytes,
                                  size_t count);

// A chain that starts at the state in `words`, bit i of word j being site 32 j + i. Row i of K is
// `entries[ends[i - 1]] .. entries[ends[i] - 1]`, neighbours ascending, each edge in the rows of both its sites. The
// array `linear` is b. The array `fields` is room for a number a site. All five are borrowed, without a byte in
// common of `words` and `fields` with another; the tables may be in flash.
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

// Goes on at its state over the same couplings with another b, one number a site, borrowed in place of the one before. No row
// is checked again.
enum bitmc_status bitmc_quantised_set_linear(struct bitmc_quantised *chain,
                                             const int32_t *linear,
                                             size_t sites);

// Draws `count` sites in order, from `first` on: a whole sweep from 0, or a part of one that fits the time there
// is. Adds the sites that changed to `flips`, unless it is null.
enum bitmc_status bitmc_quantised_sweep(struct bitmc_quantised *chain,
                                        struct bitmc_rng *rng,
                                        size_t first,
                                        size_t count,
                                        uint64_t *flips);

// A sweep over the sites whose bit in `free` is 1. All others are clamped, also those beyond its `word_count` words.
// The rest is drawn from p given them. Adds the sites that changed to `flips`, unless it is null.
enum bitmc_status bitmc_quantised_sweep_free(struct bitmc_quantised *chain,
                                             struct bitmc_rng *rng,
                                             const uint32_t *free,
                                             size_t word_count,
                                             uint64_t *flips);

// The state, to look at until the next call with this chain.
enum bitmc_status bitmc_quantised_state(struct bitmc_quantised *chain, struct bitmc_state *state);

// A chain that starts at the state in `words`, over the rows that `bitmc_quantised_init` takes. The number `penalty`
// is the log odds against a flip that changes nothing, 65,536 a factor of two, at most 2^30. It is 47,274 divided by
// the step size. The array `fields` is room for a number a site, `flips` for as many words as the state has. All six
// are borrowed, without a byte in common of `words`, `fields` and `flips` with another.
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

// As bitmc_quantised_set_linear.
enum bitmc_status bitmc_quantised_langevin_set_linear(struct bitmc_quantised_langevin *chain,
                                                      const int32_t *linear,
                                                      size_t sites);

// A step: whether it was accepted (1 or 0), and how many sites the proposal changed, each unless null.
enum bitmc_status bitmc_quantised_langevin_step(struct bitmc_quantised_langevin *chain,
                                                struct bitmc_rng *rng,
                                                uint32_t *accepted,
                                                uint32_t *proposed);

// A step that moves only the sites whose bit in `free` is 1. All others are clamped, also those beyond its
// `word_count` words. The rest is drawn from p given them. Answers as bitmc_quantised_langevin_step.
enum bitmc_status bitmc_quantised_langevin_step_free(struct bitmc_quantised_langevin *chain,
                                                     struct bitmc_rng *rng,
                                                     const uint32_t *free,
                                                     size_t word_count,
                                                     uint32_t *accepted,
                                                     uint32_t *proposed);

// The state, to look at until the next call with this chain.
enum bitmc_status bitmc_quantised_langevin_state(struct bitmc_quantised_langevin *chain,
                                                 struct bitmc_state *state);

// The generator of chain `stream` under `seed`; streams do not overlap. Takes time in proportion to `stream`, about 0.1 us
// each on a PC. Number the chains of one run by it, and tell devices or runs apart by the seed.
enum bitmc_status bitmc_rng_init(struct bitmc_rng *rng,
                                 uint64_t seed,
                                 uint32_t stream);

// The next 32 bits; 0 where there is no generator, or it is in use by the call that a callback belongs to.
uint32_t bitmc_rng_next(struct bitmc_rng *rng);

// Discrete Langevin at a step size on the scale of 0 and 1. With the Metropolis test (`adjusted` 1, DMALA) it keeps the
// distribution; without (0, DULA) it has a bias.
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

// The balanced sampler of second order (AB-edge) for the couplings of an Ising or Potts model. Its parameters are the step
// size sigma (INFINITY is allowed), the balance alpha, and the precision kappa of its auxiliary variable (1 is usual). Where
// the model is made again, the sampler is not ready any more. BITMC_STATUS_COUNT for a Potts model of 65 values or more. A
// chain over another number of sites refuses every step as a fault.
enum bitmc_status bitmc_second_order_init(struct bitmc_sampler *sampler,
                                          const struct bitmc_model *model,
                                          float step_size,
                                          float balance,
                                          float precision,
                                          uint8_t *memory,
                                          size_t bytes);

// Bytes of memory for bitmc_cyclical_init.
size_t bitmc_cyclical_bytes(size_t steps);

// The cyclical sampler (ACS): cycles of `steps` steps, 1 or more. A cycle falls from the largest step size and balance to the
// smallest step size and a balance of one half. Legal are 0 < smallest <= largest, .5 <= balance <= 1.
enum bitmc_status bitmc_cyclical_init(struct bitmc_sampler *sampler,
                                      float largest,
                                      float smallest,
                                      float balance,
                                      size_t steps,
                                      uint8_t *memory,
                                      size_t bytes);

// A run as bytes: the chain, its generator and its statistics; those that are null are left out. The number `model`
// is the caller's, such as a hash of the parameters. Without it the bytes cannot be loaded. The answer `written`
// (unless it is null) is how many bytes there are, or, with BITMC_STATUS_MEMORY, how many are needed. A refusal
// leaves `out` as it was.
enum bitmc_status bitmc_save(uint64_t model,
                             struct bitmc_chain *chain,
                             struct bitmc_rng *rng,
                             struct bitmc_stats *stats,
                             uint8_t *out,
                             size_t bytes,
                             size_t *written);

// Goes on from the bytes of bitmc_save with the same parts, over the same model: bit for bit as if the run had never stopped.
// What is torn, altered, of another version or of another model is refused before anything is changed. Where the parts are
// others than those that were saved, BITMC_STATUS_OTHER, some may have been filled. Bytes after the snapshot are not looked
// at.
enum bitmc_status bitmc_load(uint64_t model,
                             struct bitmc_chain *chain,
                             struct bitmc_rng *rng,
                             struct bitmc_stats *stats,
                             const uint8_t *bytes,
                             size_t count);

// Replica exchange as bytes: the ladder, all its replicas, the generator. As bitmc_save. BITMC_STATUS_COUNT where
// `count` is not the number of its rungs.
enum bitmc_status bitmc_exchange_save(uint64_t model,
                                      struct bitmc_ladder *ladder,
                                      struct bitmc_replica *replicas,
                                      size_t count,
                                      struct bitmc_rng *rng,
                                      uint8_t *out,
                                      size_t bytes,
                                      size_t *written);

// Goes on from the bytes of bitmc_exchange_save. As bitmc_load. BITMC_STATUS_COUNT where `count` is not the number of
// rungs, BITMC_STATUS_ENERGY where an energy is not finite at a saved state. Then the parts before it have been filled.
enum bitmc_status bitmc_exchange_load(uint64_t model,
                                      struct bitmc_ladder *ladder,
                                      struct bitmc_replica *replicas,
                                      size_t count,
                                      struct bitmc_rng *rng,
                                      const uint8_t *bytes,
                                      size_t byte_count);

// Statistics that have seen nothing. `sums` are the sums of the values of the first `sites` sites, the memory of
// bitmc_stats_mean. They are overwritten with 0. For none, they are null and `sites` is 0. Where a sum is full (of bits after
// 4e9 steps) all means stop changing.
enum bitmc_status bitmc_stats_init(struct bitmc_stats *stats,
                                   uint32_t *sums,
                                   size_t sites);

// What they say so far; before the first step all but `steps` and `faults` are NaN.
enum bitmc_status bitmc_stats_summary(struct bitmc_stats *stats, struct bitmc_summary *summary);

// The mean value of a site. BITMC_STATUS_INDEX where it has no sum or does not exist, BITMC_STATUS_NOT_READY before the first step.
enum bitmc_status bitmc_stats_mean(struct bitmc_stats *stats,
                                   size_t site,
                                   float *mean);

// A status in words: a constant string.
const char *bitmc_status_text(uint32_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BITMC_H */
