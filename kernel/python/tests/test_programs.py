"""Random models, samplers and settings, against enumeration. ``BITMC_PROGRAMS`` is how many (60), ``BITMC_PROGRAM`` is one alone."""

import os

import numpy as np
import pytest

import bitmc
import exact

LIMIT = 6.5
SAMPLERS = [
    "auto", "gibbs", "block-gibbs", "swendsen-wang", "wolff", "langevin", "langevin:0.4", "balanced", "balanced:0.4:0.6",
    "second-order", "cyclical", "gwg", "gwg:2", "pas:3", "locally-balanced", "hamming-ball", "random-walk", "exchange:0.5:1",
]  # fmt: skip


def floats(rng, scale, *shape):
    """Numbers that float32 has exactly."""
    return rng.normal(0, scale, shape).astype(np.float32).astype(np.float64)


def graph(rng, sites, scale):
    pairs = [(i, j) for i in range(sites) for j in range(i + 1, sites) if rng.random() < 0.7]
    return {pair: float(w) for pair, w in zip(pairs, floats(rng, scale, len(pairs)))}


def ising(rng):
    sites = int(rng.integers(1, 8))
    couplings, fields = graph(rng, sites, 0.6), floats(rng, 0.5, sites)

    def energy(x):
        s = 2.0 * x - 1
        return -sum(w * s[i] * s[j] for (i, j), w in couplings.items()) - fields @ s

    return bitmc.ising(couplings, fields), [2] * sites, energy


def qubo(rng):
    matrix = floats(rng, 1, *2 * [int(rng.integers(1, 8))])
    return bitmc.qubo(matrix), [2] * len(matrix), lambda x: x @ matrix @ x


def potts(rng):
    sites, arity = int(rng.integers(1, 5)), int(rng.integers(2, 6))
    couplings, fields = graph(rng, sites, 0.9), floats(rng, 0.5, sites, arity)

    def energy(x):
        bonds = sum(w for (i, j), w in couplings.items() if x[i] == x[j])
        return -bonds - fields[np.arange(sites), x].sum()

    return bitmc.potts(couplings, arity, fields), [arity] * sites, energy


def rbm(rng):
    visible, hidden = int(rng.integers(1, 8)), int(rng.integers(1, 20))
    w, a, b = floats(rng, 0.8, visible, hidden), floats(rng, 0.5, visible), floats(rng, 0.5, hidden)
    return bitmc.rbm(w, a, b), [2] * visible, lambda x: -a @ x - np.log1p(np.exp(b + x @ w)).sum()


def factors(rng):
    arities = rng.integers(1, 5, int(rng.integers(1, 5)))
    tables = []
    for _ in range(int(rng.integers(1, 5))):
        of = rng.permutation(len(arities))[: int(rng.integers(1, min(3, len(arities)) + 1))]
        tables.append((of, rng.uniform(0.2, 2, arities[of])))

    def energy(x):
        return -sum(np.log(table[tuple(x[of])]) for of, table in tables)

    return bitmc.factors(arities, tables), list(arities), energy


def gaussian(rng):
    sites, arity = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    root, mean = floats(rng, 0.6, sites, sites), floats(rng, 1, sites) + 1
    matrix = (root @ root.T + 0.3 * np.eye(sites)).astype(np.float32).astype(np.float64)
    return bitmc.gaussian(matrix, mean, arity), [arity] * sites, lambda x: 0.5 * (x - mean) @ matrix @ (x - mean)


def logistic(rng):
    rows, sites = int(rng.integers(1, 15)), int(rng.integers(1, 7))
    design, outcomes, prior = floats(rng, 1, rows, sites), rng.random(rows) < 0.5, floats(rng, 0.4, sites)
    signs = np.where(outcomes, 1.0, -1.0)
    model = bitmc.logistic(design, outcomes.astype(int), prior)
    return model, [2] * sites, lambda x: prior @ x + np.log1p(np.exp(-signs * (design @ x))).sum()


def polynomial(rng):
    sites, spins = int(rng.integers(3, 8)), bool(rng.integers(2))
    terms = {(): float(floats(rng, 2, 1)[0])}
    for _ in range(int(rng.integers(1, 8))):
        of = tuple(int(i) for i in np.sort(rng.permutation(sites)[: int(rng.integers(1, 5))]))
        terms[of] = float(floats(rng, 0.8, 1)[0])

    def energy(x):
        values = 2.0 * x - 1 if spins else x
        return sum(w * np.prod([values[i] for i in of]) for of, w in terms.items())

    return bitmc.polynomial(terms, sites=sites, spins=spins), [2] * sites, energy


CLASSES = [ising, qubo, potts, rbm, factors, gaussian, logistic, polynomial]


def drawn(seed):
    """A random model, its arities, and E, which forbids other values than the known ones."""
    rng = np.random.default_rng([seed, 77])
    model, arities, plain = CLASSES[int(rng.integers(len(CLASSES)))](rng)
    known = {i: int(rng.integers(n)) for i, n in enumerate(arities) if rng.random() < 0.15}
    if known:
        model = model.given(known)

    def energy(x):
        return plain(x) if all(x[site] == value for site, value in known.items()) else np.inf

    return rng, model, arities, energy, f"{seed}: {model!r}, known {known}"


def program(seed):
    """Samples of a random model, its arities, E, T, and what it was; None where the sampler is not for the model."""
    rng, model, arities, energy, what = drawn(seed)
    settings = {
        "sampler": SAMPLERS[int(rng.integers(len(SAMPLERS)))],
        "temperature": float(rng.choice([1.0, 0.75, 1.5])),
        "chains": int(rng.choice([20, 32, 37])),
        "thin": [None, 1, 3][int(rng.integers(3))],
        "threads": int(rng.integers(3)),
        "seed": seed,
    }
    what = f"{what}, {settings}"
    try:
        return bitmc.sample(model, draws=800, warmup=400, **settings), arities, energy, settings["temperature"], what
    except ValueError as refused:
        # A sampler may not be made for a model: then it is named.
        assert settings["sampler"] != "auto" and settings["sampler"].split(":")[0] in str(refused), f"{what}: {refused}"
        return None


def distance(samples, means):
    """As exact.distance, but an error is never below the rounding of energies."""
    chains = np.concatenate([samples.states.mean(axis=1), samples.energy.mean(axis=1)[:, None]], axis=1)
    error = chains.std(axis=0, ddof=1) / np.sqrt(len(chains))
    return (np.abs(chains.mean(axis=0) - means) / np.maximum(error, 1e-5)).max()


def seeds():
    one = os.environ.get("BITMC_PROGRAM")
    return [int(one)] if one else range(int(os.environ.get("BITMC_PROGRAMS", "60")))


def test_random_programs():
    done = seen = possible = 0
    for seed in seeds():
        ran = program(seed)
        if ran is None:
            continue
        samples, arities, energy, temperature, what = ran
        done += 1
        off = distance(samples, exact.means(arities, energy, temperature))
        assert off < LIMIT, f"{what}: {off} errors"
        for chain, draw in [(0, 0), (samples.shape[0] - 1, 799)]:
            assert samples.energy[chain, draw] == pytest.approx(energy(samples.states[chain, draw]), abs=2e-4), what
        # Negative control: another temperature, where there is more than one state.
        possible += samples.energy.std() > 0.3
        seen += distance(samples, exact.means(arities, energy, 1.4 * temperature)) > LIMIT
    if len(seeds()) > 1:
        assert done > 0.5 * len(seeds()) and seen > 0.7 * possible > 0, (done, seen, possible)


def test_random_normalising_constants():
    blind = 0
    for seed in seeds():
        rng, model, arities, energy, what = drawn(seed)
        temperature, population = float(rng.choice([1.0, 0.75, 1.5])), bool(rng.integers(2))
        ways = {"method": "population", "population": 1000} if population else {"runs": 100, "temperatures": 200}
        found = bitmc.log_z(model, temperature=temperature, seed=seed, **ways)
        truth = exact.log_z(arities, lambda x: energy(x) / temperature)
        error = max(found.error, 1e-4)
        assert abs(found.log_z - truth) < 6 * error, f"{what}, {ways}, T {temperature}: {found}, exactly {truth}"
        # Negative control: half a nat.
        blind += abs(found.log_z + 0.5 - truth) < 6 * error
    assert blind < 0.3 * len(seeds()), blind


def test_random_minima():
    for seed in seeds():
        rng, model, arities, energy, what = drawn(seed)
        # Any run may end in another minimum than the least one.
        method, ways = [("annealing", {"reads": 20, "sweeps": 200}), ("exchange", {"sweeps": 4000})][int(rng.integers(2))]
        found = bitmc.anneal(model, method=method, seed=seed, **ways)
        least = min(energy(x) for x in exact.states(arities))
        best = int(np.argmin(found.energies))
        assert found.energies[best] == pytest.approx(least, abs=2e-4), f"{what}, {method}"
        assert energy(found.states[best]) == pytest.approx(least, abs=2e-4), f"{what}, {method}"
