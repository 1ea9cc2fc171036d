"""Replica exchange."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _bitmc
from ._arrays import numbers, real, said
from ._models import Model
from ._runs import Samples, settings

_MOST = 32


class Exchanged(Samples):
    """The draws of the coldest replicas, and how the replicas changed places."""

    def __init__(self, inner: _bitmc.Samples, coldest: float) -> None:
        super().__init__(inner)
        self._coldest = coldest

    @property
    def temperatures(self) -> NDArray[np.float64]:
        """The ladder, from the hottest temperature to that of the draws."""
        betas: list[float] = self.report["sampler"]["exchange"]["betas"]
        return self._coldest / np.array(betas)

    @property
    def swap_rates(self) -> NDArray[np.float64]:
        """How often neighbours of the ladder change places, one rate for each pair, the hottest pair first; NaN where none tried.

        Warm-up is included. Rates below about 0.2 are gaps that replicas hardly cross.
        """
        return np.array([np.nan if rate is None else rate for rate in self.report["swap_rates"]], np.float64)

    @property
    def round_trips(self) -> int:
        """How often a replica went from the coldest temperature to the hottest and back, in all chains, warm-up included.

        Where it is 0 the hot replicas have not yet helped the cold ones.
        """
        return int(self.report["round_trips"])

    def __repr__(self) -> str:
        chains, draws, sites = self.shape
        t = self.temperatures
        return (
            f"<bitmc.Exchanged: {chains} chains, {draws} draws, {sites} sites; {len(t)} replicas from T = {t[0]:.4g} "
            f"to {t[-1]:.4g}, {self.round_trips} round trips>"
        )


def replica_exchange(
    model: Model,
    draws: int = 1000,
    chains: int = 16,
    *,
    ladder: Any = None,
    temperature: float | None = None,
    warmup: int | None = None,
    thin: int = 1,
    seed: int = 1,
    seconds: float | None = None,
    threads: int = 0,
    progress: bool = False,
    checkpoint: Any = None,
) -> Exchanged:
    """Draws from ``p(x) ∝ exp(−E(x)/T)`` by replicas at rising temperatures that change places (parallel tempering).

    Each chain is a ladder of replicas of its own. A step is one Gibbs sweep of every replica and one round of swaps between
    neighbours. The draws are the states of the coldest replica. :func:`sample` chooses this sampler by itself where chains
    of one temperature disagree.

    Parameters
    ----------
    model : Model
    draws, chains : int
        Draws of each chain, and independent ladders: of few ladders some may agree by chance where modes are far apart.
    ladder : array, optional
        Falling temperatures, at least 2 and at most 32; the draws are of the last one. Without it the ladder is found by
        short runs: it is as hot as chains need to agree, and neighbours swap equally often.
    temperature : float, optional
        T of the draws, where there is no ladder; 1 without it.
    warmup, thin, seed, seconds, threads, progress, checkpoint
        As of :func:`sample`. Ctrl-C ends the run, and what was drawn until then is returned.

    Returns
    -------
    Exchanged
        :class:`Samples` with ``temperatures``, ``swap_rates`` and ``round_trips``.

    Raises
    ------
    ValueError
        Where a setting is illegal or the model cannot be sampled so.

    Warns
    -----
    SamplingWarning
        As of :func:`sample`.

    Examples
    --------
    >>> import bitmc
    >>> model = bitmc.ising({(i, (i + 1) % 32): 3.0 for i in range(32)})    # two modes: all up, all down
    >>> samples = bitmc.replica_exchange(model, draws=2000)
    >>> samples.swap_rates.min() > 0.2, samples.round_trips > 100
    (np.True_, True)
    >>> bool(abs(samples.means.mean() - 0.5) < 0.1)
    True
    """
    if ladder is None:
        coldest, name = real("temperature", 1.0 if temperature is None else temperature, 1e-20, 1e20), "exchange"
    else:
        if temperature is not None:
            raise ValueError("temperature: the last one of the ladder is that of the draws: leave one of the two out")
        steps = numbers("ladder", ladder, (None,), np.float64)
        if not 2 <= len(steps) <= _MOST:
            raise ValueError(f"ladder: 2 to {_MOST} temperatures are needed, got {len(steps)}")
        for rung, one in enumerate(steps.tolist()):
            coldest = real(f"ladder: ladder[{rung}]", one, 1e-20, 1e20)
        betas = (coldest / steps).astype(np.float32)
        bad = np.flatnonzero(np.diff(betas) <= 0)
        if bad.size:
            rung = int(bad[0]) + 1
            raise ValueError(
                f"ladder: ladder[{rung}] is {steps[rung]:g}: it must be below ladder[{rung - 1}], {steps[rung - 1]:g}"
            )
        name = "exchange:" + ":".join(repr(float(beta)) for beta in betas)
    checked = settings(model, draws, chains, warmup, thin, seed, coldest, name, seconds, threads, progress, checkpoint)
    found = Exchanged(said("model, ladder", lambda: _bitmc.sample(*checked)), coldest)
    found._warned(2)
    return found
