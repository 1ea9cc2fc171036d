"""Simulated annealing as a sampler of dimod.

>>> import dimod
>>> from bitmc.dimod import BitmcSampler
>>> found = BitmcSampler().sample_ising({"a": 0.5}, {("a", "b"): -1.0}, num_reads=10, seed=1)
>>> found.first.sample, float(found.first.energy)
({'a': np.int8(-1), 'b': np.int8(-1)}, -1.5)
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import dimod

from ._arrays import real, whole
from ._models import ising, qubo
from ._runs import anneal


class BitmcSampler(dimod.Sampler):  # type: ignore[misc, name-defined]
    """Simulated annealing by Gibbs sweeps, sixteen reads in the lanes of a register, over all cores.

    The parameters of :meth:`sample`:

    num_reads : int
        Reads, each from its own random state; 1 where not given.
    beta_range : (float, float), optional
        The inverse temperatures at which a read begins and ends; between them β rises geometrically. Where not given they are
        chosen by the changes of energy at random states, the temperature falls linearly, and sweeps at temperature 0 follow.
    num_sweeps : int
        Sweeps of each read; 1000 where not given.
    seed : int, optional
        The same seed gives the same reads, on any machine. Where not given one is drawn, and ``SampleSet.info`` has it.
    time_limit : float, optional
        After so many seconds no read begins, and those on their way are given up; the first reads are always there.
    num_threads : int
        0 is one a core; the reads do not depend on it.
    """

    def __init__(self) -> None:
        names = ("num_reads", "beta_range", "num_sweeps", "seed", "time_limit", "num_threads")
        self._parameters: dict[str, list[str]] = {name: [] for name in names}

    @property
    def parameters(self) -> Mapping[str, list[str]]:
        """The parameters of :meth:`sample`."""
        return MappingProxyType(self._parameters)

    @property
    def properties(self) -> Mapping[str, Any]:
        """None."""
        return MappingProxyType({})

    def sample(
        self,
        bqm: Any,
        *,
        num_reads: int | None = None,
        beta_range: tuple[float, float] | None = None,
        num_sweeps: int | None = None,
        seed: int | None = None,
        time_limit: float | None = None,
        num_threads: int = 0,
        **kwargs: Any,
    ) -> Any:
        """Reads of a binary quadratic model: see the class for the parameters.

        Returns
        -------
        dimod.SampleSet
            With energies by dimod, in the order of the reads. ``info`` has ``beta_range``, ``seed`` and ``timing``.

        Raises
        ------
        ValueError
            Where a parameter is illegal, or the model's numbers are too large or too far apart.
        """
        kwargs = self.remove_unknown_kwargs(**kwargs)
        reads = 1 if num_reads is None else whole("num_reads", num_reads, 1, 10**9)
        sweeps = 1000 if num_sweeps is None else whole("num_sweeps", num_sweeps, 1)
        threads = whole("num_threads", num_threads, 0, 1024)
        number = int(np.random.default_rng().integers(2**31)) if seed is None else whole("seed", seed)
        limit = None if time_limit is None else real("time_limit", time_limit, 0.0, 1e9 - 1, above=True)
        temperatures = None
        if beta_range is not None:
            try:
                first, last = beta_range
            except (TypeError, ValueError):
                raise ValueError(f"beta_range: two numbers are needed, got {beta_range!r}") from None
            ends = real("beta_range", first, 1e-20, 1e20), real("beta_range", last, 1e-20, 1e20)
            if ends[0] > ends[1]:
                raise ValueError(f"beta_range: the first number must not be above the second, got {beta_range!r}")
            temperatures = 1 / ends[0], 1 / ends[1]
        if not isinstance(bqm, dimod.BinaryQuadraticModel):
            raise TypeError(f"bqm: a dimod.BinaryQuadraticModel is needed, got {type(bqm).__name__}")
        variables = list(bqm.variables)
        if not variables:
            return dimod.SampleSet.from_samples_bqm(  # type: ignore[no-untyped-call]
                (np.empty((reads, 0), np.int8), []), bqm
            )
        begun = time.perf_counter()
        vectors = bqm.to_numpy_vectors(variable_order=variables)
        edges = np.stack([vectors.quadratic.row_indices, vectors.quadratic.col_indices], axis=1)
        if bqm.vartype is dimod.SPIN:
            model = ising((edges, -vectors.quadratic.biases), -vectors.linear_biases)
        else:
            model = qubo((edges, vectors.quadratic.biases), vectors.linear_biases)
        prepared = time.perf_counter()
        found = anneal(
            model, limit, sweeps, reads=reads, temperatures=temperatures, seed=number, threads=threads
        )
        sampled = time.perf_counter()
        states = found.states.astype(np.int8)
        if bqm.vartype is dimod.SPIN:
            states = 2 * states - 1
        made = dimod.SampleSet.from_samples_bqm((states, variables), bqm)  # type: ignore[no-untyped-call]
        made.info.update(
            beta_range=(1 / found.hottest, 1 / found.coldest),
            seed=number,
            timing={"preprocessing_ns": int(1e9 * (prepared - begun)), "sampling_ns": int(1e9 * (sampled - prepared))},
        )
        return made
