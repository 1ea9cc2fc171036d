"""Replica exchange against enumeration, and what it says of its ladder."""

import numpy as np
import pytest

import bitmc
import exact
from test_models import H, J, N, ising_energy
from test_runs import interrupted

LIMIT = 5.5


def ring(weight):
    return bitmc.ising({(i, (i + 1) % 32): weight for i in range(32)})


@pytest.mark.parametrize("settings", [{"temperature": 0.7}, {"ladder": [5.0, 2.0, 1.2, 0.7]}], ids=["found", "given"])
def test_draws_are_of_the_coldest_temperature(settings):
    samples = bitmc.replica_exchange(bitmc.ising(J, H), draws=1500, chains=32, **settings)
    assert samples.temperatures[-1] == pytest.approx(0.7) and (np.diff(samples.temperatures) < 0).all()
    assert exact.distance(samples, exact.means([2] * N, ising_energy(H), 0.7)) < LIMIT
    # Negative control: the next rung has other means.
    assert exact.distance(samples, exact.means([2] * N, ising_energy(H), samples.temperatures[-2])) > LIMIT


def test_modes_that_gibbs_sweeps_do_not_connect():
    """Two modes at probability ½ each: a chain of sweeps stays in one, a ladder meets both."""
    samples = bitmc.replica_exchange(ring(3.0), draws=2000, chains=4)
    up = samples.states.mean(axis=(1, 2))
    assert (np.abs(up - 0.5) < 0.2).all() and samples.round_trips > 100 and (samples.swap_rates > 0.2).all()
    assert samples.summary().r_hat < 1.05
    alone = bitmc.sample(ring(3.0), draws=2000, chains=4, sampler="gibbs")
    assert (np.abs(alone.states.mean(axis=(1, 2)) - 0.5) > 0.2).any()


def test_other_models_and_long_ladders():
    """Ladders that are no batch of sixteen: another model, and more than sixteen rungs."""
    potts = bitmc.potts({(0, 1): 1.0, (1, 2): -0.5}, 3)
    samples = bitmc.replica_exchange(potts, draws=1500, chains=32, ladder=[3.0, 1.0])

    def energy(x):
        return -1.0 * (x[0] == x[1]) + 0.5 * (x[1] == x[2])

    assert exact.distance(samples, exact.means([3] * 3, energy)) < LIMIT
    ladder = np.linspace(4, 1, 20)
    samples = bitmc.replica_exchange(bitmc.ising(J, H), draws=1500, chains=32, ladder=ladder)
    assert len(samples.swap_rates) == 19 and np.allclose(samples.temperatures, ladder)
    assert exact.distance(samples, exact.means([2] * N, ising_energy(H))) < LIMIT


def test_seeds_threads_and_checkpoints(tmp_path):
    model, path = ring(1.0), tmp_path / "run.checkpoint"
    one, two = (bitmc.replica_exchange(model, draws=200, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.states, two.states) and np.array_equal(one.swap_rates, two.swap_rates)
    assert not np.array_equal(one.states, bitmc.replica_exchange(model, draws=200, seed=2).states)
    ladder = [3.0, 1.0]
    whole = bitmc.replica_exchange(model, draws=20_000, ladder=ladder)
    bitmc.replica_exchange(model, draws=20_000, ladder=ladder, checkpoint=path, seconds=0.05)
    again = bitmc.replica_exchange(model, draws=20_000, ladder=ladder, checkpoint=path)
    assert np.array_equal(again.states, whole.states) and again.round_trips == whole.round_trips
    assert "round trips" in repr(again)


def test_ctrl_c_returns_what_there_is():
    samples = interrupted(lambda: bitmc.replica_exchange(ring(1.0), draws=10**9, ladder=[2.0, 1.0], seconds=20))
    assert samples.shape[1] > 0 and "cancelled" in samples.report["stopped"]


def test_pairs_that_never_tried_have_no_rate():
    rates = bitmc.replica_exchange(ring(0.3), draws=1, warmup=0, ladder=[3.0, 2.0, 1.0]).swap_rates
    assert rates[0] > 0 and np.isnan(rates[1])
