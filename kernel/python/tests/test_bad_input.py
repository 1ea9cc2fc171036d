"""Bad input: each is a Python exception whose text names the argument. No panic, no abort."""

import copy
import pathlib
import pickle
import re

import numpy as np
import pytest

import bitmc

GOOD = np.array([[0.0, 1.0], [1.0, 0.0]])
NAN = np.array([[0.0, np.nan], [np.nan, 0.0]])


def model():
    return bitmc.ising(GOOD)


def f(x):
    return np.zeros(len(x)), np.zeros(x.shape)


CASES = [
    ("J", lambda: bitmc.ising("text")),
    ("J", lambda: bitmc.ising(None)),
    ("J", lambda: bitmc.ising(np.zeros(4))),
    ("J", lambda: bitmc.ising(np.zeros((2, 3)))),
    ("J", lambda: bitmc.ising([[0, 1], [1]])),
    ("J", lambda: bitmc.ising(1j * GOOD)),
    ("J", lambda: bitmc.ising([[0, 1], [2, 0]])),
    ("J", lambda: bitmc.ising(np.eye(2))),
    ("J", lambda: bitmc.ising(NAN)),
    ("J", lambda: bitmc.ising(1e300 * GOOD)),
    ("J", lambda: bitmc.ising(3e38 * (np.ones((4, 4)) - np.eye(4)))),
    ("J", lambda: bitmc.ising(([[0, 1, 2]], [1.0]))),
    ("J", lambda: bitmc.ising(([[0, -1]], [1.0]))),
    ("J", lambda: bitmc.ising(([[0, 0.5]], [1.0]))),
    ("J", lambda: bitmc.ising(([[0, 1]], [1.0, 2.0]))),
    ("J", lambda: bitmc.ising(([[0, 1], [1, 0]], [1.0, 2.0]))),
    ("J", lambda: bitmc.ising(([[0, 5]], [1.0]), [0.0, 0.0])),
    ("J", lambda: bitmc.ising({("a", "b"): 1.0})),
    ("J", lambda: bitmc.ising(np.zeros((0, 0)))),
    ("h", lambda: bitmc.ising(GOOD, [0.0, 0.0, 0.0])),
    ("h", lambda: bitmc.ising(GOOD, [0.0, np.inf])),
    ("h", lambda: bitmc.ising(GOOD, ["a", "b"])),
    ("h", lambda: bitmc.ising(GOOD, np.ma.masked_array([0.0, 1.0], [0, 1]))),
    ("J", lambda: bitmc.ising({(0, 2**31 - 2): 1.0})),
    ("sites", lambda: bitmc.ising({(0, 1): 1.0}, sites=2**31 - 1)),
    ("sites", lambda: bitmc.ising({(0, 1): 1.0}, sites=-1)),
    ("sites", lambda: bitmc.ising(GOOD, sites=3)),
    ("Q", lambda: bitmc.qubo(np.zeros((2, 2, 2)))),
    ("linear", lambda: bitmc.qubo(GOOD, [1.0])),
    ("arity", lambda: bitmc.potts(GOOD, 1)),
    ("arity", lambda: bitmc.potts(GOOD, 2.5)),
    ("fields", lambda: bitmc.potts(GOOD, 3, np.zeros((2, 2)))),
    ("W", lambda: bitmc.rbm(np.zeros(3))),
    ("a", lambda: bitmc.rbm(np.zeros((2, 3)), np.zeros(3))),
    ("b", lambda: bitmc.rbm(np.zeros((2, 3)), None, np.zeros(2))),
    ("W", lambda: bitmc.rbm(np.zeros((0, 3)))),
    ("arities", lambda: bitmc.factors([], [])),
    ("arities", lambda: bitmc.factors([0, 2], [])),
    ("arities", lambda: bitmc.factors(3, [])),
    ("arities", lambda: bitmc.factors([3.0], [])),
    ("tables", lambda: bitmc.factors([2, 2], {(0, 1): [1.0]})),
    ("start", lambda: bitmc.Chains(2, chains=1, start=np.zeros((1, 2)))),
    ("tables", lambda: bitmc.factors([2, 2], [([0, 1], [1.0])])),
    ("tables", lambda: bitmc.factors([2, 2], [([0, 7], [1.0, 1.0])])),
    ("tables", lambda: bitmc.factors([2, 2], [([0], [1.0, -1.0])])),
    ("tables", lambda: bitmc.factors([2, 2], [3])),
    ("tables", lambda: bitmc.factors([2] * 4, [(range(4), np.ones((2, 2, 2, 2)))])),
    ("A", lambda: bitmc.gaussian([[1.0, 2.0], [0.0, 1.0]], [0.0, 0.0], 3)),
    ("mean", lambda: bitmc.gaussian(GOOD, [[0.0]], 3)),
    ("X", lambda: bitmc.logistic([1.0, 2.0], [0, 1])),
    ("y", lambda: bitmc.logistic([[1.0], [2.0]], [0, 2])),
    ("y", lambda: bitmc.logistic([[1.0], [2.0]], [0])),
    ("prior", lambda: bitmc.logistic([[1.0], [2.0]], [0, 1], [1.0, 2.0])),
    ("terms", lambda: bitmc.polynomial(3)),
    ("terms", lambda: bitmc.polynomial({(0, -1): 1.0})),
    ("terms", lambda: bitmc.polynomial({(0, 1): np.nan})),
    ("terms", lambda: bitmc.polynomial([(0, 1)])),
    ("terms", lambda: bitmc.polynomial({(0, 5): 1.0}, sites=3)),
    ("terms", lambda: bitmc.polynomial({})),
    ("terms", lambda: bitmc.polynomial({0: 1.0})),
    ("path", lambda: bitmc.read(3)),
    ("known", lambda: model().given({5: 0})),
    ("known", lambda: model().given({0: 2})),
    ("known", lambda: model().given([0])),
    ("model", lambda: bitmc.sample(GOOD)),
    ("draws", lambda: bitmc.sample(model(), draws=0)),
    ("draws", lambda: bitmc.sample(model(), draws=1.5)),
    ("chains", lambda: bitmc.sample(model(), chains=-1)),
    ("warmup", lambda: bitmc.sample(model(), warmup=2**64)),
    ("thin", lambda: bitmc.sample(model(), thin=0)),
    ("seed", lambda: bitmc.sample(model(), seed=-1)),
    ("temperature", lambda: bitmc.sample(model(), temperature=0)),
    ("temperature", lambda: bitmc.sample(model(), temperature="hot")),
    ("temperature", lambda: bitmc.sample(model(), temperature="2")),
    ("temperature", lambda: bitmc.sample(model(), temperature=True)),
    ("progress", lambda: bitmc.sample(model(), progress="x")),
    ("progress", lambda: bitmc.log_z(model(), progress=1)),
    ("progress", lambda: bitmc.anneal(model(), sweeps=1, progress=None)),
    ("A", lambda: bitmc.gaussian([[1.0]], [0.0, 0.0], 4)),
    ("terms", lambda: bitmc.polynomial({(): 1.0})),
    ("seconds", lambda: bitmc.sample(model(), seconds="5")),
    ("sampler", lambda: bitmc.sample(model(), sampler="metropolis")),
    ("sampler", lambda: bitmc.sample(model(), sampler=None)),
    ("seconds", lambda: bitmc.sample(model(), seconds=float("nan"))),
    ("threads", lambda: bitmc.sample(model(), threads=-2)),
    ("checkpoint", lambda: bitmc.sample(model(), checkpoint=1)),
    ("sampler", lambda: bitmc.sample(model(), sampler="langevin:-1")),
    ("sampler", lambda: bitmc.sample(model(), sampler="block-gibbs")),
    ("k", lambda: bitmc.sample(model(), draws=1, warmup=0).best(-1)),
    ("seconds", lambda: bitmc.anneal(model(), seconds=1, sweeps=1)),
    ("temperatures", lambda: bitmc.anneal(model(), sweeps=1, temperatures=(1, 2))),
    ("temperatures", lambda: bitmc.anneal(model(), sweeps=1, temperatures=1)),
    ("temperatures", lambda: bitmc.anneal(model(), sweeps=1, temperatures=(1.4, 1), method="exchange")),
    ("window", lambda: bitmc.Chains(4, chains=3, window=3)),
    ("window", lambda: bitmc.Chains(4, arity=3, window=1)),
    ("reads", lambda: bitmc.anneal(model(), reads=0)),
    ("method", lambda: bitmc.anneal(model(), sweeps=1, method="tabu")),
    ("method", lambda: bitmc.anneal(model(), sweeps=1, method=None)),
    ("target", lambda: bitmc.anneal(model(), sweeps=1, target=np.nan)),
    ("ladder", lambda: bitmc.replica_exchange(model(), ladder=[1.0])),
    ("ladder", lambda: bitmc.replica_exchange(model(), ladder=[1.0, 2.0])),
    ("ladder", lambda: bitmc.replica_exchange(model(), ladder=[2.0, np.nan])),
    ("ladder", lambda: bitmc.replica_exchange(model(), ladder=np.linspace(9, 1, 40))),
    ("ladder", lambda: bitmc.replica_exchange(model(), ladder="hot")),
    ("temperature", lambda: bitmc.replica_exchange(model(), ladder=[2.0, 1.0], temperature=1.0)),
    ("temperature", lambda: bitmc.replica_exchange(model(), temperature=0)),
    ("model", lambda: bitmc.replica_exchange(GOOD)),
    ("sampler", lambda: bitmc.sample(model(), sampler="exchange:0.2:0.5")),
    ("runs", lambda: bitmc.log_z(model(), runs=1)),
    ("temperatures", lambda: bitmc.log_z(model(), temperatures=0)),
    ("method", lambda: bitmc.log_z(model(), method="exact")),
    ("population", lambda: bitmc.log_z(model(), population=100)),
    ("population", lambda: bitmc.log_z(model(), method="population", population=1)),
    ("runs", lambda: bitmc.log_z(model(), method="population", runs=10)),
    ("base", lambda: bitmc.log_z(model(), base=[0])),
    ("base", lambda: bitmc.log_z(model(), base=np.zeros((0, model().sites)))),
    ("base", lambda: bitmc.log_z(model(), base=np.full((4, model().sites), 0.5))),
    ("base", lambda: bitmc.log_z(model(), base=np.full((4, model().sites), 2))),
    ("f", lambda: bitmc.langevin(None, 3)),
    ("f", lambda: bitmc.langevin(lambda x: 3, 3)),
    ("f", lambda: bitmc.langevin(lambda x: (np.zeros(len(x)), None), 3)),
    ("energies", lambda: bitmc.langevin(lambda x: (np.zeros(3), np.zeros(x.shape)), 3)),
    ("gradients", lambda: bitmc.langevin(lambda x: (np.zeros(len(x)), np.zeros(3)), 3)),
    ("energies", lambda: bitmc.langevin(lambda x: (np.full(len(x), np.nan), np.zeros(x.shape)), 3)),
    ("step_size", lambda: bitmc.langevin(f, 3, step_size=-1.0)),
    ("step_size", lambda: bitmc.langevin(f, 3, cycle=4, step_size=1.0)),
    ("step_size", lambda: bitmc.langevin(f, 3, step_size=1e-45)),
    ("step_size", lambda: bitmc.langevin(f, 3, cycle=3, step_size=(2, 1))),
    ("balance", lambda: bitmc.langevin(f, 3, balance=2.0)),
    ("gradients", lambda: bitmc.langevin(lambda x: (np.zeros(len(x)), -x), 3)),
    ("energies", lambda: bitmc.langevin(lambda x: (-x.sum(axis=1), np.zeros(x.shape)), 3)),
    ("energies", lambda: bitmc.langevin(lambda x: (0.0, np.zeros(x.shape)), 3)),
    ("sites", lambda: bitmc.Chains(10**8, chains=10**6)),
    ("order", lambda: bitmc.langevin(f, 3, order=3)),
    ("cycle", lambda: bitmc.langevin(f, 3, order=2, cycle=4)),
    ("hessian", lambda: bitmc.langevin(f, 3, hessian=np.eye(3))),
    ("hessian", lambda: bitmc.langevin(f, 3, order=2, hessian=np.eye(4))),
    ("hessian", lambda: bitmc.langevin(f, 3, order=2, hessian=np.triu(np.ones((3, 3))))),
    ("hessian", lambda: bitmc.langevin(f, 3, order=2, hessian=[np.nan] * 3)),
    ("hessian", lambda: bitmc.langevin(f, 3, arity=3, order=2)),
    ("arity", lambda: bitmc.langevin(f, 3, arity=70, order=2, hessian=np.zeros(3))),
    ("sites", lambda: bitmc.langevin(f, 2000, order=2)),
    ("sites", lambda: bitmc.langevin(f, 0)),
    ("arity", lambda: bitmc.langevin(f, 3, arity=70000)),
    ("start", lambda: bitmc.langevin(f, 3, start=np.zeros((2, 3)))),
    ("start", lambda: bitmc.langevin(f, 3, start=np.full((64, 3), 2))),
    ("window", lambda: bitmc.langevin(f, 3, window=0)),
    ("sampler", lambda: bitmc.Chains(3, sampler="gibbs")),
    ("sampler", lambda: bitmc.Chains(3, sampler="auto")),
    ("sampler", lambda: bitmc.Chains(3, sampler="cyclical:1")),
    ("f", lambda: bitmc.check(None, [[0, 1]])),
    ("f", lambda: bitmc.check(lambda x: (x.sum(axis=1) * 1.0, np.ones((1, 3))), [[0, 1]])),
    ("states", lambda: bitmc.check(f, [0, 1])),
    ("states", lambda: bitmc.check(f, [[0, 2]])),
    ("tolerance", lambda: bitmc.check(f, [[0, 1]], tolerance=-1.0)),
]


def test_there_are_enough_cases():
    """Thirty at least, of every function that takes arguments."""
    assert len(CASES) >= 30
    source = pathlib.Path(__file__).read_text()
    functions = [name for name in bitmc.__all__ if callable(getattr(bitmc, name)) and name.islower()]
    assert not [name for name in functions if f"bitmc.{name}(" not in source]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_text_names_the_argument(number, capfd):
    name, call = CASES[number]
    with pytest.raises(ValueError) as caught:
        call()
    text = str(caught.value)
    assert re.search(rf"(^|\W){name}( [\"'].*[\"'])?[:,\[]", text), text
    assert "panick" not in text + capfd.readouterr().err


def test_files_are_errors_of_the_system(tmp_path):
    missing = tmp_path / "missing.uai"
    bad = tmp_path / "bad.qubo"
    bad.write_text("p qubo 0 x\n")
    for path in (missing, bad):
        with pytest.raises(OSError) as caught:
            bitmc.read(path)
        assert path.name in str(caught.value)
    with pytest.raises(OSError):
        bitmc.sample(model(), draws=1, warmup=0).save(tmp_path / "no" / "such.npz")


def test_tell_before_ask():
    chains = bitmc.Chains(3, chains=2)
    with pytest.raises(ValueError, match="ask"):
        chains.tell(np.zeros(2), np.zeros((2, 3)))
    chains.ask()
    chains.tell(np.zeros(2), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="ask"):
        chains.tell(np.zeros(2), np.zeros((2, 3)))


def test_a_linear_coefficient_that_another_swallows_is_refused():
    with pytest.raises(ValueError, match="^Q, linear: 1 is lost in 32 bits.*site 0"):
        bitmc.qubo([[-1e8, 2e8], [0, -1e8]], [1.0, 0])
    # Sums are made in 64 bits.
    model = bitmc.qubo(([[0, 0], [0, 0], [0, 0]], [1e8, 1.0, -1e8]))
    assert abs(bitmc.sample(model, draws=2000, seed=1).means[0] - 1 / (1 + np.e)) < 0.02
    model = bitmc.qubo(np.array([[0.0, 1e8 + 1], [-1e8, 0.0]]))
    assert abs(bitmc.sample(model, draws=4000, seed=1).states.all(axis=2).mean() - 1 / (3 * np.e + 1)) < 0.02


def test_arguments_that_say_nothing_are_refused():
    def f(x):
        return x.sum(axis=1), np.ones(x.shape)

    for name, arguments in [
        ("balance", {"cycle": 4, "balance": 0.9}),
        ("balance", {"order": 2, "balance": 0.9}),
        ("window", {"window": 2}),
        ("ordinal", {"ordinal": "no"}),
    ]:
        with pytest.raises(ValueError, match=f"^{name}: "):
            bitmc.langevin(f, 3, **arguments)
    with pytest.raises(ValueError, match="^spins: "):
        bitmc.polynomial({(0,): 1.0}, spins="no")
    with pytest.raises(ValueError, match="^tables: "):
        bitmc.factors([2], None)
    with pytest.raises(ValueError, match=r"^terms\[0\]: "):
        bitmc.polynomial("ab")


def test_pickles_say_what_to_do_instead():
    samples = bitmc.sample(model(), draws=2, chains=1, warmup=0, sampler="gibbs")
    for one in (model(), samples, bitmc.Chains(3, chains=1)):
        with pytest.raises(TypeError, match="cannot be pickled: "):
            pickle.dumps(one)
    same = model()
    assert copy.copy(same) is same and copy.deepcopy(same) is same


def test_energies_too_large_for_32_bits_are_told():
    with pytest.warns(bitmc.SamplingWarning, match="subtract a constant"):
        bitmc.langevin(lambda x: (1e9 + x.sum(axis=1, dtype=float), np.ones(x.shape)), 3, draws=2, warmup=2)


def test_edges_may_be_none():
    assert bitmc.ising(([], []), [1.0, 2.0]).sites == 2


def test_a_start_that_is_forbidden_names_the_argument_that_gives_others():
    def never(x):
        return np.full(len(x), np.inf), np.zeros(x.shape)

    with pytest.raises(ValueError, match="infinite energy.*the argument `start`"):
        bitmc.langevin(never, sites=3, chains=2)


def test_sparse_matrices_that_are_not_numbers_say_so():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="a finite number"):
        bitmc.ising(sparse.csr_matrix([[0, np.nan], [np.nan, 0]]))
    with pytest.raises(ValueError, match="outcomes: at least one"):
        bitmc.logistic(np.zeros((0, 2)), [])


def test_unsigned_numbers_that_wrap_around_are_refused():
    """``2 * x - 1`` of uint8 is 255 at 0: the distribution would be another one, without a word."""

    def wrong(x):
        s = 2 * x - 1
        return -(s * 0.3).sum(axis=1), np.full(x.shape, -0.6)

    def right(x):
        return wrong(x.astype(float))

    with pytest.raises(ValueError, match="wrapped around"):
        bitmc.langevin(wrong, 12, draws=10)
    with pytest.raises(ValueError, match="when it is called again"):
        bitmc.langevin(lambda x: (np.random.random(len(x)), right(x)[1]), 12, draws=10)
    assert bitmc.langevin(right, 12, draws=10).states.shape == (64, 10, 12)

    def choosy(x):  # numbers of one type are all that it takes
        assert x.dtype == np.uint8
        return right(x)

    assert bitmc.langevin(choosy, 12, draws=10).states.shape == (64, 10, 12)

    class Tensor:
        """As one of PyTorch that has a gradient: no array before it is detached."""

        def __init__(self, values):
            self.values = values

        def __array__(self, *_, **__):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")

        def detach(self):
            return self

        def cpu(self):
            return self.values

    for f in (lambda x: (Tensor(wrong(x)[0]), right(x)[1]), lambda x: (Tensor(np.random.random(len(x))), right(x)[1])):
        for call in (lambda: bitmc.langevin(f, 12, draws=10), lambda: bitmc.check(f, np.eye(12, dtype=int))):
            with pytest.raises(ValueError, match="wrapped around|when it is called again"):
                call()
    assert bitmc.langevin(lambda x: (Tensor(right(x)[0]), right(x)[1]), 12, draws=10).states.shape == (64, 10, 12)


def test_numbers_that_wrap_around_away_from_the_start_are_refused():
    def wrong(x):  # 0 - 1 is 255, but no difference is below 0 where chains start
        d = x[:, 1:] - x[:, :-1]
        return (d.astype(float) ** 2).sum(axis=1), np.zeros(x.shape)

    def right(x):
        return wrong(x.astype(float))

    for chains in (1, 5):
        start = np.zeros((chains, 12), int)
        with pytest.raises(ValueError, match="wrapped around"):
            bitmc.langevin(wrong, 12, chains=chains, draws=10, start=start)
        with pytest.raises(ValueError, match="wrapped around"):
            bitmc.check(wrong, start)
        assert bitmc.langevin(right, 12, chains=chains, draws=10, start=start).shape == (chains, 10, 12)


def test_a_run_that_never_moved_or_never_drew_says_so():
    def steep(x):
        return x.sum(axis=1) * 1.0, np.full(x.shape, np.inf)

    with pytest.warns(bitmc.SamplingWarning, match="no proposal was accepted"):
        bitmc.langevin(steep, 12, draws=100, warmup=1000)
    with pytest.warns(bitmc.SamplingWarning, match="no draws"):
        bitmc.langevin(lambda x: (x.sum(axis=1) * 1.0, np.ones(x.shape)), 4, seconds=0.0)


def test_tables_of_factors_may_be_a_mapping():
    weights = [[1.0, 2.0], [3.0, 4.0]]
    mapped, listed = bitmc.factors([2, 2], {(0, 1): weights}), bitmc.factors([2, 2], [((0, 1), weights)])
    run = [bitmc.sample(model, draws=20, chains=2).states for model in (mapped, listed)]
    assert (run[0] == run[1]).all()
