"""An energy of your own compared with its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import Doubles, array, flag, real, shown, told, whole

_AGAINST = -0.1
"""A correlation below this is a wrong sign: that of a gradient that says nothing is 0, up to rounding."""


def anywhere(x: NDArray[Any], arity: int) -> NDArray[Any]:
    """Random states, of the shape and type of others."""
    return np.random.default_rng(1).integers(0, arity, x.shape).astype(x.dtype)


def signed(f: Any, x: NDArray[Any]) -> None:
    """Refuses a function that has other energies for signed numbers: unsigned ones may have wrapped around in it."""
    try:
        pair = [array("energies", f(states)[0]) for states in (x, x.astype(np.int64))]
        pair = [energies.astype(float) for energies in pair if energies.dtype.kind != "u"]
    except Exception:  # f may want its own type of number: then there is nothing to compare
        return
    if len(pair) == 2 and pair[0].shape == pair[1].shape and not np.allclose(
        pair[0], pair[1], rtol=1e-3, atol=1e-3, equal_nan=True
    ):
        again = array("energies", f(x)[0]).astype(float)
        if not np.allclose(pair[0], again, rtol=1e-3, atol=1e-3, equal_nan=True):
            raise ValueError("f: it has other energies for the same states when it is called again")
        raise ValueError(
            f"f: it has other energies for {x.dtype} than for signed numbers: differences of states may have wrapped "
            "around, so begin with x.astype(float)"
        )


@dataclass(frozen=True)
class Checked:
    """How well a gradient predicts the changes of its energy, over moves of one site.

    Attributes
    ----------
    moves : int
        Moves of one site to an allowed state.
    slope : float or None
        About 1. A slope of 2 or ½ hints at a forgotten factor. None where the gradient is 0 everywhere.
    correlation : float or None
        Of predictions and changes, about 1.
    gap : float
        The largest difference between them, in one move: in state `state` (a row of `states`), of site `site` to `value`.
    predicted, change : float
        What the gradient says of that move, and how the energy changes.
    """

    moves: int
    slope: float | None
    correlation: float | None
    gap: float
    state: int
    site: int
    value: int
    predicted: float
    change: float


def check(
    f: Any, states: Any, arity: int = 2, *, ordinal: bool = False, tolerance: float | None = None
) -> Checked:
    """Compares the gradients of a function for :func:`langevin` with its own energies, over all moves of one site.

    The change of the energy in a move from x to y is E(y) − E(x). The gradient predicts ½ (∂E/∂x + ∂E/∂y) · (y − x). Both are
    equal where E is of at most second degree along the move. A network is not; there look at ``slope`` and ``correlation``.

    Parameters
    ----------
    f : callable
        As of :func:`langevin`. It is called with as many states as are given here, sites × (values − 1) times or twice that.
    states : array
        A few allowed states, one a row.
    arity : int
    ordinal : bool
        Whether values are whole numbers in order. Then moves go to the next values.
    tolerance : float, optional
        Refuses a move whose prediction and change differ by more, relative to the larger one of 1 and the change.

    Returns
    -------
    Checked

    Raises
    ------
    ValueError
        Where energies are NaN or −∞, or other ones at another place of the batch or among other states. Where gradients are NaN, have another shape, or
        point the other way. Where a move is off by more than `tolerance`.

    Examples
    --------
    >>> import bitmc
    >>> import numpy as np
    >>> def f(x):    # E = ½ (ones − 3)²; the gradient lacks nothing
    ...     excess = x.sum(axis=1) - 3.0
    ...     return excess**2 / 2, np.repeat(excess[:, None], 10, axis=1)
    >>> states = np.random.default_rng(1).integers(0, 2, (4, 10))
    >>> found = bitmc.check(f, states, tolerance=1e-4)
    >>> round(found.slope, 3), found.gap < 1e-4
    (1.0, True)
    >>> bitmc.check(lambda x: (f(x)[0], 2 * f(x)[1]), states).slope
    0.5
    """
    if not callable(f):
        raise ValueError(f"f: a function of the states is needed, got {f!r}")
    arity, ordinal = whole("arity", arity, 2, 65536), flag("ordinal", ordinal)
    most = None if tolerance is None else real("tolerance", tolerance)
    given = array("states", states)
    if given.ndim != 2 or given.size == 0 or given.dtype.kind not in "bui":
        raise ValueError(f"states: whole numbers of shape n × sites are needed, got {given.dtype} of shape {shown(given.shape)}")
    if given.min() < 0 or given.max() >= arity:
        raise ValueError(f"states: values from 0 to {arity - 1} are needed, got {given.min()} to {given.max()}")
    x = np.ascontiguousarray(given, dtype=np.uint8 if arity <= 256 else np.uint16)
    count, sites = x.shape
    categories = arity > 2 and not ordinal
    shape = (count, sites, arity) if categories else (count, sites)
    rows = np.arange(count)

    def at(y: NDArray[Any]) -> tuple[Doubles, Doubles]:
        answer = f(y.copy())
        try:
            energies, gradients = answer
        except (TypeError, ValueError):
            raise ValueError("f: a pair (energies, gradients) is needed as its answer") from None
        energies, gradients = told("energies", energies).astype(float), told("gradients", gradients).astype(float)
        for name, part, need in (("energies", energies, (count,)), ("gradients", gradients, shape)):
            if part.shape != need:
                raise ValueError(f"f: {name} of shape {shown(need)} are needed, got {shown(part.shape)}")
        bad = np.flatnonzero(np.isnan(energies) | (energies == -np.inf))
        if bad.size:
            raise ValueError(f"f: the energy of {y[bad[0]].tolist()} is {energies[bad[0]]}")
        wrong = np.argwhere(np.isnan(gradients.reshape(count, sites, -1)) & np.isfinite(energies)[:, None, None])
        if len(wrong):
            raise ValueError(f"f: the gradient at {y[wrong[0][0]].tolist()} is NaN at site {wrong[0][1]}")
        return energies, gradients

    def told_of(state: int, site: int, value: int, predicted: float, change: float) -> str:
        return (
            f"in state {state}, where site {site} goes from {x[state, site]} to {value}: the gradient predicts {predicted:.6g}, and "
            f"the energy changes by {change:.6g}"
        )

    for states in (x, anywhere(x, arity)):
        signed(f, states)
    here, slopes = at(x)
    forbidden = np.flatnonzero(~np.isfinite(here))
    if forbidden.size:
        raise ValueError(f"states: state {forbidden[0]} is forbidden: allowed ones are needed")
    turned = at(x[::-1])[0][::-1]
    other = np.flatnonzero(np.abs(turned - here) > 1e-3 * np.maximum(1.0, np.abs(here)))
    if other.size:
        i = int(other[0])
        raise ValueError(f"f: state {i} has energy {here[i]:.6g}, and {turned[i]:.6g} at another place of the batch")
    among = float(at(np.repeat(x[:1], count, axis=0))[0][0])
    if abs(among - here[0]) > 1e-3 * max(1.0, abs(here[0])):
        raise ValueError(f"f: state 0 has energy {here[0]:.6g}, and {among:.6g} among other states")

    sums, moves, worst = np.zeros(3), 0, (-1.0, 0, 0, 0, 0.0, 0.0)
    for site in range(sites):
        old = x[:, site].astype(np.int64)
        for by in (-1, 1) if ordinal and arity > 2 else range(1, arity):
            new = old + by if ordinal and arity > 2 else (old + by) % arity
            moved = (new >= 0) & (new < arity)
            y = x.copy()
            to = np.where(moved, new, old)
            y[:, site] = to
            there, others = at(y)
            moved &= np.isfinite(there)
            with np.errstate(invalid="ignore"):  # gradients of forbidden states may be anything
                if categories:
                    predicted = 0.5 * sum(g[rows, site, to] - g[rows, site, old] for g in (slopes, others))
                else:
                    predicted = 0.5 * (slopes[:, site] + others[:, site]) * (to - old)
            which = np.flatnonzero(moved)
            p, d = predicted[which], (there - here)[which]
            moves += len(which)
            sums += (p @ p, p @ d, d @ d)
            gaps = np.abs(p - d)
            if len(which) and gaps.max() > worst[0]:
                i = int(gaps.argmax())
                worst = (float(gaps[i]), int(which[i]), site, int(to[which[i]]), float(p[i]), float(d[i]))
            off = np.flatnonzero(gaps > most * np.maximum(1.0, np.abs(d))) if most is not None else which[:0]
            if off.size:
                i = int(off[0])
                raise ValueError(f"f: {told_of(which[i], site, to[which[i]], p[i], d[i])}")
    if moves == 0:
        raise ValueError("states: no move of one site leads to an allowed state")
    pp, pd, dd = sums.tolist()
    correlation = pd / (pp * dd) ** 0.5 if pp > 0 and dd > 0 else None
    if correlation is not None and correlation < _AGAINST:
        raise ValueError(
            f"f: the gradient points the other way: its correlation with the changes of the energy is {correlation:.3f}; "
            f"it is off most {told_of(*worst[1:])}"
        )
    return Checked(moves, pd / pp if pp > 0 else None, correlation, *worst)
