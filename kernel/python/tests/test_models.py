"""Each model against enumeration, and against the enumeration of a wrong model, which the same test rejects."""

import numpy as np
import pytest

import bitmc
import exact

LIMIT = 5.5

rng = np.random.default_rng(7)
N = 5
J = np.triu(rng.normal(0, 0.6, (N, N)), 1)
J = (J + J.T).astype(np.float32).astype(np.float64)
H = rng.normal(0, 0.4, N).astype(np.float32).astype(np.float64)
Q = rng.normal(0, 1, (N, N)).astype(np.float32).astype(np.float64)
W = rng.normal(0, 1, (N, 3)).astype(np.float32).astype(np.float64)
B = np.array([0.3, -0.2, 0.5])
FIELDS = rng.normal(0, 0.5, (4, 3))
COUPLED = {(0, 1): 0.8, (1, 2): -0.7, (2, 3): 0.5, (0, 3): 0.4}
PAIR = np.array([[1.0, 2.0, 0.5], [3.0, 0.0, 1.0]])
TRIPLE = rng.uniform(0.2, 2, (2, 3, 2))
A = np.array([[0.9, -0.3, 0.0], [-0.3, 0.7, 0.2], [0.0, 0.2, 0.5]])
CENTRE = np.array([1.0, 2.5, 0.7])
X = rng.normal(0, 1, (12, 4))
Y = (rng.uniform(size=12) < 0.5).astype(int)
PRIOR = np.array([0.2, -0.1, 0.4, 0.0])
TERMS = {(0, 1, 2): -1.5, (1, 3): 0.7, (2,): 0.5, (0, 2, 3, 4): 1.2}


def spins(x):
    return 2.0 * x - 1


def log(value):
    return np.log(value) if value > 0 else -np.inf


def table_energy(pair):
    return lambda x: -log(pair[x[0], x[1]]) - log(TRIPLE[x[0], x[1], x[2]])


def logistic_energy(sign):
    def energy(x):
        margins = (2 * Y - 1) * (X @ x)
        return sign * PRIOR @ x + np.log1p(np.exp(-margins)).sum()

    return energy


def polynomial_energy(value, terms=TERMS):
    return lambda x: sum(w * np.prod([value(x)[i] for i in of]) for of, w in terms.items())


def ising_energy(h):
    return lambda x: -0.5 * spins(x) @ J @ spins(x) - h @ spins(x)


def qubo_energy(q):
    return lambda x: x @ q @ x


def potts_energy(fields):
    return lambda x: -sum(w for (i, j), w in COUPLED.items() if x[i] == x[j]) - sum(
        fields[site, value] for site, value in enumerate(x)
    )


def rbm_energy(b):
    return lambda x: -(H @ x) - np.log1p(np.exp(b + x @ W)).sum()


def gaussian_energy(a):
    return lambda x: 0.5 * (x - CENTRE) @ a @ (x - CENTRE)


# A model, its arities, its energy, and one that is wrong in one place.
CASES = {
    "ising": (lambda: bitmc.ising(J, H), [2] * N, ising_energy(H), ising_energy(-H)),
    "qubo": (lambda: bitmc.qubo(Q), [2] * N, qubo_energy(Q), qubo_energy(np.triu(Q))),
    "potts": (lambda: bitmc.potts(COUPLED, 3, FIELDS), [3] * 4, potts_energy(FIELDS), potts_energy(-FIELDS)),
    "rbm": (lambda: bitmc.rbm(W, H, B), [2] * N, rbm_energy(B), rbm_energy(0 * B)),
    "factors": (
        lambda: bitmc.factors([2, 3, 2], [([0, 1], PAIR), ([0, 1, 2], TRIPLE)]),
        [2, 3, 2],
        table_energy(PAIR),
        table_energy(PAIR[:, ::-1]),
    ),
    "gaussian": (lambda: bitmc.gaussian(A, CENTRE, 5), [5] * 3, gaussian_energy(A), gaussian_energy(np.diag(np.diag(A)))),
    "logistic": (lambda: bitmc.logistic(X, Y, PRIOR), [2] * 4, logistic_energy(1), logistic_energy(-3)),
    "polynomial of bits": (
        lambda: bitmc.polynomial(TERMS), [2] * N, polynomial_energy(lambda x: x), polynomial_energy(spins)
    ),
    "polynomial of spins": (
        lambda: bitmc.polynomial(TERMS, spins=True), [2] * N, polynomial_energy(spins), polynomial_energy(lambda x: x)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_means_are_those_of_enumeration(name):
    make, arities, energy, wrong = CASES[name]
    samples = bitmc.sample(make(), draws=4000, chains=16, warmup=200, seed=3)
    assert samples.states.shape == (16, 4000, len(arities))
    assert samples.states.dtype == np.uint8
    np.testing.assert_allclose(samples.means, samples.states.mean(axis=(0, 1)), rtol=1e-12)
    # The energies are those of the states.
    for chain, draw in [(0, 0), (7, 100), (15, 3999)]:
        assert samples.energy[chain, draw] == pytest.approx(energy(samples.states[chain, draw]), abs=1e-4)
    assert exact.distance(samples, exact.means(arities, energy)) < LIMIT
    # Negative control.
    assert exact.distance(samples, exact.means(arities, wrong)) > LIMIT


def test_temperature():
    samples = bitmc.sample(bitmc.ising(J, H), draws=4000, temperature=2.0, seed=5)
    assert exact.distance(samples, exact.means([2] * N, ising_energy(H), 2.0)) < LIMIT
    assert exact.distance(samples, exact.means([2] * N, ising_energy(H), 1.0)) > LIMIT


def test_known_sites():
    samples = bitmc.sample(bitmc.ising(J, H).given({1: 1, 3: 0}), draws=4000, seed=5)
    assert (samples.states[:, :, 1] == 1).all() and (samples.states[:, :, 3] == 0).all()

    def known(x):
        return ising_energy(H)(x) if x[1] == 1 and x[3] == 0 else np.inf

    assert exact.distance(samples, exact.means([2] * N, known)) < LIMIT


def same(a, b):
    one, other = (bitmc.sample(model, draws=50, chains=4, warmup=50, sampler="gibbs") for model in (a, b))
    return np.array_equal(one.states, other.states) and np.array_equal(one.energy, other.energy)


def test_every_form_of_a_matrix_is_the_same_model():
    sparse = pytest.importorskip("scipy.sparse")
    i, j = np.nonzero(np.triu(J))
    edges = (np.stack([i, j], axis=1), J[i, j])
    for other in [sparse.csr_matrix(J), sparse.coo_array(J), edges, dict(zip(zip(i.tolist(), j.tolist()), J[i, j])), J.tolist()]:
        assert same(bitmc.ising(J, H), bitmc.ising(other, H))
    assert same(bitmc.qubo(Q), bitmc.qubo(sparse.csr_matrix(Q)))
    assert same(bitmc.qubo(Q), bitmc.qubo(np.triu(Q) + np.tril(Q, -1).T))
    assert same(bitmc.gaussian(A, CENTRE, 5), bitmc.gaussian(sparse.csr_matrix(A), CENTRE, 5))
    assert not same(bitmc.ising(J, H), bitmc.ising(J, -H))


def test_the_order_of_numbers_in_memory_does_not_matter():
    """Rows or columns first, or a view of every second number."""

    def spaced(array):
        wide = np.zeros(tuple(2 * n for n in array.shape))
        wide[tuple(slice(None, None, 2) for _ in array.shape)] = array
        return wide[tuple(slice(None, None, 2) for _ in array.shape)]

    for kept in (np.asfortranarray, spaced):
        lower = np.tril(Q)
        assert same(bitmc.qubo(lower), bitmc.qubo(kept(lower)))
        assert same(bitmc.potts(COUPLED, 3, FIELDS), bitmc.potts(COUPLED, 3, kept(FIELDS)))
        assert same(bitmc.rbm(W, H, B), bitmc.rbm(kept(W), H, B))
        assert same(bitmc.logistic(X, Y, PRIOR), bitmc.logistic(kept(X), Y, PRIOR))
        tables = [([0, 1], PAIR), ([0, 1, 2], TRIPLE)]
        others = [(sites, kept(table)) for sites, table in tables]
        assert same(bitmc.factors([2, 3, 2], tables), bitmc.factors([2, 3, 2], others))
    assert not same(bitmc.rbm(W[::-1], H, B), bitmc.rbm(W, H, B))


def test_repr_and_properties():
    model = bitmc.factors([2, 300], [([0, 1], np.ones((2, 300)))])
    assert (model.sites, model.arities, model.kind) == (2, [2, 300], "graphical model")
    assert "2 to 300 values" in repr(model)
    assert bitmc.sample(model, draws=10, chains=2, warmup=0).states.dtype == np.uint16
    with pytest.raises(TypeError):
        bitmc.Model()


WIDE = rng.normal(0, 0.4, (6, 40)).astype(np.float32).astype(np.float64)
WIDE_B = rng.normal(0, 0.5, 40).astype(np.float32).astype(np.float64)


def wide_energy(b):
    return lambda x: -np.log1p(np.exp(WIDE.T @ x + b)).sum()


@pytest.mark.parametrize("sampler", ["langevin", "balanced", "langevin:0.3"])
def test_langevin_over_an_rbm_of_many_hidden_units(sampler):
    """There chains ask for their gradients together, from rounded weights; the energies are exact."""
    model = bitmc.rbm(WIDE, None, WIDE_B)
    samples = bitmc.sample(model, draws=600, chains=70, sampler=sampler, thin=2)
    assert exact.distance(samples, exact.means([2] * 6, wide_energy(WIDE_B))) < LIMIT
    assert exact.distance(samples, exact.means([2] * 6, wide_energy(0.8 * WIDE_B))) > LIMIT
    row = samples.states[3, 5].astype(float)
    assert samples.energy[3, 5] == pytest.approx(wide_energy(WIDE_B)(row), abs=1e-3)


def test_chains_of_an_rbm_do_not_depend_on_those_beside_them(tmp_path):
    model = bitmc.rbm(WIDE, None, WIDE_B).given({2: 1})
    settings = {"draws": 100, "sampler": "langevin:0.3", "warmup": 50}
    many = bitmc.sample(model, chains=70, threads=1, **settings)
    assert (many.states[:, :, 2] == 1).all()
    for chains in (1, 9, 20):
        assert np.array_equal(bitmc.sample(model, chains=chains, **settings).states, many.states[:chains])
    path = tmp_path / "run.checkpoint"
    settings = {"draws": 20_000, "sampler": "langevin:0.3", "warmup": 50, "chains": 9}
    bitmc.sample(model, checkpoint=path, seconds=0.05, **settings)
    whole = bitmc.sample(model, **settings)
    assert np.array_equal(bitmc.sample(model, checkpoint=path, **settings).states, whole.states)


def test_a_dictionary_of_keys_is_a_sparse_matrix():
    sparse = pytest.importorskip("scipy.sparse")
    dense = bitmc.sample(bitmc.ising(J, H), draws=50, chains=2)
    keys = bitmc.sample(bitmc.ising(sparse.dok_matrix(J), H), draws=50, chains=2)
    assert np.array_equal(dense.states, keys.states)


def test_a_steep_gaussian_keeps_its_centre():
    # Of the two likely values: P(3) = 1 / (1 + exp(-A (mu - 2.5))). At mu rounded to 2^-14 it is a half.
    centre = float(np.float32(2.50001))
    want = 2 + 1 / (1 + np.exp(-2e4 * (centre - 2.5)))
    site = bitmc.sample(bitmc.gaussian([[2e4]], [centre], 6), draws=2000, chains=32).summary().sites[0]
    assert abs(site["mean"] - want) < LIMIT * site["mcse"] < 0.02 and want > 2.54


def test_what_arrays_lose_in_32_bits_is_warned_of():
    """20,000,001 is 20,000,000 in 32 bits: the probabilities of two states are off by a factor of e."""
    form = bitmc.qubo({(0, 0): -20000001, (1, 1): -20000002, (0, 1): 90000000})
    spins = bitmc.ising({(0, 1): 20000001}, [20000003, 0])
    values = bitmc.potts({(0, 1): 20000001}, 3, [[0, 0, 0], [0, 0, 20000001]])
    machine = bitmc.rbm([[20000001.0]], [-20000001.0], [0.0])
    for model, lost in [(form, 1), (spins, 2), (values, 2), (machine, 2)]:
        with pytest.warns(bitmc.SamplingWarning, match="rounded to 32 bits: energies may be off by up to"):
            summary = bitmc.sample(model, draws=50, chains=2, sampler="gibbs").summary()
        assert summary.rounding == lost
    with pytest.warns(bitmc.SamplingWarning, match="another state may be lower"):
        bitmc.anneal(bitmc.qubo({(0, 0): 20000001, (1, 1): -5}), sweeps=100)
    # What has 32 bits from the start loses nothing.
    exact = bitmc.ising({(0, 1): np.float32(0.1)}, np.float32([0.3, 0.7]))
    assert bitmc.sample(exact, draws=50, chains=2, sampler="gibbs").summary().rounding is None
