"""Any arguments, by Hypothesis: a call returns what its documentation says, or raises ValueError with an argument's name.

``BITMC_ARGUMENTS`` is the number of calls of each function (40).
"""

import copy
import inspect
import os
import re
import signal
import time
from collections import Counter
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import bitmc

CALLS = int(os.environ.get("BITMC_ARGUMENTS", "40"))
J, H = np.array([[0.0, 1, -0.5], [1, 0, 2], [-0.5, 2, 0]]), np.array([0.5, -1, 0])
TABLE = np.array([[1.0, 2, 3], [4, 5, 6]])
POINTS = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 1]])

# Numbers that are legal somewhere, at the ends of something, or no numbers at all.
numbers = st.one_of(
    st.integers(-3, 9),
    st.floats(-4, 4, width=32),
    st.floats(),
    st.sampled_from([2**16, 2**31 - 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**400, 1e-45, 3e38]),
    st.sampled_from([True, np.True_, np.int8(3), np.uint64(2**64 - 1), np.float16(2), Fraction(1, 3), 1j, np.datetime64(1, "s")]),
)
words = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["auto", "gibbs", "langevin:", "langevin:1e99", "pas:-1", "exchange:1", "cyclical:nan", "wolff:2", "exchange:0.5:1"]),
)
tables = arrays.arrays(
    dtype=st.one_of(arrays.scalar_dtypes(), st.just(np.dtype(object)), st.just(np.dtype([("a", "f4")]))),
    shape=arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
keys = st.one_of(st.tuples(st.integers(-1, 5), st.integers(-1, 5)), numbers.filter(lambda n: n == n), st.text(max_size=2))
anything = st.recursive(
    st.one_of(st.none(), numbers, words, st.binary(max_size=4), tables, st.builds(object), st.just(len), st.just(ValueError)),
    lambda of: st.one_of(st.lists(of, max_size=4), st.tuples(of, of), st.dictionaries(keys, of, max_size=3), st.builds(iter, st.lists(of))),
    max_leaves=6,
)


@st.composite
def dressed(draw, value):
    """Right numbers, some of them another multiple, in another form."""
    try:
        found = np.asarray(value)
    except ValueError:
        return value
    if found.dtype.kind not in "iuf" or found.ndim == 0:
        return value
    if found.dtype.kind == "f":
        found = found * draw(st.floats(-2, 2, width=16))
    wide = np.zeros((*found.shape[:-1], 2 * found.shape[-1]), found.dtype)
    wide[..., ::2] = found
    forms = [found.tolist(), np.asfortranarray(found), found.astype(">f8"), wide[..., ::2], found[::-1].copy()[::-1], found.astype(np.longdouble)]
    for kind in (np.float16, np.float32, np.int8, np.uint8, np.int64, np.bool_):
        other = found.astype(kind, casting="unsafe")
        forms += [other] if (other == found).all() else []
    frozen = found.copy()
    frozen.flags.writeable = False
    return draw(st.sampled_from([found, *forms, frozen]))


def ising():
    return bitmc.ising(J, H)


def f(x):
    return x.sum(axis=1, dtype=float), np.ones(x.shape)


RUN = {"draws": 3, "chains": 2, "warmup": 2, "thin": 1, "seed": 1, "seconds": 0.5, "threads": 1}

# Arguments that are right. A call changes some of them.
FUNCTIONS = {
    "ising": {"J": J, "h": H, "sites": None},
    "qubo": {"Q": J, "linear": H, "sites": None},
    "potts": {"J": J, "arity": 3, "fields": np.arange(9.0).reshape(3, 3), "sites": None},
    "rbm": {"W": TABLE - 3.5, "a": H[:2], "b": H},
    "factors": {"arities": [2, 3], "tables": [((0, 1), TABLE), ((1,), [0.0, 1, 2])]},
    "gaussian": {"A": np.eye(3) + J / 4, "mean": H, "arity": 4},
    "logistic": {"X": TABLE, "y": np.array([0, 1]), "prior": H},
    "polynomial": {"terms": {(0, 1, 2): 1.5, (1,): -1.0}, "spins": False, "sites": 3},
    "sample": {"model": ising(), **RUN, "temperature": 1.0, "sampler": "gibbs", "checkpoint": None},
    "replica_exchange": {"model": ising(), **RUN, "ladder": np.array([4.0, 2, 1]), "temperature": None, "checkpoint": None},
    "anneal": {
        "model": ising(), "seconds": 0.2, "sweeps": None, "reads": 4, "temperatures": (2.0, 0.5),
        "method": "annealing", "target": None, "seed": 1, "threads": 1,
    },
    "log_z": {"model": ising(), "runs": 8, "temperatures": 10, "temperature": 1.0, "seed": 1, "threads": 1, "method": "importance", "population": None, "base": POINTS},
    "langevin": {
        "f": f, "sites": 3, "arity": 2, **{name: RUN[name] for name in ("draws", "chains", "warmup", "thin", "seed", "seconds")},
        "step_size": 0.5, "balance": 0.5, "cycle": None, "order": 1, "hessian": None, "ordinal": False, "window": None, "start": None,
    },
    "check": {"f": f, "states": POINTS, "arity": 2, "ordinal": False, "tolerance": None},
    "Chains": {"sites": 3, "arity": 2, "chains": 2, "ordinal": False, "seed": 1, "sampler": "langevin", "window": None, "start": None, "hessian": None},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::bitmc.SamplingWarning")
def test_every_function_is_here():
    public = {name for name in bitmc.__all__ if callable(getattr(bitmc, name)) and name.islower()} - {"read"}
    assert public | {"Chains"} == set(FUNCTIONS)
    for name, right in FUNCTIONS.items():
        taken = set(inspect.signature(getattr(bitmc, name)).parameters) - {"progress"}
        assert taken == set(right), name
        answer_is_right(name, right, getattr(bitmc, name)(**right))


def floats(value):
    """As float64, or None where a matrix is not one of numbers."""
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def energies(name, right, x):
    """E of states by the formula of the documentation, in float64; None where the arguments are not arrays."""
    n = x.shape[1]
    zeros = np.zeros(n)
    if name in ("ising", "qubo", "potts", "gaussian"):
        w = floats(right["A" if name == "gaussian" else "Q" if name == "qubo" else "J"])
        if w is None or w.shape != (n, n):
            return None
    if name == "ising":
        s, h = 2.0 * x - 1, zeros if right["h"] is None else floats(right["h"])
        return -((s @ w) * s).sum(axis=1) / 2 - s @ h
    if name == "qubo":
        return ((x @ w) * x).sum(axis=1) + x @ (zeros if right["linear"] is None else floats(right["linear"]))
    if name == "potts":
        fields = np.zeros((n, int(right["arity"]))) if right["fields"] is None else floats(right["fields"])
        return np.array([-(w * (row[:, None] == row)).sum() / 2 - fields[np.arange(n), row].sum() for row in x])
    if name == "gaussian":
        off = x - floats(right["mean"])
        return ((off @ w) * off).sum(axis=1) / 2
    if name == "rbm":
        w = floats(right["W"])
        a, b = (np.zeros(m) if right[key] is None else floats(right[key]) for key, m in zip("ab", w.shape))
        return -x @ a - np.logaddexp(0, b + x @ w).sum(axis=1)
    if name == "logistic":
        margins = (x @ floats(right["X"]).T) * (2 * floats(right["y"]) - 1)
        return x @ (zeros if right["prior"] is None else floats(right["prior"])) + np.logaddexp(0, -margins).sum(axis=1)
    return None


def answer_is_right(name, arguments, answer):
    if isinstance(answer, bitmc.Model):
        arities = answer.arities
        assert len(arities) == answer.sites >= 1
        if answer.sites > 100:
            return
        drawn = bitmc.sample(answer, draws=8, chains=4, warmup=30, sampler="gibbs", threads=1)
        assert (drawn.states < np.array(arities)).all() and np.isfinite(drawn.energy).all()
        x = drawn.states.reshape(-1, answer.sites).astype(np.int64)
        exact = energies(name, arguments, x)
        if exact is not None:
            found = drawn.energy.ravel()
            most = max(1.0, *np.abs(exact), *(np.abs(n).max(initial=0) for n in map(floats, arguments.values()) if n is not None and n.size and np.isfinite(n).all()))
            # The zero of the energy of some models is another one.
            off = (found - found[0]) - (exact - exact[0])
            assert np.abs(off).max() < 1e-4 * most, (found, exact)
    elif isinstance(answer, bitmc.Samples):
        chains, draws, sites = answer.shape
        asked = int(arguments["draws"]), int(arguments["chains"])
        assert answer.states.shape == answer.shape and answer.energy.shape == (chains, draws)
        assert chains == asked[1] and (draws == asked[0] or answer.report["stopped"] is not None and draws < asked[0])
        assert (answer.states < int(arguments.get("arity", 2))).all() and np.isfinite(answer.energy).all()
    elif isinstance(answer, bitmc.Annealed):
        assert len(answer.states) == len(answer.energies) >= 1
        exact = energies("ising", {"J": J, "h": H}, answer.states.astype(np.int64))
        assert answer.energies == pytest.approx(exact)
    elif isinstance(answer, bitmc.LogZ):
        x = np.indices((2, 2, 2)).reshape(3, -1).T
        exact = np.logaddexp.reduce(-energies("ising", {"J": J, "h": H}, x) / float(arguments["temperature"]))
        assert answer.warning is not None or abs(answer.log_z - exact) < 0.05 * abs(exact) + 8 * answer.error, (answer, exact)
    elif isinstance(answer, bitmc.Chains):
        x = answer.ask()
        assert x.shape == (int(arguments["chains"]), int(arguments["sites"])) and (x < int(arguments["arity"])).all()
    else:
        assert isinstance(answer, bitmc.Checked), answer


def refusal_is_right(name, error):
    """It names an argument of the function, or a part of the name of a sampler."""
    text = str(error)
    taken = [*inspect.signature(getattr(bitmc, name)).parameters, "energies", "gradients"]
    assert any(re.search(rf"(^|\W){word}\b", text) for word in taken), text
    assert len(text) > 10 and "panic" not in text, text


@pytest.mark.filterwarnings("ignore::bitmc.SamplingWarning")
def test_what_is_wrong_is_seen():
    for name, changed in [("ising", "J"), ("qubo", "Q"), ("potts", "fields"), ("gaussian", "A"), ("rbm", "W"), ("logistic", "X")]:
        right = FUNCTIONS[name]
        with pytest.raises(AssertionError):
            answer_is_right(name, {**right, changed: 1.1 * np.asarray(right[changed])}, getattr(bitmc, name)(**right))
    with pytest.raises(AssertionError):
        answer_is_right("sample", {**FUNCTIONS["sample"], "draws": 4}, bitmc.sample(**FUNCTIONS["sample"]))
    with pytest.raises(AssertionError):
        refusal_is_right("ising", ValueError("setting an array element with a sequence"))
    with pytest.raises(AssertionError), interrupted(0.01, 0.02):
        try:
            time.sleep(1)
        except KeyboardInterrupt:
            time.sleep(0.1)


@contextmanager
def interrupted(after=2.0, most=30.0):
    """What was asked may take years: then it is interrupted, as by Ctrl-C, and must end soon."""
    begun = time.monotonic()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert time.monotonic() - begun < after + most


def large(arguments):
    """Legal, but gigabytes, or many seconds before the first step."""
    sizes = [arguments.get(name, 1) for name in ("sites", "chains")]
    return all(isinstance(size, (int, np.integer)) for size in sizes) and int(sizes[0]) * int(sizes[1]) > 10**4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_arguments(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ended = Counter()

    @settings(max_examples=CALLS, derandomize="BITMC_ARGUMENTS" not in os.environ, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def any_call(data):
        arguments = dict(FUNCTIONS[name])
        for changed in data.draw(st.lists(st.sampled_from(sorted(arguments)), min_size=1, max_size=2, unique=True)):
            value = arguments[changed]
            arguments[changed] = data.draw(st.one_of(dressed(value), dressed(value), numbers, words, anything), label=changed)
        kept = copy.copy(arguments)
        if large(arguments):
            return
        try:
            with interrupted():
                answer = getattr(bitmc, name)(**arguments)
        except KeyboardInterrupt:
            ended["interrupted"] += 1
        except ValueError as error:
            ended["refused"] += 1
            refusal_is_right(name, error)
        except OSError:
            assert arguments["checkpoint"] is not None
        else:
            ended["answered"] += 1
            answer_is_right(name, kept, answer)

    any_call()
    # Both happen, or the test sees nothing.
    assert min(ended["refused"], ended["answered"]) > 0.03 * CALLS, ended
