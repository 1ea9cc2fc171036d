"""Samples, minima and ln Z."""

from __future__ import annotations

import functools
import json
import os
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _bitmc
from ._arrays import array, flag, one_of, path_of, real, said, shown, whole
from ._models import Model


class SamplingWarning(RuntimeWarning):
    """Where the draws of a run are not to be trusted: given once, when the run ends.

    That there are fewer than 8 draws of a chain is no warning of a run: ``Summary.warning`` says it.
    """


def _number(text: str) -> float:
    """A number of JSON, which has no infinity: 1e308 stands for it."""
    found = float(text)
    return found if abs(found) < 5e307 else float("inf")


def _model(model: Any) -> _bitmc.Model:
    if not isinstance(model, Model):
        raise ValueError(f"model: a model of bitmc is needed, got {type(model).__name__}")
    return model._inner


@dataclass(frozen=True, repr=False)
class Summary:
    """The diagnostics of a run. Its text is a Markdown table of the first sites.

    Attributes
    ----------
    energy : dict
        Of E: ``mean``, ``mcse`` (the standard error of the mean), ``sd``, ``ess_bulk``, ``ess_tail``, ``r_hat``. The sd
        is None where energies differ by rounding alone.
    sites : list of dict
        The same of each site's value, with its name (``site``) and how often it had each value (``shares``), with the
        standard errors of these (``share_errors``, None of 0 and 1). Of models of more than 4,096 sites every k-th one is there.
    r_hat, ess : float or None
        The largest R̂ and the smallest bulk effective sample size.
    constant_sites : int
        Sites that had one value in all draws, of those in `sites`.
    faults : int
        Steps at which the energy was NaN or −∞, and that were refused.
    spacing : float or None
        Of an energy of yours that reaches 2¹⁷ T: how far apart numbers of 32 bits are there.
    rounding : float or None
        How far energies may be off because numbers of the model, or weights over T, are rounded to 32 bits, where that is more than
        T/100.
    warning : str or None
        A sentence where chains do not agree, too few draws say anything, or the model was rounded.
    """

    chains: int
    draws: int
    energy: dict[str, Any]
    sites: list[dict[str, Any]]
    constant_sites: int
    r_hat: float | None
    ess: float | None
    faults: int
    spacing: float | None
    rounding: float | None
    warning: str | None
    table: str = field(compare=False)

    def _repr_markdown_(self) -> str:
        """What a notebook shows."""
        return repr(self).replace("\n|", "\n\n|", 1)

    def __repr__(self) -> str:
        more = f"\n{len(self.sites) - 20} more sites\n" if len(self.sites) > 20 else ""
        warning = f"\nwarning: {self.warning}\n" if self.warning else ""
        return f"{self.chains} chains, {self.draws} draws each\n{self.table}{more}{warning}".rstrip()


class Samples:
    """States, energies and what was done to draw them."""

    def __init__(self, inner: _bitmc.Samples, parameters: list[tuple[float, float]] | None = None) -> None:
        self._inner = inner
        self._parameters = parameters

    @property
    def shape(self) -> tuple[int, int, int]:
        """Chains, draws and sites."""
        return self._inner.shape

    @functools.cached_property
    def states(self) -> NDArray[Any]:
        """The value of each site, ``(chain, draw, site)``: uint8, or uint16 where a site has more than 256 values."""
        return self._inner.states()

    @functools.cached_property
    def energy(self) -> NDArray[np.float64]:
        """E of each draw, ``(chain, draw)``, at temperature 1."""
        return self._inner.energy()

    @functools.cached_property
    def means(self) -> NDArray[np.float64]:
        """The mean value of each site, over all chains."""
        return self._inner.means()

    @functools.cached_property
    def report(self) -> dict[str, Any]:
        """What was tried, what was chosen and why; acceptance, faults, seconds.

        ``report["stopped"]`` says why there are fewer draws than ordered, where there are.
        """
        report: dict[str, Any] = json.loads(self._inner.report(), parse_float=_number)
        if self._parameters is not None:
            report["parameters"] = [{"step_size": a, "balance": b} for a, b in self._parameters]
        return report

    def summary(self) -> Summary:
        """Means with their errors, effective sample sizes and R̂, of the energy and of each site."""
        text, table, warning = self._inner.summary(20)
        return Summary(**json.loads(text, parse_float=_number), warning=warning, table=table)

    def best(self, k: int = 1) -> list[dict[str, Any]]:
        """The k different states of lowest energy: ``energy``, ``draws``, ``chains`` and ``state`` of each."""
        found: list[dict[str, Any]] = json.loads(self._inner.best(whole("k", k, 0, 2**62)))
        for one in found:
            one["state"] = np.array(one["state"], self.states.dtype)
        return found

    def save(self, path: Any, *, overwrite: bool = False) -> None:
        """Writes an archive that ``numpy.load`` reads: the one of ``bitmc sample --save``, byte for byte.

        Where the file is there already, that is a FileExistsError, and the file stays. ``overwrite=True`` replaces it.
        """
        to = path_of("path", path)
        if not flag("overwrite", overwrite) and os.path.exists(to):
            raise FileExistsError(f"path: {to!r} is there already: overwrite=True replaces it")
        self._inner.save(to)

    def to_arviz(self) -> Any:
        """An ``InferenceData`` of ArviZ: ``state`` as posterior, ``energy`` among the sample statistics.

        From version 1 of ArviZ on it is a ``DataTree`` of these groups.
        """
        try:
            import arviz
        except ImportError as error:
            raise ImportError("to_arviz needs ArviZ: pip install arviz") from error
        from_dict: Any = arviz.from_dict
        groups, dims = {"posterior": {"state": self.states}, "sample_stats": {"energy": self.energy}}, {"state": ["site"]}
        return from_dict(**groups, dims=dims) if arviz.__version__.startswith("0.") else from_dict(groups, dims=dims)

    def _warned(self, stacklevel: int) -> Samples:
        """Warns, as a run does that ends."""
        text = self._inner.warning()
        if self.shape[1] == 0:
            text = f"there are no draws: {self.report['stopped']}"
        if text:
            warnings.warn(text, SamplingWarning, stacklevel=stacklevel + 1)
        return self

    def __reduce__(self) -> Any:
        raise TypeError("samples cannot be pickled: take their arrays, or save(path)")

    def __repr__(self) -> str:
        chains, draws, sites = self.shape
        return f"<bitmc.Samples: {chains} chains, {draws} draws, {sites} sites; {self.report['why']}>"


def sample(
    model: Model,
    draws: int = 1000,
    chains: int = 16,
    warmup: int | None = None,
    thin: int | None = None,
    seed: int = 1,
    temperature: float = 1.0,
    sampler: str = "auto",
    seconds: float | None = None,
    threads: int = 0,
    progress: bool = False,
    checkpoint: Any = None,
) -> Samples:
    """Draws from ``p(x) ∝ exp(−E(x)/T)``.

    The states are a function of the model, the seed and the settings: the same for any number of threads, on any processor.
    Ctrl-C ends the run, and what was drawn until then is returned.

    Parameters
    ----------
    model : Model
    draws, chains : int
        Draws of each chain, and independent chains.
    warmup : int, optional
        Steps of each chain before its first draw, at least; without it the pilot runs of the automatic choice, or 1,000.
    thin : int, optional
        Steps from one draw to the next; without it the automatic choice takes more than one where chains are slow.
    seed : int
    temperature : float
    sampler : str
        ``auto``; or ``gibbs``, ``block-gibbs``, ``swendsen-wang``, ``wolff``, ``langevin[:STEP]``,
        ``balanced[:STEP:BALANCE]``, ``second-order[:MOMENTUM]``, ``cyclical``, ``gwg[:INDICES]``, ``pas[:INDICES]``,
        ``locally-balanced``, ``hamming-ball[:SITES:RADIUS]``, ``random-walk[:RADIUS]``, ``exchange[:BETA:…:1]``,
        ``isoenergetic[:BETA:…:1]``. On bits ``pas`` takes an odd number of indices, below that of the sites.
    seconds : float, optional
        Ends the run after so many seconds, at the draw that it has come to.
    threads : int
        0 is one a core.
    progress : bool
        Shows a bar on standard error, where that is a terminal.
    checkpoint : path, optional
        Keeps the run in a file, and goes on from it where it is there. All other settings must be the same, ``draws`` too. The file is
        written every half a minute and when the run is stopped. It has the warm-up, but no pilot runs and no tuning.

    Returns
    -------
    Samples

    Raises
    ------
    ValueError
        Where a setting is illegal or the model cannot be sampled so.
    OSError
        Where the checkpoint cannot be read or written.

    Warns
    -----
    SamplingWarning
        When the run ends: where chains do not agree, or have fewer than 100 effective samples. It is found by the energy and at most 16
        sites; :meth:`Samples.summary` looks at all.

    Examples
    --------
    >>> import bitmc
    >>> model = bitmc.ising([[0, 0.5], [0.5, 0]])
    >>> samples = bitmc.sample(model, draws=2000, chains=8)
    >>> s = 2.0 * samples.states - 1
    >>> bool(abs((s[:, :, 0] * s[:, :, 1]).mean() - 0.4621) < 0.03)    # tanh(J)
    True
    """
    if not isinstance(sampler, str):
        raise ValueError(f"sampler: a name is needed, got {sampler!r}")
    checked = settings(
        model, draws, chains, warmup, thin, seed, temperature, sampler, seconds, threads, progress, checkpoint
    )
    return Samples(said(f"model, sampler {sampler!r}", lambda: _bitmc.sample(*checked)))._warned(2)


def settings(
    model: Model,
    draws: int,
    chains: int,
    warmup: int | None,
    thin: int | None,
    seed: int,
    temperature: float,
    sampler: str,
    seconds: float | None,
    threads: int,
    progress: bool,
    checkpoint: Any,
) -> tuple[Any, ...]:
    """The settings of a run, checked."""
    return (
        _model(model),
        whole("draws", draws, 1, 10**12),
        whole("chains", chains, 1, 100_000),
        None if warmup is None else whole("warmup", warmup),
        None if thin is None else whole("thin", thin, 1),
        whole("seed", seed),
        real("temperature", temperature, 1e-20, 1e20),
        sampler,
        None if seconds is None else real("seconds", seconds, 0.0, 1e9),
        whole("threads", threads, 0, 1024),
        flag("progress", progress),
        None if checkpoint is None else path_of("checkpoint", checkpoint),
    )


@dataclass(frozen=True)
class Annealed:
    """States of low energy.

    Attributes
    ----------
    states : array
        Shape states × sites, the lowest energy first; with `reads` one row a run, in the order of the runs.
    energies : array
        E of each.
    counts : array
        How many runs ended in each; with `reads` all 1.
    runs, sweeps : int
        Runs that ended, and sweeps of all runs.
    hottest, coldest : float
        The temperatures of a run.
    target_run : int, optional
        The run that reached the target, counted from 0; None where none did. With `reads` it is a row of `states`.
    target_seconds : float, optional
        Seconds from the start of the search to the end of that run.
    """

    states: NDArray[Any] = field(repr=False)
    energies: NDArray[np.float64]
    counts: NDArray[np.int64] = field(repr=False)
    runs: int
    sweeps: int
    hottest: float
    coldest: float
    target_run: int | None = None
    target_seconds: float | None = field(default=None, compare=False)


def anneal(
    model: Model,
    seconds: float | None = None,
    sweeps: int | None = None,
    *,
    reads: int | None = None,
    temperatures: tuple[float, float] | None = None,
    method: str = "annealing",
    target: float | None = None,
    seed: int = 1,
    threads: int = 0,
    progress: bool = False,
) -> Annealed:
    """Looks for states of low energy, by simulated annealing or replica exchange.

    Without `reads`, runs of rising length follow each other until the seconds or the sweeps of all runs are spent, ten seconds
    where neither is given. Ctrl-C ends the search, and what was found is returned.

    Parameters
    ----------
    model : Model
    seconds : float, optional
    sweeps : int, optional
        Runs begin until so many are spent by all together: the same answer on any machine. There is one run of 1000 at least, and
        of an Ising model sixteen. With `reads` those of each run, 1000 where not given.
    reads : int, optional
        Makes so many runs and returns the end of each. With `target` there may be fewer.
    temperatures : (hottest, coldest), optional
        Between them the temperature falls geometrically. Where not given they are chosen by the changes of energy at random
        states, the temperature falls linearly, and sweeps at temperature 0 follow. Of replica exchange they are the ends of
        the ladder.
    method : str
        ``annealing``; ``exchange``, replica exchange; or ``isoenergetic``, the same with two ladders that exchange clusters.
        A run of these has so many sweeps of each replica, and ends with the lowest state that any of them had.
    target : float, optional
        Ends the search with the first run that reaches this energy, as it is in 32 bits. Ising models and QUBOs are annealed in
        batches of 16 or 512 runs. Without `reads` only the best end of each batch is kept, and a batch counts as one run. With
        `reads` all ends of the batches up to that run are there.
    seed, threads, progress
        As of :func:`sample`.

    Returns
    -------
    Annealed

    Examples
    --------
    >>> import bitmc
    >>> model = bitmc.ising({(0, 1): 1.0, (1, 2): 1.0, (2, 3): -1.0}, [0.5, 0, 0, 0])
    >>> found = bitmc.anneal(model, sweeps=1000)
    >>> found.states[0], float(found.energies[0])
    (array([1, 1, 1, 0], dtype=uint8), -3.5)
    """
    inner = _model(model)
    if seconds is not None and sweeps is not None and reads is None:
        raise ValueError("seconds, sweeps: one of these is needed, not both")
    if seconds is None and sweeps is None and reads is None:
        seconds = 10.0
    ends = None
    if temperatures is not None:
        try:
            hottest, coldest = temperatures
        except (TypeError, ValueError):
            raise ValueError(f"temperatures: a pair (hottest, coldest) is needed, got {temperatures!r}") from None
        ends = real("temperatures", hottest, 1e-20, 1e20), real("temperatures", coldest, 1e-20, 1e20)
        if ends[0] < ends[1]:
            raise ValueError("temperatures: the first one must not be below the second")
    states, energies, told = _bitmc.anneal(
        inner,
        None if seconds is None else real("seconds", seconds, 0.0, 1e9 - 1, above=True),
        None if sweeps is None else whole("sweeps", sweeps, 1),
        None if reads is None else whole("reads", reads, 1, 10**9),
        ends,
        one_of("method", method, ("annealing", "exchange", "isoenergetic")),
        None if target is None else real("target", target, -1e30, 1e30),
        whole("seed", seed),
        whole("threads", threads, 0, 1024),
        flag("progress", progress),
    )
    facts = json.loads(told)
    warning = facts.pop("warning")
    if warning is not None:
        warnings.warn(warning, SamplingWarning, stacklevel=2)
    counts = facts.pop("states_runs")
    counts = np.ones(len(energies), np.int64) if reads is not None else np.array(counts, np.int64)
    return Annealed(states, energies, counts, **facts)


@dataclass(frozen=True)
class LogZ:
    """An estimate of ln Z, with its standard error and what makes it doubtful."""

    log_z: float
    error: float
    runs: int
    temperatures: int
    effective_runs: float
    warning: str | None
    families: int | None = None


def log_z(
    model: Model,
    runs: int | None = None,
    temperatures: int | None = None,
    temperature: float = 1.0,
    seed: int = 1,
    threads: int = 0,
    progress: bool = False,
    *,
    method: str = "importance",
    population: int | None = None,
    base: Any = None,
) -> LogZ:
    """``ln Z``, ``Z = Σ exp(−E(x)/T)``, by annealed importance sampling or population annealing.

    Parameters
    ----------
    model : Model
    runs : int
        Independent runs of importance sampling, at least two; 64 where not given.
    temperatures : int
        Temperatures of such a run, with one Gibbs sweep at each; 1000 where not given.
    temperature, seed, threads, progress
        As of :func:`sample`.
    method : str
        ``importance``, or ``population``: replicas that pass the temperatures together, of which likely ones are copied.
    population : int
        Replicas of population annealing; 1000 where not given.
    base : array of states, sites in the last place
        Begin at independent sites whose values are as frequent as in these states, not at uniform ones: draws of
        :func:`sample`, or the data that an RBM has learned. Fewer temperatures are then enough, down to 200. A mode from which
        no such state comes may be missed: ln Z is then too low.

    Returns
    -------
    LogZ

    Warns
    -----
    SamplingWarning
        Where the estimate is doubtful.

    Examples
    --------
    >>> import bitmc, math
    >>> estimate = bitmc.log_z(bitmc.ising([[0, 0.5], [0.5, 0]]))
    >>> abs(estimate.log_z - math.log(4 * math.cosh(0.5))) < 5 * estimate.error
    True
    """
    inner = _model(model)
    if one_of("method", method, ("importance", "population")) == "importance":
        if population is not None:
            raise ValueError('population: it belongs to method="population"')
    elif runs is not None or temperatures is not None:
        raise ValueError('runs, temperatures: they belong to method="importance"')
    else:
        population = 1000 if population is None else population
    told = _bitmc.log_z(
        inner,
        None if runs is None else whole("runs", runs, 2, 10**9),
        None if temperatures is None else whole("temperatures", temperatures, 1, 10**9),
        None if population is None else whole("population", population, 2, 10**8),
        None if base is None else _states("base", base, model.sites),
        real("temperature", temperature, 1e-20, 1e20),
        whole("seed", seed),
        whole("threads", threads, 0, 1024),
        flag("progress", progress),
    )
    estimate = LogZ(**json.loads(told, parse_float=_number))
    if estimate.warning is not None:
        warnings.warn(estimate.warning, SamplingWarning, stacklevel=2)
    return estimate


def _states(name: str, value: Any, sites: int) -> NDArray[np.uint16]:
    """States as rows."""
    found = array(name, value)
    if found.shape[-1:] != (sites,):
        raise ValueError(f"{name}: shape n × {sites} is needed, got {shown(found.shape)}")
    if found.size and not ((0 <= found) & (found < 65536) & (found == np.floor(found))).all():
        raise ValueError(f"{name}: states are whole numbers from 0")
    return np.ascontiguousarray(found.reshape(-1, sites), dtype=np.uint16)
