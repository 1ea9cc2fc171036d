"""Samples discrete models: p(x) ∝ exp(−E(x)/T) over sites of a few values each.

Models come from arrays (:func:`ising`, :func:`qubo`, :func:`rbm`, :func:`potts`, :func:`factors`, :func:`gaussian`,
:func:`logistic`, :func:`polynomial`) or from a file (:func:`read`). :func:`sample` draws, :func:`replica_exchange` draws by
replicas at rising temperatures, :func:`anneal` looks for states of low energy, :func:`log_z` estimates ln Z. An energy of
your own is a function of a batch of states: :func:`langevin`. :func:`check` compares it with its gradient.

>>> import bitmc
>>> model = bitmc.ising([[0, 1], [1, 0]], [0.5, 0])
>>> samples = bitmc.sample(model, draws=500, chains=4)
>>> samples.states.shape, samples.states.dtype
((4, 500, 2), dtype('uint8'))
"""

from . import _builds  # noqa: I001  (before what uses the extension)
from ._check import Checked, check
from ._exchange import Exchanged, replica_exchange
from ._langevin import Chains, langevin
from ._models import Model, factors, gaussian, ising, logistic, polynomial, potts, qubo, rbm, read
from ._runs import Annealed, LogZ, Samples, SamplingWarning, Summary, anneal, log_z, sample

__version__ = "0.1.0"
build = _builds.chosen
"""The build of the extension that is loaded: ``baseline``, ``x86-64-v3`` or ``x86-64-v4``. The states do not depend on it."""

__all__ = [
    "Annealed",
    "Chains",
    "Checked",
    "Exchanged",
    "LogZ",
    "Model",
    "Samples",
    "SamplingWarning",
    "Summary",
    "anneal",
    "check",
    "factors",
    "gaussian",
    "ising",
    "langevin",
    "log_z",
    "logistic",
    "polynomial",
    "potts",
    "qubo",
    "rbm",
    "read",
    "replica_exchange",
    "sample",
]
