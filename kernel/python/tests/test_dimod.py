"""The sampler of dimod: dimod's own helpers, seeds, limits, and what a read is."""

import unittest

import numpy as np
import pytest

dimod = pytest.importorskip("dimod")
import dimod.testing  # noqa: E402

import exact  # noqa: E402
from bitmc.dimod import BitmcSampler  # noqa: E402


@dimod.testing.load_sampler_bqm_tests(BitmcSampler)
class TestOfDimod(unittest.TestCase):
    def test_api(self):
        dimod.testing.asserts.assert_sampler_api(BitmcSampler())



@pytest.fixture
def bqm():
    return dimod.generators.ran_r(1, 20, seed=1)


def test_reads(bqm):
    found = BitmcSampler().sample(bqm, num_reads=20, num_sweeps=200, seed=5)
    assert len(found) == 20 and found.vartype is dimod.SPIN and found.info["seed"] == 5
    dimod.testing.assert_sampleset_energies(found, bqm)
    again = BitmcSampler().sample(bqm, num_reads=20, num_sweeps=200, seed=5, num_threads=1)
    assert np.array_equal(found.record.sample, again.record.sample)
    other = BitmcSampler().sample(bqm, num_reads=20, num_sweeps=200, seed=6)
    assert not np.array_equal(found.record.sample, other.record.sample)
    free = BitmcSampler().sample(bqm, seed=None)
    repeated = BitmcSampler().sample(bqm, seed=free.info["seed"])
    assert np.array_equal(free.record.sample, repeated.record.sample)


def test_the_ground_state():
    bqm = dimod.BQM.from_qubo({(i, j): ((7 * i + 3 * j) % 11) - 5 for i in range(12) for j in range(i, 12)})
    least = dimod.ExactSolver().sample(bqm).first.energy
    assert BitmcSampler().sample(bqm, num_reads=16, seed=1).first.energy == pytest.approx(least)


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_labels_in_any_order_keep_their_biases(vartype):
    """The names do not ascend: the least energy is at one state, and only there."""
    linear = {"d": 0.9, 7: -0.6, "a": -0.3, ("t", 1): 0.5, "c": -1.1, 2: 0.2}
    bqm = dimod.BQM(linear, {("a", "d"): 0.1, (2, "c"): -0.1, (("t", 1), "a"): 0.1, (7, 2): 0.1}, 0.0, vartype)
    best = dimod.ExactSolver().sample(bqm).first
    found = BitmcSampler().sample(bqm, num_reads=8, num_sweeps=200, seed=1)
    assert all(dict(row.sample) == dict(best.sample) for row in found.data())
    dimod.testing.assert_sampleset_energies(found, bqm)


def test_a_read_ends_at_the_last_beta():
    bqm = dimod.BQM({"a": 0.4, "b": -0.2}, {"ab": -0.6}, 1.0, "SPIN")

    def energy(x):
        s = 2.0 * x - 1
        return 0.4 * s[0] - 0.2 * s[1] - 0.6 * s[0] * s[1]

    found = BitmcSampler().sample(bqm, num_reads=20_000, num_sweeps=64, beta_range=(0.8, 0.8), seed=2)
    means = (found.record.sample.mean(axis=0) + 1) / 2
    for beta, holds in [(0.8, True), (1.2, False)]:
        want = exact.means([2, 2], energy, 1 / beta)[:2]
        assert (np.abs(means - want) < 5 * np.sqrt(want * (1 - want) / 20_000)).all() == holds


def test_a_time_limit():
    bqm = dimod.generators.ran_r(1, 40, seed=2)
    found = BitmcSampler().sample(bqm, num_reads=10**6, num_sweeps=10_000, time_limit=0.5, seed=1)
    assert 1 <= len(found) < 10**6


def test_unknown_parameters_are_told(bqm):
    with pytest.warns(dimod.exceptions.SamplerUnknownArgWarning):
        BitmcSampler().sample(bqm, chain_strength=2)


@pytest.mark.parametrize(
    "name, value",
    [("num_reads", 0), ("num_sweeps", -1), ("seed", 1.5), ("time_limit", 0), ("beta_range", (2, 1)), ("beta_range", 3), ("num_threads", 5000)],
)
def test_bad_parameters(bqm, name, value):
    with pytest.raises(ValueError, match=name):
        BitmcSampler().sample(bqm, **{name: value})


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="BinaryQuadraticModel is needed, got ConstrainedQuadraticModel"):
        BitmcSampler().sample(dimod.ConstrainedQuadraticModel())
