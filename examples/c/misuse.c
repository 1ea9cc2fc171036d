/* What the C face says to misuse: bad input, refusals beside a chain at work, calls from within a callback, a model
 * that changes under its chain. Exit status 0 for a pass. Compiled as C11 and as C++17. */
#include "check.h"
#include "bitmc.h"
#include <math.h>
#include <string.h>

static float nothing(void *user, const bitmc_state *x) {
    (void)user, (void)x;
    return NAN;
}

static void no_slopes(void *user, const bitmc_state *x, float *out, size_t count) {
    (void)user, (void)x, (void)out, (void)count;
}

static void bad_input(void) {
    static unsigned char memory[1024];
    bitmc_edge edges[1] = {{0, 1, 0.5f}};
    float fields[2] = {0.1f, 0.2f}, energy;
    bitmc_model model, own;
    bitmc_rng rng;
    bitmc_chain chain;
    bitmc_sampler sampler;
    uint32_t wrong[1] = {4};
    memset(&model, 0, sizeof model), memset(&chain, 0, sizeof chain), memset(&sampler, 0xFF, sizeof sampler);
    check(bitmc_chain_energy(&chain, &energy) == BITMC_STATUS_NOT_READY, "a chain that is none");
    check(bitmc_chain_energy(NULL, &energy) == BITMC_STATUS_NULL, "no chain");
    check(bitmc_rng_init(NULL, 1, 0) == BITMC_STATUS_NULL && !bitmc_rng_init(&rng, 1, 0), "no generator");
    check(bitmc_chain_init(&chain, &model, memory, sizeof memory, &rng) == BITMC_STATUS_NOT_READY, "no model");
    check(bitmc_ising_init(&model, 3, edges, 1, fields, 2, memory, 512) == BITMC_STATUS_CHOICE, "no convention");
    check(bitmc_ising_init(&model, 0, NULL, 1, fields, 2, memory, 512) == BITMC_STATUS_NULL, "no edges");
    check(bitmc_ising_init(&model, 0, edges, 1, fields, 2, memory, 20) == BITMC_STATUS_MEMORY, "too little memory");
    edges[0].b = 2;
    check(bitmc_ising_init(&model, 0, edges, 1, fields, 2, memory, 512) == BITMC_STATUS_EDGES, "an edge to nowhere");
    edges[0].b = 1, fields[0] = NAN;
    check(bitmc_ising_init(&model, 0, edges, 1, fields, 2, memory, 512) == BITMC_STATUS_NOT_FINITE, "a field of NaN");
    fields[0] = 0.1f;
    check(!bitmc_ising_init(&model, 0, edges, 1, fields, 2, memory, 512), "the right model");
    check(bitmc_chain_bytes(&model) < 512 && bitmc_ising_bytes(2, 1) < 512, "lengths");
    check(bitmc_chain_init(&chain, &model, memory + 512, 64, &rng) == BITMC_STATUS_MEMORY, "a chain in too little memory");
    check(bitmc_chain_init_at(&chain, &model, memory + 512, 512, wrong, 1) == BITMC_STATUS_STATE, "a third site of two");
    check(bitmc_langevin_init(&sampler, -1.0f, 1) == BITMC_STATUS_ARGUMENT, "a negative step size");
    check(!bitmc_chain_init(&chain, &model, memory + 512, 512, &rng), "the right chain");
    check(bitmc_chain_run(&chain, &sampler, &rng, 1, NULL) == BITMC_STATUS_NOT_READY, "a sampler that is none");
    check(bitmc_own_init(&own, 3, 2, 0, NULL, NULL, NULL, NULL) == BITMC_STATUS_NULL, "no energy");
    check(!bitmc_own_init(&own, 3, 2, 0, nothing, NULL, NULL, NULL) &&
              bitmc_chain_init(&chain, &own, memory + 512, 512, &rng) == BITMC_STATUS_ENERGY,
          "an energy of NaN");
    check(strcmp(bitmc_status_text(99), "no such status") == 0, "texts");
}

/* A ring of 8 bits at work; what a test does to it is undone by the next set_up(). */
static unsigned char couplings[1024], memory[1024], room[1024];
static bitmc_edge ring[8];
static float fields[8];
static bitmc_model model;
static bitmc_chain chain;
static bitmc_rng rng;
static bitmc_sampler gibbs;

static int set_up(void) {
    for (uint32_t site = 0; site < 8; site++) {
        bitmc_edge edge = {site, (site + 1) % 8, 0.3f};
        ring[site] = edge, fields[site] = 0.1f;
    }
    return !bitmc_ising_init(&model, BITMC_BITS_EDGES_ONCE, ring, 8, fields, 8, couplings, sizeof couplings) &&
           !bitmc_rng_init(&rng, 3, 0) && !bitmc_chain_init(&chain, &model, memory, sizeof memory, &rng) &&
           !bitmc_gibbs_init(&gibbs, 0) && !bitmc_chain_run(&chain, &gibbs, &rng, 10, NULL);
}

/* An old struct that other variables were put over in part: what may lie where a function has one that it does not
 * initialise, when it is called again. */
static void leave_parts(void *old, size_t size) {
    memset((unsigned char *)old + sizeof(uint64_t), 0x5A, size - sizeof(uint64_t));
}

/* The state and energy of the chain; 0 where it is not ready. */
static int look(uint32_t *word, float *energy) {
    bitmc_state state;
    return !bitmc_chain_state(&chain, &state) && !bitmc_chain_energy(&chain, energy) && (*word = state.words[0], 1);
}

static void leftovers(void) {
    uint32_t word;
    float energy;
    int ready = set_up();
    leave_parts(&chain, sizeof chain), leave_parts(&model, sizeof model);
    leave_parts(&rng, sizeof rng), leave_parts(&gibbs, sizeof gibbs);
    check(ready && set_up() && look(&word, &energy), "structs in the remains of old ones");
}

static int not_ready(void) {
    float energy;
    bitmc_state state;
    return bitmc_chain_state(&chain, &state) == BITMC_STATUS_NOT_READY &&
           bitmc_chain_energy(&chain, &energy) == BITMC_STATUS_NOT_READY &&
           bitmc_chain_step(&chain, &gibbs, &rng, NULL) == BITMC_STATUS_NOT_READY &&
           bitmc_chain_run(&chain, &gibbs, &rng, 3, NULL) == BITMC_STATUS_NOT_READY;
}

static int unmoved(bitmc_rng *it, uint64_t seed) {
    bitmc_rng fresh;
    return !bitmc_rng_init(&fresh, seed, 0) && bitmc_rng_next(it) == bitmc_rng_next(&fresh);
}

static void refusals(void) {
    bitmc_chain other;
    bitmc_model own;
    bitmc_rng still;
    bitmc_state state;
    uint32_t wrong[1] = {256}, before = 0, after = 1;
    float was = 0.0f, is = 1.0f;
    memset(&other, 0, sizeof other);
    check(set_up() && look(&before, &was) &&
              bitmc_chain_init_at(&chain, &model, memory, sizeof memory, wrong, 1) == BITMC_STATUS_STATE &&
              bitmc_chain_init_at(&other, &model, memory, sizeof memory, wrong, 1) == BITMC_STATUS_STATE &&
              bitmc_chain_init(&chain, &model, memory, 64, &rng) == BITMC_STATUS_MEMORY && look(&after, &is) &&
              before == after && was == is,
          "a refusal by what can be checked changes nothing");
    check(!bitmc_chain_state(&chain, &state) &&
              bitmc_chain_init_at(&chain, &model, memory, sizeof memory, state.words, state.word_count) ==
                  BITMC_STATUS_OVERLAP &&
              look(&after, &is) && before == after,
          "a start in the memory that is lent");
    check(!bitmc_own_init(&own, 8, 2, 0, nothing, NULL, NULL, NULL) && !bitmc_rng_init(&still, 8, 0) &&
              bitmc_chain_init(&chain, &own, memory, sizeof memory, &still) == BITMC_STATUS_ENERGY && not_ready(),
          "a chain whose own start is refused is not ready");
    check(unmoved(&still, 8), "the generator has not moved");
    check(set_up() && bitmc_chain_init(&other, &own, memory, sizeof memory, &still) == BITMC_STATUS_ENERGY && not_ready(),
          "nor is one whose memory was taken");
    check(set_up() && !bitmc_chain_init(&other, &model, memory, sizeof memory, &rng) && not_ready() &&
              !bitmc_chain_run(&other, &gibbs, &rng, 3, NULL),
          "one memory holds one chain");
    {
        bitmc_replica replica;
        bitmc_rng fresh;
        check(set_up() && !bitmc_rng_init(&fresh, 8, 0) &&
                  bitmc_replica_init(&replica, &own, memory, sizeof memory, &fresh) == BITMC_STATUS_ENERGY &&
                  not_ready() && unmoved(&fresh, 8),
              "a replica in its memory, refused");
    }
    check(set_up() && (fields[3] = NAN,
                       bitmc_ising_init(&model, 0, ring, 8, fields, 8, couplings, 64) == BITMC_STATUS_MEMORY) &&
              look(&after, &is) &&
              bitmc_ising_init(&model, 0, ring, 8, fields, 8, couplings, sizeof couplings) == BITMC_STATUS_NOT_FINITE &&
              not_ready(),
          "a model that is refused after its memory was used");
}

static void changed_models(void) {
    check(set_up() && (memset(&model, 0, sizeof model), not_ready()), "a model that is zeroed");
    check(set_up() && !bitmc_ising_init(&model, 0, ring, 2, fields, 4, couplings, sizeof couplings) && not_ready(),
          "a model that is smaller now");
    check(set_up() && !bitmc_potts_init(&model, NULL, 0, NULL, 8, 3, couplings, sizeof couplings) && not_ready(),
          "a model of another arity");
    check(set_up() && (memset(&model, 0, sizeof model),
                       !bitmc_potts_init(&model, NULL, 0, NULL, 8, 3, couplings, sizeof couplings)) && not_ready(),
          "the same after zeros");
    check(set_up() && !bitmc_ising_init(&model, 0, ring, 4, fields, 8, couplings, sizeof couplings) && not_ready(),
          "a model of other couplings");
}

/* What calls from within a callback came to. */
static struct {
    bitmc_chain chain, other;
    bitmc_model model;
    bitmc_rng rng;
    bitmc_sampler sampler;
    bitmc_stats stats;
    bitmc_status inner, said[14];
    uint32_t next;
    int calls;
} in;

static float calls_back(void *user, const bitmc_state *x) {
    static unsigned char elsewhere[1024];
    static uint32_t start[1], sums[8];
    float energy;
    (void)user;
    if (in.calls++ == 0) {
        in.inner = bitmc_chain_init(&in.other, &in.model, elsewhere, sizeof elsewhere, &rng);
        bitmc_status said[14] = {
            bitmc_chain_energy(&in.chain, &energy),
            bitmc_chain_init(&in.chain, &in.model, elsewhere, sizeof elsewhere, &rng),
            bitmc_chain_init_at(&in.chain, &in.model, elsewhere, sizeof elsewhere, start, 1),
            bitmc_chain_init_at(&in.other, &in.model, memory, sizeof memory, start, 1),
            bitmc_own_init(&in.model, 4, 2, 0, nothing, NULL, NULL, NULL),
            bitmc_ising_init(&in.model, 0, ring, 8, fields, 8, couplings, sizeof couplings),
            bitmc_rng_init(&in.rng, 1, 0),
            bitmc_stats_init(&in.stats, sums, 8),
            bitmc_gibbs_init(&in.sampler, 2),
            bitmc_langevin_init(&in.sampler, 0.5f, 1),
            bitmc_cyclical_init(&in.sampler, 1.0f, 0.5f, 0.6f, 4, room, sizeof room),
            bitmc_chain_init(&in.other, &in.model, elsewhere, sizeof elsewhere, &in.rng),
            bitmc_chain_rebind(&in.chain, &in.model),
            bitmc_check(&in.model, start, 1, memory, sizeof memory, NULL),
        };
        memcpy(in.said, said, sizeof said);
        in.next = bitmc_rng_next(&in.rng);
    }
    return (float)bitmc_state_get(x, 0);
}

static void within_callbacks(void) {
    static const char *const names[14] = {
        "the energy of the chain at work",
        "the chain at work, made again",
        "the same at a state",
        "another chain in its memory",
        "the model at work, made again",
        "the same as an Ising model",
        "the generator at work, made again",
        "the statistics",
        "the sampler, as Gibbs sampling",
        "as discrete Langevin",
        "as ACS, in the memory of the one at work",
        "another chain from the generator at work",
        "the chain at work, over its model again",
        "a check in the memory of the chain at work",
    };
    uint32_t start[1] = {5};
    memset(&in, 0, sizeof in);
    in.calls = 1; /* not at the start */
    check(set_up() && !bitmc_own_init(&in.model, 8, 2, 0, calls_back, NULL, NULL, NULL) && !bitmc_rng_init(&in.rng, 1, 0) &&
              !bitmc_chain_init_at(&in.chain, &in.model, memory, sizeof memory, start, 1) &&
              !bitmc_cyclical_init(&in.sampler, 1.0f, 0.5f, 0.6f, 4, room, sizeof room) &&
              !bitmc_stats_init(&in.stats, NULL, 0) &&
              (in.calls = 0, !bitmc_chain_run(&in.chain, &in.sampler, &in.rng, 5, &in.stats)),
          "a chain whose callback makes calls");
    for (int call = 0; call < 14; call++) check(in.said[call] == BITMC_STATUS_BUSY, names[call]);
    check(in.inner == BITMC_STATUS_OK, "another chain over the model at work");
    check(in.next == 0, "a number of the generator at work");
    check(!bitmc_gibbs_init(&in.sampler, 0) && !bitmc_rng_init(&in.rng, 1, 0) &&
              !bitmc_own_init(&in.model, 8, 2, 0, calls_back, NULL, NULL, NULL),
          "afterwards they may be made again");
    in.calls = 0;
    check(bitmc_chain_init_at(&in.chain, &in.model, memory, sizeof memory, start, 1) == BITMC_STATUS_OK &&
              in.said[2] == BITMC_STATUS_BUSY && in.said[3] == BITMC_STATUS_BUSY && in.said[4] == BITMC_STATUS_BUSY,
          "the same while a chain is made");
}

/* The same in replica exchange. */
static struct {
    bitmc_ladder ladder;
    bitmc_replica replicas[2];
    bitmc_sampler samplers[2];
    unsigned char rungs[256], memory[2][1024];
    bitmc_model model;
    bitmc_rng rng;
    bitmc_status said[4];
    int calls;
} turns;

static float takes_turns(void *user, const bitmc_state *x) {
    static const float betas[2] = {0.5f, 1.0f};
    static unsigned char elsewhere[1024];
    bitmc_replica other = {0};
    (void)user;
    if (turns.calls++ == 0) {
        turns.said[0] = bitmc_ladder_init(&turns.ladder, betas, 2, elsewhere, sizeof elsewhere);
        turns.said[1] = bitmc_replica_init(&turns.replicas[0], &turns.model, elsewhere, sizeof elsewhere, &rng);
        turns.said[2] = bitmc_replica_init(&other, &turns.model, turns.memory[0], sizeof turns.memory[0], &rng);
        turns.said[3] = bitmc_gibbs_init(&turns.samplers[0], 2);
    }
    return (float)bitmc_state_get(x, 0);
}

static void within_exchange(void) {
    static const float betas[2] = {0.5f, 1.0f};
    turns.calls = 1; /* not at the start */
    int ready = set_up() && !bitmc_own_init(&turns.model, 8, 2, 0, takes_turns, NULL, NULL, NULL) &&
                !bitmc_rng_init(&turns.rng, 1, 0) &&
                !bitmc_ladder_init(&turns.ladder, betas, 2, turns.rungs, sizeof turns.rungs);
    for (int index = 0; index < 2; index++)
        ready = ready && !bitmc_gibbs_init(&turns.samplers[index], 0) &&
                !bitmc_replica_init(&turns.replicas[index], &turns.model, turns.memory[index],
                                    sizeof turns.memory[index], &turns.rng);
    turns.calls = 0;
    check(ready && !bitmc_exchange(&turns.ladder, turns.replicas, 2, turns.samplers, &turns.rng, 2, NULL) &&
              turns.said[0] == BITMC_STATUS_BUSY && turns.said[1] == BITMC_STATUS_BUSY &&
              turns.said[2] == BITMC_STATUS_BUSY && turns.said[3] == BITMC_STATUS_BUSY,
          "the ladder, the replica, its memory and its sampler at work, made again");
    memset(&turns.samplers[1], 0, sizeof turns.samplers[1]);
    check(!bitmc_rng_init(&turns.rng, 8, 0) &&
              bitmc_exchange(&turns.ladder, turns.replicas, 2, turns.samplers, &turns.rng, 2, NULL) ==
                  BITMC_STATUS_NOT_READY &&
              unmoved(&turns.rng, 8),
          "a round without one of its samplers moves nothing");
}

/* Snapshots that are not written leave what stood there. */
static void unsaved(void) {
    static const float betas[2] = {0.5f, 1.0f};
    static unsigned char rungs[256], replica_memory[2][1024], bytes[2048], before[2048];
    bitmc_ladder ladder = {{0}};
    bitmc_replica replicas[2] = {{{0}}};
    bitmc_chain none = {{0}};
    size_t written = 0, need = 0;
    int ready = set_up() && !bitmc_ladder_init(&ladder, betas, 2, rungs, sizeof rungs);
    for (int index = 0; index < 2; index++)
        ready = ready && !bitmc_replica_init(&replicas[index], &model, replica_memory[index], sizeof replica_memory[index], &rng);
    ready = ready && !bitmc_save(1, &chain, &rng, NULL, bytes, sizeof bytes, &written);
    memcpy(before, bytes, sizeof before);
    check(ready && bitmc_save(1, &none, &rng, NULL, bytes, sizeof bytes, &need) == BITMC_STATUS_NOT_READY &&
              bitmc_save(1, &chain, &rng, NULL, bytes, written - 1, &need) == BITMC_STATUS_MEMORY && need == written &&
              bitmc_save(1, &chain, &rng, NULL, NULL, 5, &need) == BITMC_STATUS_NULL &&
              bitmc_save(1, &chain, &rng, NULL, NULL, 0, NULL) == BITMC_STATUS_MEMORY &&
              memcmp(before, bytes, sizeof before) == 0 && !bitmc_load(1, &chain, &rng, NULL, bytes, sizeof bytes),
          "a snapshot that is refused leaves the one before");
    check(ready && bitmc_exchange_save(1, &ladder, replicas, 1, &rng, bytes, sizeof bytes, NULL) == BITMC_STATUS_COUNT &&
              bitmc_exchange_save(1, &ladder, NULL, 0, &rng, bytes, sizeof bytes, NULL) == BITMC_STATUS_COUNT &&
              bitmc_exchange_save(1, &ladder, replicas, 3, &rng, bytes, sizeof bytes, NULL) == BITMC_STATUS_COUNT &&
              !bitmc_exchange_save(1, &ladder, replicas, 2, &rng, bytes, sizeof bytes, &written) &&
              bitmc_exchange_load(1, &ladder, replicas, 1, &rng, bytes, written) == BITMC_STATUS_COUNT &&
              !bitmc_exchange_load(1, &ladder, replicas, 2, &rng, bytes, written),
          "a ladder without all its replicas");
    {
        static uint32_t sums[8];
        bitmc_edge edges[2] = {{0, 1, 0.5f}, {1, 2, 0.5f}};
        bitmc_model small = {{0}};
        bitmc_rng no_rng = {{0}}, other;
        bitmc_stats no_stats = {{0}}, stats = {{0}};
        uint32_t saved = 0, moved = 0, after = 0;
        float energy, mean;
        ready = ready && !bitmc_stats_init(&stats, sums, 8) && !bitmc_chain_run(&chain, &gibbs, &rng, 5, &stats) &&
                !bitmc_save(1, &chain, &rng, &stats, bytes, sizeof bytes, &written) && look(&saved, &energy);
        for (moved = saved; ready && moved == saved;)
            ready = !bitmc_chain_step(&chain, &gibbs, &rng, NULL) && look(&moved, &energy);
        check(ready && bitmc_load(1, &chain, &no_rng, &stats, bytes, written) == BITMC_STATUS_NOT_READY &&
                  !bitmc_rng_init(&other, 8, 0) &&
                  bitmc_load(1, &chain, &other, &no_stats, bytes, written) == BITMC_STATUS_NOT_READY &&
                  unmoved(&other, 8) && look(&after, &energy) && after == moved,
              "a part that is not ready leaves the others as they were");
        check(ready && !bitmc_stats_init(&stats, sums, 8) &&
                  !bitmc_ising_init(&small, 0, edges, 2, fields, 4, room, sizeof room) &&
                  !bitmc_chain_init(&none, &small, replica_memory[0], sizeof replica_memory[0], &rng) &&
                  !bitmc_chain_run(&none, &gibbs, &rng, 5, &stats) &&
                  bitmc_stats_mean(&stats, 7, &mean) == BITMC_STATUS_INDEX &&
                  !bitmc_load(1, &chain, &rng, &stats, bytes, written) && !bitmc_stats_mean(&stats, 7, &mean),
              "statistics of fewer sites are those of the snapshot");
        ready = !bitmc_replica_init(&replicas[0], &model, replica_memory[0], sizeof replica_memory[0], &rng) &&
                !bitmc_exchange_save(1, &ladder, replicas, 2, &rng, bytes, sizeof bytes, &written);
        memset(&replicas[1], 0, sizeof replicas[1]);
        check(ready && !bitmc_rng_init(&other, 8, 0) &&
                  bitmc_exchange_load(1, &ladder, replicas, 2, &other, bytes, written) == BITMC_STATUS_NOT_READY &&
                  bitmc_exchange_load(1, &ladder, NULL, 2, &other, bytes, written) == BITMC_STATUS_NULL && unmoved(&other, 8),
              "a replica that is not ready leaves the generator as it was");
    }
}

/* What an _init refuses by its numbers leaves what its struct was. */
static void refused_again(void) {
    static const float betas[2] = {0.5f, 1.0f}, wrong[2] = {1.0f, 0.5f}, nan[2] = {0.5f, NAN};
    static const float parameters[4][3] = {{-1.0f, 0.5f, 1.0f}, {1.0f, 1.5f, 1.0f}, {1.0f, 0.5f, 0.0f}, {NAN, 0.5f, 1.0f}};
    static unsigned char rungs[256];
    uint32_t ends[2] = {1, 2}, words[1] = {0}, third[1] = {4}, flips[1];
    int32_t linear[2] = {0, 0}, drawn[2];
    bitmc_entry pair[2] = {{1, 5}, {0, 5}};
    bitmc_quantised quantised = {{0}};
    bitmc_quantised_langevin jumps = {{0}};
    bitmc_sampler sampler = {{0}};
    bitmc_ladder ladder = {{0}};
    size_t replica = 5;
    int refused = 1;
    check(!bitmc_quantised_init(&quantised, ends, pair, 2, linear, 2, words, 1, drawn, 2) &&
              bitmc_quantised_init(&quantised, ends, pair, 2, linear, 2, third, 1, drawn, 2) == BITMC_STATUS_STATE &&
              bitmc_quantised_init(&quantised, ends, pair, 2, linear, 2, words, 0, drawn, 2) == BITMC_STATUS_STATE &&
              set_up() && !bitmc_quantised_sweep(&quantised, &rng, 0, 2, NULL),
          "a chain without floats stays where words are no state");
    check(!bitmc_quantised_langevin_init(&jumps, ends, pair, 2, linear, 2, 5, words, flips, 1, drawn, 2) &&
              bitmc_quantised_langevin_init(&jumps, ends, pair, 2, linear, 2, 5, third, flips, 1, drawn, 2) ==
                  BITMC_STATUS_STATE &&
              !bitmc_quantised_langevin_step(&jumps, &rng, NULL, NULL),
          "so does one of DMALA");
    check(!bitmc_ladder_init(&ladder, betas, 2, rungs, sizeof rungs) &&
              bitmc_ladder_init(&ladder, wrong, 2, rungs, sizeof rungs) == BITMC_STATUS_ARGUMENT &&
              bitmc_ladder_init(&ladder, nan, 2, rungs, sizeof rungs) == BITMC_STATUS_ARGUMENT &&
              bitmc_ladder_init(&ladder, betas, 1, rungs, sizeof rungs) == BITMC_STATUS_COUNT &&
              !bitmc_ladder_replica(&ladder, 1, &replica) && replica == 1,
          "a ladder stays where temperatures do not rise");
    check(!bitmc_second_order_init(&sampler, &model, 1.0f, 0.5f, 1.0f, room, sizeof room), "AB-edge");
    for (int which = 0; which < 4; which++)
        refused &= bitmc_second_order_init(&sampler, &model, parameters[which][0], parameters[which][1],
                                           parameters[which][2], room, sizeof room) == BITMC_STATUS_ARGUMENT;
    check(refused && !bitmc_chain_run(&chain, &sampler, &rng, 3, NULL), "it stays where its parameters are wrong");
}

static void numbers(void) {
    static const float cycles[8][3] = {{-1.0f, 0.5f, 0.6f},     {1.0f, 0.0f, 0.6f},      {0.5f, 1.0f, 0.6f}, {1.0f, 0.5f, 0.1f},
                                       {INFINITY, 0.5f, 0.6f}, {1.0f, 0.5f, 1.5f}, {NAN, 0.5f, 0.6f},  {1.0f, -0.5f, 0.6f}};
    float zero = 0.0f, mean = -1.0f;
    uint32_t sums[16], ends[2] = {1, 1}, words[1] = {0};
    int32_t linear[2] = {0, 0}, drawn[2];
    bitmc_model none;
    bitmc_sampler sampler;
    bitmc_stats stats;
    bitmc_summary summary;
    bitmc_quantised quantised;
    bitmc_entry entry = {1, 5};
    int refused = 1;
    memset(&none, 0, sizeof none), memset(&sampler, 0, sizeof sampler), memset(&stats, 0, sizeof stats);
    check(bitmc_ising_init(&none, 0, NULL, 0, NULL, 0, NULL, 0) != BITMC_STATUS_OK &&
              bitmc_ising_init(&none, 0, NULL, 0, &zero, 0, room, sizeof room) == BITMC_STATUS_COUNT &&
              bitmc_ising_init(NULL, 0, NULL, 0, NULL, 0, NULL, 0) != BITMC_STATUS_OK,
          "an Ising model without sites");
    check(bitmc_potts_init(&none, NULL, 0, NULL, 0, 0, NULL, 0) != BITMC_STATUS_OK &&
              bitmc_potts_init(&none, NULL, 0, NULL, 0, 3, room, sizeof room) == BITMC_STATUS_COUNT,
          "a Potts model without sites");
    check(bitmc_rbm_init(&none, NULL, NULL, 0, NULL, 0, NULL, 0) != BITMC_STATUS_OK &&
              bitmc_rbm_init(&none, NULL, NULL, 0, &zero, 1, room, sizeof room) == BITMC_STATUS_COUNT,
          "a restricted Boltzmann machine without units");
    for (int which = 0; which < 8; which++)
        refused &= bitmc_cyclical_init(&sampler, cycles[which][0], cycles[which][1], cycles[which][2], 4, room,
                                       sizeof room) == BITMC_STATUS_ARGUMENT;
    check(refused && bitmc_cyclical_init(&sampler, 1.0f, 0.5f, 0.6f, 0, room, sizeof room) == BITMC_STATUS_COUNT &&
              !bitmc_cyclical_init(&sampler, 0.5f, 0.5f, 0.5f, 1, room, sizeof room),
          "cycles of wrong step sizes, balances and lengths");
    check(bitmc_stats_init(&stats, NULL, 5) == BITMC_STATUS_NULL, "sums of nowhere");
    check(set_up() && !bitmc_stats_init(&stats, sums, 8) && bitmc_stats_mean(&stats, 0, &mean) == BITMC_STATUS_NOT_READY &&
              !bitmc_stats_summary(&stats, &summary) && summary.steps == 0 && isnan(summary.acceptance) &&
              isnan(summary.energy) && isnan(summary.jump_distance) && isnan(summary.energy_error),
          "statistics before the first step");
    check(!bitmc_chain_run(&chain, &gibbs, &rng, 5, &stats) && !bitmc_stats_mean(&stats, 7, &mean) &&
              bitmc_stats_mean(&stats, 8, &mean) == BITMC_STATUS_INDEX,
          "the mean of a site that does not exist");
    check(!bitmc_stats_init(&stats, NULL, 0) && !bitmc_chain_run(&chain, &gibbs, &rng, 5, &stats) &&
              bitmc_stats_mean(&stats, 0, &mean) == BITMC_STATUS_INDEX,
          "a mean without sums");
    check(!bitmc_stats_init(&stats, sums, 16) && !bitmc_chain_run(&chain, &gibbs, &rng, 5, &stats) &&
              !bitmc_stats_mean(&stats, 7, &mean) && bitmc_stats_mean(&stats, 8, &mean) == BITMC_STATUS_INDEX,
          "sums of more sites than there are");
    ring[7] = ring[0];
    check(bitmc_ising_init(&none, 0, ring, 8, fields, 8, room, sizeof room) == BITMC_STATUS_EDGES, "an edge twice");
    ring[7].b = ring[7].a;
    check(bitmc_ising_init(&none, 0, ring, 8, fields, 8, room, sizeof room) == BITMC_STATUS_EDGES, "an edge to itself");
    check(bitmc_quantised_init(&quantised, ends, &entry, 1, linear, 2, words, 1, drawn, 2) == BITMC_STATUS_EDGES,
          "rows without symmetry");
    ends[0] = 0, ends[1] = 0;
    check(bitmc_quantised_init(&quantised, ends, &entry, 1, linear, 2, words, 1, drawn, 2) == BITMC_STATUS_COUNT,
          "more entries than the rows have");
    check(!bitmc_own_init(&none, 8, 2, 0, nothing, NULL, NULL, NULL) &&
              bitmc_second_order_init(&sampler, &none, 1.0f, 0.5f, 1.0f, room, sizeof room) == BITMC_STATUS_SAMPLER,
          "AB-edge without couplings");
    {
        static unsigned char potts[4096];
        check(!bitmc_potts_init(&none, NULL, 0, NULL, 3, 65, potts, sizeof potts) &&
                  bitmc_second_order_init(&sampler, &none, 1.0f, 0.5f, 1.0f, room, sizeof room) == BITMC_STATUS_COUNT &&
                  !bitmc_potts_init(&none, NULL, 0, NULL, 3, 64, potts, sizeof potts) &&
                  !bitmc_second_order_init(&sampler, &none, 1.0f, 0.5f, 1.0f, room, sizeof room),
              "AB-edge for many values");
    }
}

static void alignment(void) {
    static union {
        bitmc_chain chain;
        bitmc_rng rng;
        unsigned char bytes[sizeof(bitmc_rng) + 64];
    } it;
    float energy;
    void *at = it.bytes + 1, *info = it.bytes + 1;
    check(bitmc_rng_init((bitmc_rng *)at, 1, 0) == BITMC_STATUS_ALIGNMENT, "a generator at an odd address");
    check(bitmc_chain_energy((bitmc_chain *)at, &energy) == BITMC_STATUS_ALIGNMENT, "a chain");
    check(set_up() && bitmc_chain_step(&chain, &gibbs, &rng, (bitmc_info *)info) == BITMC_STATUS_ALIGNMENT, "an answer");
    check(!bitmc_chain_init(&chain, &model, memory + 1, sizeof memory - 1, &rng) &&
              !bitmc_chain_run(&chain, &gibbs, &rng, 3, NULL),
          "memory needs none");
}

static void overlaps(void) {
    static union {
        unsigned char bytes[2048];
        uint32_t words[512];
        int32_t numbers[512];
        bitmc_edge edges[8];
        bitmc_ladder ladder;
        bitmc_rng rng;
    } it;
    const float betas[2] = {0.5f, 1.0f};
    uint32_t ends[2] = {1, 2}, words[1] = {0}, flips[1], sums[8];
    int32_t linear[2] = {0, 0}, drawn[2];
    bitmc_entry pair[2] = {{1, 5}, {0, 5}};
    bitmc_quantised quantised;
    bitmc_quantised_langevin jumps;
    bitmc_chain other;
    bitmc_model here;
    bitmc_stats stats;
    size_t need;
    memset(&quantised, 0, sizeof quantised), memset(&jumps, 0, sizeof jumps), memset(&other, 0, sizeof other);
    memset(&here, 0, sizeof here), memset(&stats, 0, sizeof stats);
    check(bitmc_quantised_init(&quantised, ends, pair, 2, linear, 2, words, 1, (int32_t *)words, 2) ==
                  BITMC_STATUS_OVERLAP &&
              bitmc_quantised_init(&quantised, ends, pair, 2, linear, 2, words, 1, linear, 2) == BITMC_STATUS_OVERLAP &&
              bitmc_quantised_init(&quantised, ends, pair, 2, linear, 2, ends + 1, 1, drawn, 2) == BITMC_STATUS_OVERLAP &&
              !bitmc_quantised_init(&quantised, ends, pair, 2, linear, 2, words, 1, drawn, 2),
          "fields in the words or the tables of a chain without floats");
    check(bitmc_quantised_langevin_init(&jumps, ends, pair, 2, linear, 2, 5, words, words, 1, drawn, 2) ==
                  BITMC_STATUS_OVERLAP &&
              bitmc_quantised_langevin_init(&jumps, ends, pair, 2, linear, 2, 5, words, (uint32_t *)drawn + 1, 1, drawn, 2) ==
                  BITMC_STATUS_OVERLAP &&
              bitmc_quantised_langevin_init(&jumps, ends, pair, 2, linear, 2, 5, (uint32_t *)linear, flips, 1, drawn, 2) ==
                  BITMC_STATUS_OVERLAP &&
              !bitmc_quantised_langevin_init(&jumps, ends, pair, 2, linear, 2, 5, words, flips, 1, drawn, 2),
          "the same of DMALA, and flips in its words");
    check(set_up() && bitmc_chain_init(&other, &model, couplings, sizeof couplings, &rng) == BITMC_STATUS_OVERLAP &&
              bitmc_chain_init_at(&other, &model, couplings + 100, sizeof couplings - 100, words, 1) ==
                  BITMC_STATUS_OVERLAP &&
              !bitmc_chain_run(&chain, &gibbs, &rng, 5, NULL),
          "a chain in the memory of its model");
    memcpy(it.edges, ring, sizeof it.edges);
    check(bitmc_ising_init(&here, 0, it.edges, 8, fields, 8, it.bytes, sizeof it.bytes) == BITMC_STATUS_OVERLAP &&
              bitmc_potts_init(&here, it.edges, 8, NULL, 8, 3, it.bytes, sizeof it.bytes) == BITMC_STATUS_OVERLAP &&
              !bitmc_potts_init(&here, it.edges, 8, NULL, 8, 3, it.bytes + 512, sizeof it.bytes - 512),
          "edges in the memory of a model");
    need = bitmc_chain_bytes(&model);
    check(set_up() && need + 64 < 1024 && !bitmc_chain_init(&other, &model, it.bytes, 1024, &rng) &&
              !bitmc_stats_init(&stats, it.words + 250, 8) &&
              bitmc_chain_run(&other, &gibbs, &rng, 5, &stats) == BITMC_STATUS_OVERLAP &&
              !bitmc_stats_init(&stats, it.words + 256, 8) && !bitmc_chain_run(&other, &gibbs, &rng, 5, &stats) &&
              !bitmc_stats_init(&stats, sums, 8) && !bitmc_chain_run(&other, &gibbs, &rng, 5, &stats),
          "sums in the memory of a chain");
    memset(it.bytes, 0, sizeof it.bytes);
    check(bitmc_ladder_init(&it.ladder, betas, 2, it.bytes, sizeof it.bytes) == BITMC_STATUS_OVERLAP &&
              bitmc_ladder_init(&it.ladder, (float *)it.words, 2, it.bytes + 512, 512) == BITMC_STATUS_OVERLAP &&
              !bitmc_ladder_init(&it.ladder, betas, 2, it.bytes + 512, 512),
          "a ladder, or its temperatures, in its memory");
    memset(it.bytes, 0, sizeof it.bytes);
    check(set_up() && !bitmc_rng_init(&it.rng, 8, 0) &&
              bitmc_chain_init(&other, &model, it.bytes, sizeof it.bytes, &it.rng) == BITMC_STATUS_OVERLAP &&
              unmoved(&it.rng, 8) && !bitmc_chain_init(&other, &model, it.bytes + 512, 1024, &it.rng),
          "a generator in the memory of a chain");
}

/* An open chain of 8 bits that is told its energies. */
static unsigned char open_memory[1024];
static bitmc_open open_chain;
static const float zeros[8] = {0.0f};

static int open_up(bitmc_sampler *sampler) {
    static const uint32_t start[1] = {5};
    return set_up() && !bitmc_langevin_init(sampler, 0.5f, 1) &&
           !bitmc_open_init(&open_chain, 8, 2, 0, NULL, open_memory, sizeof open_memory, start, 1, 1.0f, zeros, 8);
}

static uint32_t open_word(void) {
    bitmc_state state;
    return bitmc_open_state(&open_chain, &state) ? 999 : state.words[0];
}

static void asked_and_told(void) {
    static unsigned char bytes[2048], other_memory[4096];
    static uint32_t words[2] = {5, 0};
    static union {
        uint32_t words[256];
        float numbers[256];
        unsigned char bytes[1024];
    } within;
    const float nan[8] = {0.0f, NAN}, many[70] = {0.0f};
    uint16_t arities[8] = {2, 3, 3, 1, 2, 3, 3, 3};
    bitmc_open other;
    bitmc_rng still;
    bitmc_sampler sampler;
    bitmc_state y, again;
    bitmc_info info;
    float energy;
    size_t written;
    memset(&other, 0, sizeof other);
    check(bitmc_open_energy(NULL, &energy) == BITMC_STATUS_NULL && bitmc_open_energy(&other, &energy) == BITMC_STATUS_NOT_READY &&
              bitmc_open_tell(&other, 0.0f, NULL, 0, NULL) == BITMC_STATUS_NOT_READY,
          "an open chain that is none");
    check(open_up(&sampler) && bitmc_open_tell(&open_chain, 0.0f, zeros, 8, &info) == BITMC_STATUS_NOT_ASKED,
          "told without being asked");
    check(!bitmc_rng_init(&still, 8, 0) && bitmc_open_ask(&open_chain, &gibbs, NULL, 0, &still, &y) == BITMC_STATUS_HALVES &&
              unmoved(&still, 8),
          "Gibbs sampling is asked");
    check(!bitmc_rng_init(&still, 8, 0) && bitmc_open_ask(&open_chain, &sampler, NULL, 0, &still, NULL) == BITMC_STATUS_NULL &&
              bitmc_open_ask(&open_chain, &sampler, zeros, 7, &still, &y) == BITMC_STATUS_GRADIENT &&
              bitmc_open_ask(&open_chain, NULL, NULL, 0, &still, &y) == BITMC_STATUS_NULL &&
              bitmc_open_ask(&open_chain, &sampler, NULL, 8, &still, &y) == BITMC_STATUS_NULL && unmoved(&still, 8),
          "asked of nobody, for nobody, with another gradient");
    check(!bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) && y.sites == 8 && y.word_count == 1 &&
              bitmc_open_tell(&open_chain, 0.0f, zeros, 7, &info) == BITMC_STATUS_GRADIENT &&
              bitmc_open_tell(&open_chain, 0.0f, NULL, 0, &info) == BITMC_STATUS_GRADIENT &&
              bitmc_open_tell(&open_chain, 0.0f, NULL, 8, &info) == BITMC_STATUS_NULL &&
              bitmc_open_tell(&open_chain, 0.0f, (const float *)(const void *)open_memory, 8, &info) == BITMC_STATUS_OVERLAP &&
              (words[1] = y.words[0], !bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &again)) &&
              again.words[0] == words[1] && !bitmc_open_tell(&open_chain, INFINITY, NULL, 0, &info) && !info.accepted &&
              open_word() == 5 && bitmc_open_tell(&open_chain, 0.0f, zeros, 8, &info) == BITMC_STATUS_NOT_ASKED,
          "a proposal stays until it is told, and is forbidden");
    check(!bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) && !bitmc_open_tell(&open_chain, NAN, zeros, 8, &info) &&
              info.fault == 1 && open_word() == 5 && !bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) &&
              !bitmc_open_tell(&open_chain, -50.0f, zeros, 8, &info) && info.accepted && !bitmc_open_energy(&open_chain, &energy) &&
              energy == -50.0f,
          "an energy of NaN is a fault");
    check(open_up(&sampler) && !bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) &&
              bitmc_open_restart(&open_chain, words, 1, NAN, zeros, 8) == BITMC_STATUS_ENERGY &&
              bitmc_open_restart(&open_chain, words, 2, 0.0f, zeros, 8) == BITMC_STATUS_STATE &&
              bitmc_open_restart(&open_chain, y.words, 1, 0.0f, zeros, 8) == BITMC_STATUS_OVERLAP &&
              bitmc_open_restart(&open_chain, words, 1, 0.0f, nan, 8) == BITMC_STATUS_ENERGY &&
              bitmc_open_rebind(&open_chain, INFINITY, zeros, 8) == BITMC_STATUS_ENERGY &&
              bitmc_open_rebind(&open_chain, 0.0f, zeros, 5) == BITMC_STATUS_GRADIENT &&
              bitmc_open_clamp(&open_chain, words, 0) == BITMC_STATUS_STATE &&
              bitmc_open_clamp(&open_chain, y.words, 1) == BITMC_STATUS_OVERLAP &&
              !bitmc_open_tell(&open_chain, 1.0f, zeros, 8, NULL),
          "what is refused leaves the proposal");
    words[0] = 9, words[1] = 255;
    check(open_up(&sampler) && !bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) &&
              !bitmc_open_restart(&open_chain, words, 1, 2.0f, zeros, 8) && open_word() == 9 &&
              bitmc_open_tell(&open_chain, 1.0f, zeros, 8, NULL) == BITMC_STATUS_NOT_ASKED &&
              !bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) && !bitmc_open_rebind(&open_chain, 3.0f, zeros, 8) &&
              bitmc_open_tell(&open_chain, 1.0f, zeros, 8, NULL) == BITMC_STATUS_NOT_ASKED &&
              !bitmc_open_energy(&open_chain, &energy) && energy == 3.0f &&
              !bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) && !bitmc_open_clamp(&open_chain, words + 1, 1) &&
              bitmc_open_tell(&open_chain, 1.0f, zeros, 8, NULL) == BITMC_STATUS_NOT_ASKED &&
              !bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) && y.words[0] == 9,
          "a restart, a rebind and held sites cancel it");
    check(open_up(&sampler) && !bitmc_open_save(1, &open_chain, &rng, bytes, sizeof bytes, &written) &&
              bitmc_open_save(1, &open_chain, &rng, bytes, written - 1, &written) == BITMC_STATUS_MEMORY &&
              bitmc_open_load(2, &open_chain, &rng, bytes, written) == BITMC_STATUS_OTHER &&
              bitmc_open_load(1, &open_chain, NULL, bytes, written) == BITMC_STATUS_OTHER &&
              bitmc_open_load(1, &open_chain, &rng, bytes, written - 1) == BITMC_STATUS_SNAPSHOT &&
              bitmc_load(1, &chain, &rng, NULL, bytes, written) != BITMC_STATUS_OK &&
              !bitmc_open_load(1, &open_chain, &rng, bytes, written) && open_word() == 5,
          "other snapshots");
    memset(&still, 0, sizeof still), words[0] = 9;
    check(!bitmc_open_restart(&open_chain, words, 1, 2.0f, zeros, 8) &&
              bitmc_open_load(1, &open_chain, &still, bytes, written) == BITMC_STATUS_NOT_READY && open_word() == 9,
          "a generator that is not ready leaves the open chain as it was");
    check(open_up(&sampler) && !bitmc_chain_init(&chain, &model, open_memory, sizeof open_memory, &rng) &&
              bitmc_open_energy(&open_chain, &energy) == BITMC_STATUS_NOT_READY && open_up(&sampler) &&
              !bitmc_open_init(&other, 8, 2, 0, NULL, memory, sizeof memory, words, 1, 0.0f, zeros, 8) && not_ready(),
          "one memory holds one chain, open or not");
    check(bitmc_open_init(&other, 0, 2, 0, NULL, memory, sizeof memory, words, 1, 0.0f, zeros, 0) == BITMC_STATUS_COUNT &&
              bitmc_open_init(&other, 8, 1, 0, NULL, memory, sizeof memory, words, 1, 0.0f, zeros, 8) == BITMC_STATUS_COUNT &&
              bitmc_open_init(&other, 8, 3, 2, NULL, memory, sizeof memory, words, 1, 0.0f, zeros, 8) == BITMC_STATUS_CHOICE &&
              bitmc_open_init(&other, 8, 2, 0, NULL, memory, 64, words, 1, 0.0f, zeros, 8) == BITMC_STATUS_MEMORY &&
              bitmc_open_init(&other, 8, 2, 0, NULL, NULL, 64, words, 1, 0.0f, zeros, 8) == BITMC_STATUS_NULL &&
              bitmc_open_init(&other, 8, 2, 0, NULL, memory, sizeof memory, words, 2, 0.0f, zeros, 8) == BITMC_STATUS_STATE &&
              bitmc_open_init(&other, 8, 2, 0, NULL, memory, sizeof memory, words, 1, 0.0f, zeros, 9) == BITMC_STATUS_GRADIENT &&
              bitmc_open_init(&other, 8, 2, 0, NULL, within.bytes, sizeof within, within.words, 1, 0.0f, zeros, 8) ==
                  BITMC_STATUS_OVERLAP &&
              bitmc_open_init(&other, 8, 2, 0, NULL, within.bytes, sizeof within, words, 1, 0.0f, within.numbers + 100, 8) ==
                  BITMC_STATUS_OVERLAP &&
              bitmc_open_bytes(0, 2, 0) == 0 && bitmc_open_bytes(8, 3, 2) == 0,
          "open chains of wrong sites, memory, states and gradients");
    words[0] = 0;
    check(!bitmc_open_init(&other, 8, 3, BITMC_ORDINAL, arities, other_memory, sizeof other_memory, words, 1, 0.0f, zeros, 8) &&
              (words[0] = 2, bitmc_open_restart(&other, words, 1, 0.0f, zeros, 8)) == BITMC_STATUS_STATE &&
              (arities[2] = 4, words[0] = 0,
               bitmc_open_init(&other, 8, 3, BITMC_ORDINAL, arities, other_memory, sizeof other_memory, words, 1, 0.0f, zeros, 8)) ==
                  BITMC_STATUS_COUNT,
          "sites of other numbers of values");
    check(!bitmc_open_init(&other, 1, 70, BITMC_CATEGORICAL, NULL, other_memory, sizeof other_memory, words, 1, 0.0f, many, 70) &&
              !bitmc_rng_init(&still, 8, 0) && bitmc_open_ask(&other, &sampler, NULL, 0, &still, &y) == BITMC_STATUS_GRADIENT &&
              unmoved(&still, 8) && !bitmc_open_ask(&other, &sampler, many, 70, &rng, &y) &&
              !bitmc_open_tell(&other, 0.0f, many, 70, &info),
          "categories of many values are given their gradient");
    check(open_up(&sampler) && !bitmc_open_rebind(&open_chain, 0.0f, NULL, 0) &&
              bitmc_open_ask(&open_chain, &sampler, NULL, 0, &rng, &y) == BITMC_STATUS_GRADIENT &&
              !bitmc_open_ask(&open_chain, &sampler, zeros, 8, &rng, &y),
          "a state whose gradient was not told");
    check(bitmc_own_init(&model, 2, 65, 0, nothing, NULL, no_slopes, NULL) == BITMC_STATUS_GRADIENT &&
              !bitmc_own_init(&model, 2, 64, 0, nothing, NULL, no_slopes, NULL) &&
              !bitmc_own_init(&model, 2, 65, 1, nothing, NULL, no_slopes, NULL),
          "categories of many values whose gradient is told at once");
}

static void changed_fields(void) {
    static unsigned char linear[2][256], other_couplings[1024], elsewhere[1024];
    static union {
        float numbers[64];
        unsigned char bytes[256];
    } within;
    const float more[8] = {0.1f, 0.05f}, most[8] = {1e9f}, nan[8] = {NAN};
    uint32_t word, before, held[1] = {255};
    float energy;
    bitmc_model now, then, own;
    memset(&now, 0, sizeof now), memset(&then, 0, sizeof then);
    check(set_up() && bitmc_model_linear_bytes(&model) == 127 && bitmc_model_linear_bytes(&now) == 0 &&
              bitmc_model_with_linear(&now, &model, more, 7, linear[0], sizeof linear[0]) == BITMC_STATUS_COUNT &&
              bitmc_model_with_linear(&now, &model, NULL, 8, linear[0], sizeof linear[0]) == BITMC_STATUS_NULL &&
              bitmc_model_with_linear(&now, &model, more, 8, linear[0], 20) == BITMC_STATUS_MEMORY &&
              bitmc_model_with_linear(&now, &now, more, 8, linear[0], sizeof linear[0]) == BITMC_STATUS_NOT_READY &&
              bitmc_model_with_linear(&now, &model, most, 8, linear[0], sizeof linear[0]) == BITMC_STATUS_SCALE &&
              bitmc_model_with_linear(&now, &model, nan, 8, linear[0], sizeof linear[0]) == BITMC_STATUS_NOT_FINITE,
          "fields of another number, or that do not fit");
    check(bitmc_model_with_linear(&model, &model, more, 8, linear[0], sizeof linear[0]) == BITMC_STATUS_OVERLAP &&
              bitmc_model_with_linear(&now, &model, more, 8, couplings + 600, 256) == BITMC_STATUS_OVERLAP &&
              bitmc_model_with_linear(&now, &model, within.numbers, 8, within.bytes, sizeof within) == BITMC_STATUS_OVERLAP,
          "a model in its own place, in that of its base, in its fields");
    check(set_up() && !bitmc_own_init(&own, 8, 2, 0, nothing, NULL, NULL, NULL) &&
              bitmc_model_with_linear(&now, &own, more, 8, linear[0], sizeof linear[0]) == BITMC_STATUS_SAMPLER &&
              bitmc_model_linear_bytes(&own) == 0,
          "fields of an energy of the caller's");
    check(set_up() && look(&before, &energy) && !bitmc_model_with_linear(&now, &model, more, 8, linear[0], sizeof linear[0]) &&
              look(&word, &energy) && !bitmc_chain_clamp(&chain, held, 1) && !bitmc_chain_rebind(&chain, &now) &&
              look(&word, &energy) && word == before && !bitmc_chain_run(&chain, &gibbs, &rng, 5, NULL) && look(&word, &energy) &&
              word == before,
          "a chain goes on at its state, and what is held is held");
    check(!bitmc_model_with_linear(&then, &now, fields, 8, linear[1], sizeof linear[1]) && !bitmc_chain_rebind(&chain, &then) &&
              !bitmc_model_with_linear(&now, &then, more, 8, linear[0], sizeof linear[0]) && look(&word, &energy) &&
              !bitmc_chain_rebind(&chain, &now) && !bitmc_chain_rebind(&chain, &model),
          "fields after fields");
    check(set_up() && !bitmc_model_with_linear(&now, &model, more, 8, linear[0], sizeof linear[0]) &&
              !bitmc_chain_rebind(&chain, &now) && !bitmc_model_with_linear(&now, &model, more, 8, linear[0], sizeof linear[0]) &&
              not_ready() && !bitmc_chain_rebind(&chain, &now) && look(&word, &energy) &&
              bitmc_model_with_linear(&now, &model, nan, 8, linear[0], sizeof linear[0]) == BITMC_STATUS_NOT_FINITE &&
              not_ready() && bitmc_chain_rebind(&chain, &now) == BITMC_STATUS_NOT_READY &&
              !bitmc_model_with_linear(&now, &model, more, 8, linear[0], sizeof linear[0]) && !bitmc_chain_rebind(&chain, &now) &&
              look(&word, &energy),
          "a model made again under its chain, which goes on over it");
    check(!bitmc_ising_init(&model, 0, ring, 8, fields, 8, couplings, sizeof couplings) && not_ready() &&
              bitmc_chain_rebind(&chain, &now) == BITMC_STATUS_NOT_READY,
          "a model whose base was made again");
    check(set_up() && !bitmc_ising_init(&then, 0, ring, 4, fields, 7, other_couplings, sizeof other_couplings) &&
              bitmc_chain_rebind(&chain, &then) == BITMC_STATUS_COUNT &&
              !bitmc_own_init(&own, 8, 2, 0, nothing, NULL, NULL, NULL) &&
              bitmc_chain_rebind(&chain, &own) == BITMC_STATUS_ENERGY && look(&word, &energy) &&
              bitmc_chain_rebind(&chain, NULL) == BITMC_STATUS_NULL,
          "other sites, an energy of NaN");
    check(set_up() && !bitmc_ising_init(&then, 0, ring, 8, fields, 8, elsewhere, sizeof elsewhere) &&
              (memset(&model, 0, sizeof model), bitmc_chain_rebind(&chain, &then)) == BITMC_STATUS_NOT_READY,
          "a chain whose model is gone");
}

static void checks(void) {
    static unsigned char check_memory[2048];
    uint32_t words[3] = {1, 2, 256};
    bitmc_checked saw;
    bitmc_model own, none;
    memset(&none, 0, sizeof none);
    saw.wrong = BITMC_WRONG_SIGN;
    check(set_up() && bitmc_check(&none, words, 1, check_memory, sizeof check_memory, &saw) == BITMC_STATUS_NOT_READY &&
              bitmc_check(&model, words, 0, check_memory, sizeof check_memory, &saw) == BITMC_STATUS_COUNT &&
              bitmc_check(&model, NULL, 1, check_memory, sizeof check_memory, &saw) == BITMC_STATUS_NULL &&
              bitmc_check(&model, words, 3, check_memory, sizeof check_memory, &saw) == BITMC_STATUS_STATE &&
              bitmc_check(&model, words, 2, check_memory, 64, &saw) == BITMC_STATUS_MEMORY &&
              bitmc_check(&model, words, 2, couplings, sizeof couplings, &saw) == BITMC_STATUS_OVERLAP &&
              bitmc_check(&model, (uint32_t *)(void *)check_memory, 2, check_memory, sizeof check_memory, &saw) ==
                  BITMC_STATUS_OVERLAP &&
              saw.wrong == BITMC_WRONG_SIGN && bitmc_check_bytes(&none) == 0 &&
              !bitmc_check(&model, words, 2, check_memory, sizeof check_memory, NULL),
          "a check of no model, of no states, in no memory");
    check(!bitmc_own_init(&own, 8, 2, 0, nothing, NULL, NULL, NULL) &&
              bitmc_check(&own, words, 1, check_memory, sizeof check_memory, &saw) == BITMC_STATUS_ENERGY,
          "a check of an energy of NaN");
    check(set_up() && !bitmc_check(&model, words, 1, memory, sizeof memory, NULL) && not_ready(),
          "a check in the memory of a chain, which is not ready any more");
}

static void changed_rows(void) {
    const uint32_t ends[2] = {1, 2};
    const bitmc_entry pair[2] = {{1, 5}, {0, 5}};
    int32_t linear[2] = {0, 0}, sure[2] = {1 << 24, -(1 << 24)}, most[2] = {INT32_MIN, 0}, drawn[2];
    uint32_t words[1] = {0}, flips[1];
    bitmc_quantised quantised;
    bitmc_quantised_langevin jumps;
    memset(&quantised, 0, sizeof quantised);
    check(bitmc_quantised_set_linear(&quantised, linear, 2) == BITMC_STATUS_NOT_READY &&
              !bitmc_quantised_init(&quantised, ends, pair, 2, linear, 2, words, 1, drawn, 2) &&
              bitmc_quantised_set_linear(&quantised, sure, 1) == BITMC_STATUS_COUNT &&
              bitmc_quantised_set_linear(&quantised, NULL, 2) == BITMC_STATUS_NULL &&
              bitmc_quantised_set_linear(&quantised, most, 2) == BITMC_STATUS_SCALE &&
              bitmc_quantised_set_linear(&quantised, drawn, 2) == BITMC_STATUS_OVERLAP &&
              !bitmc_quantised_set_linear(&quantised, sure, 2) && !bitmc_quantised_sweep(&quantised, &rng, 0, 2, NULL) &&
              words[0] == 1,
          "another b of a chain without floats");
    words[0] = 2;
    check(!bitmc_quantised_langevin_init(&jumps, ends, pair, 2, linear, 2, 5, words, flips, 1, drawn, 2) &&
              bitmc_quantised_langevin_set_linear(&jumps, drawn, 2) == BITMC_STATUS_OVERLAP &&
              bitmc_quantised_langevin_set_linear(&jumps, (int32_t *)(void *)flips, 1) == BITMC_STATUS_OVERLAP &&
              bitmc_quantised_langevin_set_linear(&jumps, most, 2) == BITMC_STATUS_SCALE &&
              !bitmc_quantised_langevin_set_linear(&jumps, sure, 2) &&
              !bitmc_quantised_langevin_step(&jumps, &rng, NULL, NULL) && words[0] == 1,
          "the same of DMALA");
}

/* Numbers that stand for a choice, and one status for each thing that may be wrong with a number. */
static void choices(void) {
    static unsigned char open_room[2048];
    static const float weight[1] = {1.0f}, zero[8] = {0.0f};
    const float huge[1] = {1e30f}, none[1] = {NAN}, betas[2] = {1.0f, 0.5f};
    uint32_t words[1] = {0};
    bitmc_model it;
    bitmc_open open;
    bitmc_sampler sampler;
    bitmc_ladder ladder;
    int distinct = 1;
    memset(&it, 0, sizeof it), memset(&open, 0, sizeof open), memset(&sampler, 0, sizeof sampler);
    memset(&ladder, 0, sizeof ladder);
    for (uint32_t wrong = 2; wrong; wrong <<= 1)
        check(bitmc_langevin_init(&sampler, 0.5f, wrong) == BITMC_STATUS_CHOICE &&
                  bitmc_own_init(&it, 8, 2, wrong, nothing, NULL, NULL, NULL) == BITMC_STATUS_CHOICE &&
                  bitmc_own_init(&it, 8, 3, wrong, nothing, NULL, NULL, NULL) == BITMC_STATUS_CHOICE &&
                  bitmc_open_init(&open, 8, 2, wrong, NULL, open_room, sizeof open_room, words, 1, 0.0f, zero, 8) ==
                      BITMC_STATUS_CHOICE &&
                  bitmc_open_bytes(8, 2, wrong) == 0 && bitmc_open_bytes(8, 3, wrong) == 0 &&
                  bitmc_ising_init(&it, wrong + 1, NULL, 0, fields, 8, room, sizeof room) == BITMC_STATUS_CHOICE,
              "a choice that is none");
    check(!bitmc_langevin_init(&sampler, 0.5f, 0) && !bitmc_langevin_init(&sampler, 0.5f, 1) &&
              !bitmc_own_init(&it, 8, 2, BITMC_ORDINAL, nothing, NULL, NULL, NULL),
          "choices that there are");
    check(bitmc_rbm_init(&it, none, weight, 1, weight, 1, room, sizeof room) == BITMC_STATUS_NOT_FINITE &&
              bitmc_rbm_init(&it, weight, none, 1, weight, 1, room, sizeof room) == BITMC_STATUS_NOT_FINITE &&
              bitmc_rbm_init(&it, weight, weight, 1, none, 1, room, sizeof room) == BITMC_STATUS_NOT_FINITE &&
              bitmc_rbm_init(&it, huge, huge, 1, weight, 1, room, sizeof room) == BITMC_STATUS_SCALE &&
              bitmc_rbm_init(&it, huge, weight, 0, weight, 1, room, sizeof room) == BITMC_STATUS_COUNT,
          "weights that are no numbers, or too large");
    check(bitmc_ladder_init(&ladder, betas, 2, room, sizeof room) == BITMC_STATUS_ARGUMENT &&
              bitmc_ladder_init(&ladder, betas, 1, room, sizeof room) == BITMC_STATUS_COUNT,
          "temperatures that do not rise, or a single one");
    for (uint32_t one = 0; one <= BITMC_STATUS_SCALE; one++)
        for (uint32_t other = 0; other < one; other++)
            distinct &= strcmp(bitmc_status_text(one), bitmc_status_text(other)) != 0;
    check(distinct && strcmp(bitmc_status_text(BITMC_STATUS_SCALE + 1), "no such status") == 0, "texts");
}

int main(void) {
    choices();
    bad_input();
    overlaps();
    leftovers();
    refusals();
    changed_models();
    within_callbacks();
    within_exchange();
    unsaved();
    refused_again();
    numbers();
    alignment();
    asked_and_told();
    changed_fields();
    checks();
    changed_rows();
    printf("%d failed\n", failures);
    return failures != 0;
}
