"""Gradients compared with their own energies."""

import numpy as np
import pytest

import bitmc
from test_langevin import N, one_hot, quadratic

rng = np.random.default_rng(5)
BITS = rng.integers(0, 2, (6, N))
VALUES = rng.integers(0, 3, (6, N))


def pairwise(x):
    """E = ½ xᵀAx over whole numbers: of second degree, so that predictions are exact."""
    x = x.astype(float)
    a = np.arange(N * N).reshape(N, N) / 10
    a = a + a.T
    return 0.5 * np.einsum("ci,ij,cj->c", x, a, x), x @ a


def brute(f, states, arity, ordinal):
    """All moves of one site, one at a time: predictions and changes."""
    found = []
    for row in np.asarray(states):
        for site in range(len(row)):
            for value in range(arity):
                if value == row[site] or (ordinal and abs(value - row[site]) > 1):
                    continue
                y = row.copy()
                y[site] = value
                (ex,), (gx,) = f(row[None])
                (ey,), (gy,) = f(y[None])
                if arity == 2 or ordinal:
                    p = 0.5 * (gx[site] + gy[site]) * (value - row[site])
                else:
                    p = 0.5 * sum(g[site, value] - g[site, row[site]] for g in (gx, gy))
                found.append((p, ey - ex))
    return np.array(found)


@pytest.mark.parametrize(
    "f, states, arity, ordinal",
    [(quadratic, BITS, 2, False), (one_hot, VALUES, 3, False), (quadratic, VALUES, 3, True), (pairwise, VALUES, 3, True)],
)
def test_what_it_says_is_what_one_move_at_a_time_says(f, states, arity, ordinal):
    found = bitmc.check(f, states, arity, ordinal=ordinal)
    p, d = brute(f, states, arity, ordinal).T
    assert found.moves == len(p)
    assert found.slope == pytest.approx((p @ d) / (p @ p)) and found.correlation == pytest.approx(p @ d / np.sqrt(p @ p * (d @ d)))
    assert found.gap == pytest.approx(np.abs(p - d).max()) and found.gap == pytest.approx(abs(found.predicted - found.change))


def test_right_gradients_pass():
    assert bitmc.check(pairwise, BITS, tolerance=1e-9).gap < 1e-9
    assert bitmc.check(one_hot, VALUES, 3, tolerance=1e-9).slope == pytest.approx(1.0)


def test_one_wrong_number_is_named():
    def wrong(x):
        energies, gradients = pairwise(x)
        gradients[:, 3] += 0.5
        return energies, gradients

    found = bitmc.check(wrong, BITS)
    assert found.site == 3 and found.gap == pytest.approx(0.5) and 0 <= found.state < 6
    assert found.value == 1 - BITS[found.state, 3]
    with pytest.raises(ValueError, match="in state 0, where site 3 goes from . to .: the gradient predicts"):
        bitmc.check(wrong, BITS, tolerance=0.01)
    # Of a category it is the value that is named.
    def other(x):
        energies, gradients = one_hot(x)
        gradients[:, 1, 2] -= 2.0
        return energies, gradients

    found = bitmc.check(other, VALUES, 3)
    assert found.site == 1 and (found.value == 2) != (VALUES[found.state, 1] == 2)


def test_a_factor_and_a_sign():
    assert bitmc.check(lambda x: (pairwise(x)[0], 2 * pairwise(x)[1]), BITS).slope == pytest.approx(0.5)
    with pytest.raises(ValueError, match="points the other way.*most in state [0-5], where site [0-4] goes"):
        bitmc.check(lambda x: (pairwise(x)[0], -pairwise(x)[1]), BITS)
    blind = bitmc.check(lambda x: (pairwise(x)[0], np.zeros(x.shape)), BITS)
    assert blind.slope is None and blind.correlation is None and blind.gap > 0


def test_what_is_no_energy_is_refused():
    e, g = (lambda x: pairwise(x)[0]), (lambda x: pairwise(x)[1])
    for f, because in [
        (lambda x: (e(x) * (1 + np.arange(len(x))), g(x)), "another place of the batch"),
        (lambda x: (e(x).sum() * np.ones(len(x)), g(x)), "among other states"),
        (lambda x: (np.where(x[:, 0] == 1, np.nan, e(x)), g(x)), "the energy of .* is nan"),
        (lambda x: (np.where(x[:, 0] == 1, -np.inf, e(x)), g(x)), "the energy of .* is -inf"),
        (lambda x: (e(x), np.where(np.arange(N) == 2, np.nan, g(x))), "is NaN at site 2"),
        (lambda x: (e(x), g(x)[:, 1:]), "gradients of shape 6 × 5 are needed, got 6 × 4"),
        (lambda x: (e(x)[:, None], g(x)), "energies of shape 6 are needed, got 6 × 1"),
        (lambda x: e(x), "a pair"),
        (lambda x: ((2 * x - 1).sum(axis=1).astype(float), g(x)), "wrapped around"),
        (lambda x: (np.where(x[:, 0] == BITS[0, 0], np.inf, e(x)), g(x)), "state 0 is forbidden"),
    ]:
        with pytest.raises(ValueError, match=because):
            bitmc.check(f, BITS)
    for states in ([0, 1], [[]], [[0.5]], [[0, 2]], [[-1, 0]]):
        with pytest.raises(ValueError, match="^states: "):
            bitmc.check(pairwise, states)
    for name, settings in {"arity": {"arity": 1}, "tolerance": {"tolerance": -1}, "ordinal": {"ordinal": 2}}.items():
        with pytest.raises(ValueError, match=f"^{name}: "):
            bitmc.check(pairwise, BITS, **settings)
    with pytest.raises(ValueError, match="^f: "):
        bitmc.check(None, BITS)


def test_forbidden_moves_are_left_out():
    def f(x):
        energies, gradients = pairwise(x)
        return np.where(x.sum(axis=1) > BITS.sum(axis=1).max(), np.inf, energies), gradients

    assert bitmc.check(f, BITS, tolerance=1e-9).moves < bitmc.check(pairwise, BITS).moves
