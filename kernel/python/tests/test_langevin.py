"""Energies in Python against enumeration, and the raw pair of ask and tell."""

import numpy as np
import pytest

import bitmc
import exact
from test_runs import interrupted

LIMIT = 5.5
rng = np.random.default_rng(11)
N = 5
A = rng.normal(0, 0.7, (N, N))
A = A + A.T
TENSOR = rng.normal(0, 0.5, (N, 3))
PAIRS = rng.normal(0, 0.5, (3, 3))


def quadratic(x):
    """E = ½ xᵀAx + ¼ (Σ x − 2)⁴ / 4, for any numbers."""
    x = x.astype(np.float64)
    excess = x.sum(axis=-1) - 2
    energies = 0.5 * np.einsum("...i,ij,...j", x, A, x) + excess**4 / 16
    return energies, x @ A + (excess**3 / 4)[..., None]


def one_hot(x):
    """Sites of three values on a ring."""
    hot = np.eye(3)[x]
    after = np.roll(hot, -1, axis=1)
    energies = (hot * TENSOR).sum(axis=(1, 2)) + np.einsum("csi,ij,csj->c", hot, PAIRS, after)
    gradients = TENSOR + np.einsum("ij,csj->csi", PAIRS, after) + np.einsum("ij,csi->csj", PAIRS, np.roll(hot, 1, axis=1))
    return energies, gradients


def energy_of(f):
    return lambda row: float(f(row[None, :])[0][0])


SAMPLERS = {
    "tuned": {},
    "step size by hand": {"step_size": 0.5},
    "balanced, tuned": {"balance": 0.8},
    "balanced by hand": {"step_size": 1.0, "balance": 0.7},
    "cyclical": {"cycle": 8},
    "cyclical, with ends": {"cycle": 4, "step_size": (0.1, 3.0)},
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_bits_against_enumeration(name):
    samples = bitmc.langevin(quadratic, N, draws=1500, warmup=1300, seed=2, **SAMPLERS[name])
    assert samples.report["tuned"] and samples.report["stopped"] is None
    assert samples.energy[3, 5] == pytest.approx(quadratic(samples.states[3, 5:6])[0][0], abs=1e-3)
    assert exact.distance(samples, exact.means([2] * N, energy_of(quadratic))) < LIMIT
    # Negative control: the gradient is right, the energy is another one.
    wrong = bitmc.langevin(
        lambda x: (1.3 * quadratic(x)[0], quadratic(x)[1]), N, draws=1500, warmup=1300, seed=2, **SAMPLERS[name]
    )
    assert exact.distance(wrong, exact.means([2] * N, energy_of(quadratic))) > LIMIT


SECOND_ORDER = {
    "couplings estimated": {},
    "hessian given": {"hessian": A},
    "a wrong hessian": {"hessian": -2 * A},
    "diagonal": {"hessian": np.diag(A)},
    "by hand": {"hessian": A, "step_size": 0.5, "balance": 0.8},
}


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_second_order_against_enumeration(name):
    settings = {"order": 2, "draws": 1500, "warmup": 1300, "seed": 2, **SECOND_ORDER[name]}
    samples = bitmc.langevin(quadratic, N, **settings)
    assert samples.report["tuned"] and samples.report["sampler"] == {"second-order": {"momentum": 0.0}}
    assert exact.distance(samples, exact.means([2] * N, energy_of(quadratic))) < LIMIT
    wrong = bitmc.langevin(lambda x: (1.3 * quadratic(x)[0], quadratic(x)[1]), N, **settings)
    assert exact.distance(wrong, exact.means([2] * N, energy_of(quadratic))) > LIMIT
    again = bitmc.langevin(quadratic, N, **{**settings, "draws": 10})
    assert np.array_equal(again.states, samples.states[:, :10])


def test_second_order_of_whole_numbers_and_categories():
    def f(x):
        energies, gradients = quadratic(x - 1.5)
        return 0.2 * energies, 0.2 * gradients

    samples = bitmc.langevin(f, N, arity=4, ordinal=True, order=2, draws=1500, warmup=1300)
    assert exact.distance(samples, exact.means([4] * N, energy_of(f))) < LIMIT
    ring = -0.3 * (np.roll(np.eye(N), 1, axis=0) + np.roll(np.eye(N), -1, axis=0))
    samples = bitmc.langevin(one_hot, N, arity=3, order=2, hessian=ring, draws=1500, warmup=1300)
    assert exact.distance(samples, exact.means([3] * N, energy_of(one_hot))) < LIMIT


def test_second_order_knows_the_couplings_of_a_quadratic_energy():
    """At balance 1 and an infinite step size every move is accepted if W is the Hessian; W estimated comes near."""
    coupled = np.full((20, 20), 0.3) - 0.3 * np.eye(20)

    def f(x):
        slopes = x @ coupled - 1.0
        return (x * (slopes - 1.0)).sum(axis=1) / 2, slopes

    rates = {}
    for name, settings in {"given": {"hessian": coupled}, "estimated": {}, "wrong": {"hessian": 0 * coupled}}.items():
        samples = bitmc.langevin(f, 20, order=2, draws=200, warmup=1000, step_size=1e30, balance=1.0, **settings)
        rates[name] = samples.report["acceptance"]
    assert rates["given"] > 0.999 and rates["estimated"] > 0.9 and rates["wrong"] < 0.8, rates


def test_a_tuner_that_did_not_end_says_so():
    assert not bitmc.langevin(quadratic, N, order=2, draws=5, warmup=50).report["tuned"]


def test_many_categories():
    """From 65 categories on, chains keep no gradients of their own."""
    slopes = np.linspace(0, 1, 100) * np.arange(1, 3)[:, None]
    angles = 2 * np.pi * np.arange(100) / 100
    pair = 4.0 * np.cos(angles[:, None] - angles)

    def f(x):
        energy = slopes[np.arange(2), x].sum(axis=1) + pair[x[:, 0], x[:, 1]]
        # Of a site's values the other one keeps its own.
        return energy, slopes + np.stack([pair[x[:, 1]], pair[x[:, 0]]], axis=1)

    energies = slopes[0][:, None] + slopes[1] + pair
    samples = bitmc.langevin(f, 2, arity=100, draws=1500, warmup=500)
    for scale, holds in [(1.0, True), (1.1, False)]:
        p = np.exp(-scale * energies) / np.exp(-scale * energies).sum()
        values = np.arange(100)
        want = np.array([p.sum(axis=1) @ values, p.sum(axis=0) @ values, (p * energies).sum()])
        assert (exact.distance(samples, want) < LIMIT) == holds


def test_a_wrong_gradient_is_still_exact():
    """The Metropolis test makes up for any gradient."""
    samples = bitmc.langevin(lambda x: (quadratic(x)[0], 0.0 * x), N, draws=3000, warmup=300)
    assert exact.distance(samples, exact.means([2] * N, energy_of(quadratic))) < LIMIT


def test_categories_against_enumeration():
    samples = bitmc.langevin(one_hot, N, arity=3, draws=1500, warmup=300)
    assert exact.distance(samples, exact.means([3] * N, energy_of(one_hot))) < LIMIT
    assert exact.distance(samples, exact.means([3] * N, lambda x: -energy_of(one_hot)(x))) > LIMIT


def test_whole_numbers_against_enumeration():
    def f(x):
        energies, gradients = quadratic(x - 1.5)
        return 0.2 * energies, 0.2 * gradients

    samples = bitmc.langevin(f, N, arity=4, ordinal=True, window=2, draws=1500, warmup=300)
    assert exact.distance(samples, exact.means([4] * N, energy_of(f))) < LIMIT


@pytest.mark.parametrize("sampler", ["langevin", "gwg", "gwg:2", "pas:3", "random-walk:1.0", "random-walk", "cyclical:4"])
def test_ask_and_tell(sampler):
    chains = bitmc.Chains(N, chains=64, sampler=sampler, seed=3)
    totals = []
    for step in range(2500):
        if step == 1000:
            chains.freeze()
        asked = chains.ask()
        assert np.array_equal(asked, chains.ask())
        energies, gradients = quadratic(asked)
        before = chains.states
        moved = chains.tell(energies, None if "walk" in sampler else gradients)
        assert np.array_equal(chains.states, np.where(moved[:, None], asked, before))
        if step > 1000:
            totals.append(chains.states)
    assert not chains.tuning
    means = np.mean(totals, axis=0)
    error = means.std(axis=0, ddof=1) / 8
    want = exact.means([2] * N, energy_of(quadratic))[:N]
    assert (np.abs(means.mean(axis=0) - want) < LIMIT * error).all()


def test_what_reaches_a_part_of_the_states_is_refused():
    for sampler, why in [("pas:2", "an even number"), (f"pas:{N + N % 2 + 1}", "all .* sites"), (f"random-walk:{N}", "all .* sites")]:
        with pytest.raises(ValueError, match=f"sampler: .*{why}"):
            bitmc.Chains(N, sampler=sampler)
    bitmc.Chains(N, arity=3, sampler="pas:2")


def test_gradients_are_told_to_samplers_that_need_them():
    chains = bitmc.Chains(N, chains=4, sampler="langevin:1")
    energies, gradients = quadratic(chains.ask())
    with pytest.raises(ValueError, match="gradients: this sampler needs"):
        chains.tell(energies)
    assert chains.tell(energies, gradients).all()
    chains.ask()


def test_forbidden_states_and_faults():
    def f(x):
        energies, gradients = quadratic(x)
        return np.where(x[:, 0] & x[:, 1], np.inf, energies), gradients

    start = np.zeros((64, N), int)
    samples = bitmc.langevin(f, N, draws=1500, warmup=300, start=start)
    assert not (samples.states[:, :, 0] & samples.states[:, :, 1]).any()

    def energy(x):
        return np.inf if x[0] and x[1] else energy_of(quadratic)(x)

    assert exact.distance(samples, exact.means([2] * N, energy)) < LIMIT
    with pytest.raises(ValueError, match="energies.*start"):
        bitmc.langevin(f, N, start=np.ones((64, N), int))
    with pytest.warns(bitmc.SamplingWarning, match="the energy was NaN"):
        faulty = bitmc.langevin(
            lambda x: (np.where(x[:, 0] == 1, np.nan, quadratic(x)[0]), quadratic(x)[1]), N, draws=50, warmup=0, start=start
        )
    assert faulty.report["faults"] > 0 and (faulty.states[:, :, 0] == 0).all()


def test_the_same_seed_gives_the_same_states():
    one, two, other = (bitmc.langevin(quadratic, N, draws=50, warmup=50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.states, two.states) and not np.array_equal(one.states, other.states)


def test_wide_values():
    def f(x):
        distance = x.astype(float) - 400
        return (distance**2).sum(axis=1) / 5000, distance / 2500

    samples = bitmc.langevin(f, 2, arity=1000, ordinal=True, window=40, draws=200, warmup=1500, step_size=500.0)
    assert samples.states.dtype == np.uint16
    assert abs(samples.states.mean() - 400) < 10


def test_torch_and_jax():
    torch = pytest.importorskip("torch")

    def f(x):
        x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        energies = 0.5 * torch.einsum("ci,ij,cj->c", x, torch.tensor(A), x) + (x.sum(dim=1) - 2) ** 4 / 16
        return energies, torch.autograd.grad(energies.sum(), x)[0]

    ours = bitmc.langevin(quadratic, N, draws=20, warmup=20)
    theirs = bitmc.langevin(f, N, draws=20, warmup=20)
    assert np.array_equal(ours.states, theirs.states)


def test_an_exception_of_the_function_goes_on():
    class Broken(Exception):
        pass

    def f(x):
        raise Broken

    with pytest.raises(Broken):
        bitmc.langevin(f, N)


def test_ctrl_c_returns_what_there_is():
    samples = interrupted(lambda: bitmc.langevin(quadratic, N, draws=10**9, warmup=1, seconds=20), 0.5)
    assert samples.shape[1] > 0 and "cancelled" in samples.report["stopped"]
