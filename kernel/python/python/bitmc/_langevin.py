"""Energies of your own, evaluated in batches by Python."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _bitmc
from ._arrays import MOST_SITES, array, flag, numbers, real, shown, told, whole
from ._check import anywhere, signed
from ._runs import Samples, SamplingWarning

_MOST_NUMBERS = 10**10
_NO_WINDOW = "window: only ordinal sites of more than two values have one"
"""Gradients of all chains: more would be a slip."""

Energies = Callable[[NDArray[Any]], tuple[Any, Any]]


def _floats(name: str, value: Any) -> NDArray[np.float32]:
    """Numbers that may be infinite or NaN: the chains know what to do with these."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(told(name, value), dtype=np.float32)


def _hessian(value: Any, sites: int) -> NDArray[np.float32]:
    """A symmetric matrix, or its diagonal, in one row."""
    found = array("hessian", value.toarray() if hasattr(value, "toarray") else value)
    if found.ndim == 1:
        return numbers("hessian", found, (sites,))
    dense = numbers("hessian", found, (sites, sites))
    if not np.array_equal(dense, dense.T):
        i, j = (int(k) for k in np.argwhere(dense != dense.T)[0])
        raise ValueError(f"hessian: hessian[{i}, {j}] and hessian[{j}, {i}] differ: the matrix must be symmetric")
    return dense.ravel()


class Chains:
    """Chains that are asked and told: `ask` gives states, you evaluate them, `tell` takes energies and gradients.

    The first states that `ask` gives are the starts. Then each pair of `ask` and `tell` is one step of every chain.

    Parameters
    ----------
    sites, arity : int
        The shape of a state.
    chains : int
    ordinal : bool
        Whether values are whole numbers in order; else they are categories. It says what a gradient is.
    seed : int
    sampler : str
        ``langevin[:STEP]`` (DMALA), ``balanced[:STEP:BALANCE]`` (AB, first order), ``balanced:tuned:BALANCE``,
        ``second-order[:STEP:BALANCE]`` (AB, second order), ``cyclical[:POSITIONS[:SMALLEST:LARGEST]]`` (ACS with its tuner),
        ``gwg[:INDICES]``, ``pas[:INDICES]``, ``random-walk[:RADIUS]``. Without its step a sampler is tuned until :meth:`freeze`: only draws after that are of
        the distribution.
    window : int, optional
        Ordinal sites move by at most so much a step.
    start : array, optional
        States of shape chains × sites; random without it.
    hessian : array, optional
        Of the sampler of second order: as of :func:`langevin`.

    Notes
    -----
    Gradients are ∂E/∂x: for two values, and for ordinal sites, of shape chains × sites; for categories of shape chains × sites
    × arity. None is enough for a random walk.

    Examples
    --------
    >>> import bitmc
    >>> import numpy as np
    >>> chains = bitmc.Chains(10, chains=100, sampler="langevin:1.0")
    >>> ones = []
    >>> for step in range(201):
    ...     x = chains.ask()
    ...     excess = x.sum(axis=1) - 3.0    # E = ½ (ones − 3)²
    ...     moved = chains.tell(excess**2 / 2, np.repeat(excess[:, None], 10, axis=1))
    ...     ones.append(chains.states.sum(axis=1).mean())
    >>> bool(abs(np.mean(ones[50:]) - 3.553) < 0.1)
    True
    """

    def __init__(
        self,
        sites: int,
        arity: int = 2,
        chains: int = 64,
        *,
        ordinal: bool = False,
        seed: int = 1,
        sampler: str = "langevin",
        window: int | None = None,
        start: Any = None,
        hessian: Any = None,
    ) -> None:
        sites, arity = whole("sites", sites, 1, MOST_SITES), whole("arity", arity, 2, 65536)
        chains = whole("chains", chains, 1, 10**6)
        if sites * chains * (1 if ordinal else arity) > _MOST_NUMBERS:
            raise ValueError(f"sites, arity, chains: {sites} × {arity} × {chains} numbers are more than {_MOST_NUMBERS:.0e}")
        states = None
        if start is not None:
            found = array("start", start)
            if found.shape != (chains, sites):
                raise ValueError(f"start: shape {chains} × {sites} is needed, got {shown(found.shape)}")
            if found.dtype.kind not in "bui":
                raise ValueError(f"start: an array of whole numbers is needed, got {found.dtype}")
            if found.min() < 0 or found.max() >= arity:
                raise ValueError(f"start: values from 0 to {arity - 1} are needed, got {found.min()} to {found.max()}")
            states = np.ascontiguousarray(found, dtype=np.uint16)
        if not isinstance(sampler, str):
            raise ValueError(f"sampler: a name is needed, got {sampler!r}")
        distance = None if window is None else whole("window", window, 1, 65535)
        if window is not None and (not ordinal or arity == 2):
            raise ValueError(_NO_WINDOW)
        curved = None if hessian is None else _hessian(hessian, sites)
        if curved is not None and not sampler.startswith("second-order"):
            raise ValueError(f"hessian: only the sampler of second order takes it, got sampler {sampler!r}")
        self._inner = _bitmc.Chains(
            sites, arity, flag("ordinal", ordinal), chains, whole("seed", seed), sampler, distance, states, curved
        )
        self._sampler = sampler
        self._asked = False
        self._shape: tuple[int, ...] = (chains, sites)
        if self._inner.gradient_len != sites:
            self._shape = (chains, sites, arity)

    def ask(self) -> NDArray[Any]:
        """The states whose energies are needed, chains × sites; the same ones again until they are told."""
        self._asked = True
        return self._inner.ask()

    def tell(self, energies: Any, gradients: Any = None) -> NDArray[np.bool_]:
        """Tells E and ∂E/∂x at the states that were asked; returns which chains moved there.

        +∞ forbids a state. NaN, which counts as a fault, is never accepted.
        """
        if not self._asked:
            raise ValueError("energies: of which states? ask() first")
        e = _floats("energies", energies)
        if e.shape != self._shape[:1]:
            raise ValueError(f"energies: shape {shown(self._shape[:1])} is needed, got {shown(e.shape)}")
        g = np.zeros(0, np.float32)
        if gradients is not None:
            g = _floats("gradients", gradients)
            if g.shape != self._shape:
                raise ValueError(f"gradients: shape {shown(self._shape)} is needed, got {shown(g.shape)}")
        moved = np.array(self._inner.tell(e, g.ravel()), dtype=np.bool_)
        self._asked = False
        return moved

    @property
    def states(self) -> NDArray[Any]:
        """Where the chains are, chains × sites."""
        return self._inner.states()

    @property
    def energies(self) -> NDArray[np.float32]:
        """E there; empty before the starts are told."""
        return np.array(self._inner.energies(), dtype=np.float32)

    @property
    def tuning(self) -> bool:
        """Whether the parameters still change."""
        return self._inner.tuning

    @property
    def parameters(self) -> list[tuple[float, float]]:
        """Step size and balance: one pair, one a position of a cycle, or none."""
        return self._inner.parameters

    def freeze(self) -> None:
        """Ends the tuning."""
        self._inner.freeze()

    def __reduce__(self) -> Any:
        raise TypeError("chains cannot be pickled: keep their states, and start others there")

    def __repr__(self) -> str:
        state = "tuning" if self.tuning else "frozen"
        return f"<bitmc.Chains: {self._shape[0]} chains, {self._shape[1]} sites, {self._sampler}, {state}>"


def langevin(
    f: Energies,
    sites: int,
    arity: int = 2,
    chains: int = 64,
    *,
    draws: int = 1000,
    warmup: int = 1000,
    thin: int = 1,
    step_size: float | tuple[float, float] | None = None,
    balance: float = 0.5,
    cycle: int | None = None,
    order: int = 1,
    hessian: Any = None,
    ordinal: bool = False,
    window: int | None = None,
    seed: int = 1,
    start: Any = None,
    seconds: float | None = None,
) -> Samples:
    """Draws from ``p(x) ∝ exp(−E(x))`` by discrete Langevin proposals, E and its gradient evaluated by a function of yours.

    Test the function with :func:`check` first: with a wrong gradient the draws are still right, but slow.

    Parameters
    ----------
    f : callable
        ``f(states) -> (energies, gradients)`` for all chains at once: states of shape chains × sites, uint8 (above 256 values
        uint16); energies of shape chains; gradients ∂E/∂x of shape chains × sites, for categories (more than two values, not
        ordinal) chains × sites × arity. Arrays of NumPy, JAX or PyTorch. States are unsigned: ``-x`` and ``x - y`` wrap around,
        so begin with ``x.astype(float)``. Energies are rounded to 32 bits; those of draws should stay below 2¹⁷.
        +∞ forbids a state. NaN and −∞ are refused like it; a warning at the end says so. It is called twice more before the run,
        to see that states of signed numbers have the same energies. Where `start` is given, every second of these states is random.
    sites, arity, chains : int
    draws, warmup, thin : int
        As of :func:`bitmc.sample`.
    step_size : float, optional
        On the scale of the values; tuned in the warm-up where it is not given, to an acceptance of 0.574. Of a cycle the smallest
        and the largest one, where the tuner begins.
    balance : float
        ½ is DMALA; towards 1 it is the any-scale balanced sampler AB of first order, for larger steps.
    cycle : int, optional
        Positions of the cyclical sampler ACS. Its tuner works in the warm-up and takes about 900 steps of 64 chains.
    order : int
        1, or 2 for the any-scale balanced sampler AB of second order: it knows how sites are coupled, so that coupled sites move
        at once. It may pay where couplings are strong: compare ``summary().ess``. Its warm-up finds the couplings, then adapts step
        size and balance to the largest jump distance; it takes about 900 steps of 64 chains. With `step_size`, that and `balance` stay as given.
    hessian : array, optional
        Of second order: about ∂²E/∂x∂x, a symmetric matrix of at most 1,024 sites, or its diagonal. Without it the warm-up
        estimates a matrix from the gradients before and after moves; not for categories, nor for more than 64 values. Any matrix gives exact samples; a good one large steps.
    ordinal : bool
        Whether values are whole numbers in order.
    window : int, optional
        Ordinal sites move by at most so much a step.
    seed : int
    start : array, optional
        States to start from, chains × sites.
    seconds : float, optional
        Ends the run after so many seconds.

    Returns
    -------
    Samples
        The report says whether the tuner ended (``tuned``), and the parameters.

    Warns
    -----
    SamplingWarning
        When the run ends: where nothing moved, energies were NaN or −∞ or too large, chains do not agree, or they have fewer
        than 100 effective samples.

    Notes
    -----
    The same seed gives the same states if f gives a state the same bits in any batch. Ctrl-C ends the run; what was drawn until
    then is returned.

    Examples
    --------
    >>> import bitmc
    >>> import numpy as np
    >>> def f(x):    # E = ½ (ones − 3)²
    ...     excess = x.sum(axis=1) - 3.0
    ...     return excess**2 / 2, np.repeat(excess[:, None], 10, axis=1)
    >>> samples = bitmc.langevin(f, sites=10, draws=200, warmup=100)
    >>> bool(abs(samples.states.sum(axis=2).mean() - 3.553) < 0.1)
    True
    """
    if not callable(f):
        raise ValueError(f"f: a function of the states is needed, got {f!r}")
    draws, thin = whole("draws", draws, 1, 10**12), whole("thin", thin, 1)
    warmup = whole("warmup", warmup)
    limit = None if seconds is None else real("seconds", seconds, 0.0, 1e9)
    balance = real("balance", balance, 0.0, 1.0, above=True)
    order = whole("order", order, 1, 2)
    if balance != 0.5 and (cycle is not None or (order == 2 and step_size is None)):
        raise ValueError("balance: a cycle has its own, and second order adapts it where step_size is not given")
    if window is not None and (not ordinal or arity == 2):
        raise ValueError(_NO_WINDOW)
    if order == 2:
        if cycle is not None:
            raise ValueError("cycle: only the sampler of first order takes it")
        name = "second-order"
        if step_size is not None:
            name += f":{real('step_size', step_size, 0.0, above=True)!r}:{balance!r}"
    elif hessian is not None:
        raise ValueError("hessian: order=2 takes it")
    elif cycle is not None:
        name = f"cyclical:{whole('cycle', cycle, 2, 1000)}"
        if step_size is not None:
            try:
                smallest, largest = step_size  # type: ignore[misc]
            except (TypeError, ValueError):
                raise ValueError(
                    f"step_size: of a cycle the smallest and the largest are needed, got {step_size!r}"
                ) from None
            name += "".join(f":{real('step_size', size, 0.0, above=True)!r}" for size in (smallest, largest))
    elif step_size is None:
        name = "langevin" if balance == 0.5 else f"balanced:tuned:{balance!r}"
    else:
        name = f"balanced:{real('step_size', step_size, 0.0, above=True)!r}:{balance!r}"
    try:
        moved = Chains(
            sites, arity, chains, ordinal=ordinal, seed=seed, sampler=name, window=window, start=start, hessian=hessian
        )
    except ValueError as error:
        what, _, why = str(error).partition(": ")
        if step_size is None or not what.startswith("sampler"):
            raise
        # The sampler's name is not the caller's.
        raise ValueError(f"step_size: {why}") from None

    def step() -> None:
        answer = f(moved.ask())
        try:
            energies, gradients = answer
        except (TypeError, ValueError):
            raise ValueError("f: a pair (energies, gradients) is needed as its answer") from None
        if gradients is None:
            raise ValueError("f: gradients are needed, got None")
        moved.tell(energies, gradients)

    x = moved.ask()
    if start is not None:  # Where chains start nothing may wrap around.
        x = np.where(np.arange(len(x))[:, None] % 2, x, anywhere(x, arity))
    signed(f, x)
    begun, done, warm, stopped = time.monotonic(), 0, 0, None
    drawn = begun
    inner = moved._inner
    tuned = not inner.tuning
    try:
        step()
        for warm in range(warmup):
            if limit is not None and time.monotonic() - begun >= limit:
                break
            step()
        else:
            warm = warmup
        tuned = step_size is not None or warmup > 0 and ((cycle is None and order == 1) or not inner.tuning)
        inner.freeze()
        drawn = time.monotonic()
        while warm == warmup and done < draws:
            if limit is not None and time.monotonic() - begun >= limit:
                break
            for _ in range(thin):
                step()
            inner.record()
            done += 1
        if done < draws:
            stopped = f"{done} of {draws} draws: its time was over"
    except KeyboardInterrupt:
        if done == 0:
            raise
        stopped = f"{done} of {draws} draws: it was cancelled"
    found = Samples(inner.samples(warm, thin, stopped), inner.parameters)
    if done == 0:
        warnings.warn("the time was over in the warm-up: there are no draws", SamplingWarning, stacklevel=2)
    elif found.report["acceptance"] == 0.0:
        warnings.warn("no proposal was accepted: look at step_size and at the gradients", SamplingWarning, stacklevel=2)
    if done > 0 and (found.report["acceptance"] != 0.0 or found.report["faults"]):
        found._warned(2)
    ended = time.monotonic()
    found.report["tuned"] = tuned
    found.report["seconds"] = {"choice": 0.0, "warmup": drawn - begun, "draws": ended - drawn}
    return found
