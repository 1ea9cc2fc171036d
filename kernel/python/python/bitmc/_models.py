"""Models from arrays and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _bitmc
from ._arrays import (
    MOST_SITES,
    Doubles,
    Edges,
    added,
    array,
    flag,
    flags,
    matrix,
    numbers,
    path_of,
    real,
    rounded,
    said,
    shown,
    sites_of,
    whole,
)


class Model:
    """What is sampled: ``p(x) ∝ exp(−E(x)/T)`` over sites of a few values each.

    The functions of this package make one; it cannot be changed.

    >>> import bitmc
    >>> bitmc.qubo([[-1, 2], [0, -1]])
    <bitmc.Model: QUBO: 2 sites of 2 values, 1 edges>
    """

    __slots__ = ("_inner",)
    _inner: _bitmc.Model

    def __init__(self) -> None:
        raise TypeError("a model is made by bitmc.ising, qubo, rbm, potts, factors, gaussian, logistic, polynomial or read")

    @classmethod
    def _of(cls, inner: _bitmc.Model) -> Model:
        made = object.__new__(cls)
        made._inner = inner
        return made

    @property
    def sites(self) -> int:
        """How many sites there are."""
        return self._inner.sites

    @property
    def kind(self) -> str:
        """What kind of model it is, in a word or two."""
        return self._inner.kind

    @property
    def arities(self) -> list[int]:
        """How many values each site has."""
        return self._inner.arities

    def given(self, known: Mapping[int, int]) -> Model:
        """The same model with sites that hold known values.

        They replace what was known before, by another call or from a file; ``given({})`` forgets all.

        >>> import bitmc
        >>> model = bitmc.ising([[0, 1], [1, 0]]).given({0: 1})
        >>> int(bitmc.sample(model, draws=100, chains=4).states[:, :, 0].min())
        1
        """
        if not isinstance(known, Mapping):
            raise ValueError(f"known: a mapping from sites to values is needed, got {known!r}")
        pairs = [(whole("known: site", site), whole("known: value", value, 0, 65535)) for site, value in known.items()]
        return Model._of(said("known", lambda: self._inner.given(pairs)))

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, _: Any) -> Model:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a model cannot be pickled: make it again from its arrays or its file")

    def __repr__(self) -> str:
        return repr(self._inner)


def _matrix(
    name: str, value: Any, other: str, numbers: Any, sites: int | None, symmetric: bool
) -> tuple[int, Edges, Doubles]:
    """A matrix whose sites are counted by it, by `sites`, or by the numbers of another argument, one a site."""
    known = _sites(other, numbers, sites)
    count, edges, diagonal = matrix(name, value, known, symmetric)
    if sites is not None and known != count:
        raise ValueError(f"sites: {sites}, but {name} has {count} sites")
    return count, edges, diagonal


def _fields(name: str, value: Any, sites: int) -> Any:
    return np.zeros(sites) if value is None else numbers(name, value, (sites,), np.float64)


def _sites(name: str, value: Any, sites: int | None) -> int | None:
    """The number of sites, from an argument that has one number a site, or the argument `sites`."""
    if sites is not None:
        return whole("sites", sites, 1, MOST_SITES)
    return None if value is None else len(np.atleast_1d(array(name, value)))


def ising(J: Any, h: Any = None, *, sites: int | None = None) -> Model:
    """An Ising model, ``E = −Σ J s s′ − Σ h s`` over spins ``s = 2x − 1``; each edge counts once.

    Parameters
    ----------
    J : array, scipy.sparse matrix, (edges, weights), or mapping
        A symmetric matrix with zeros on its diagonal, or each edge once: an array of shape n × 2 and its weights, or
        ``{(i, j): weight}``.
    h : array, optional
        One field a site.
    sites : int, optional
        The number of sites, where J is edges and there is no h.

    Examples
    --------
    >>> import bitmc
    >>> bitmc.ising(([[0, 1], [1, 2]], [1.0, -1.0]))
    <bitmc.Model: Ising model: 3 sites of 2 values, 2 edges>
    """
    count, (a, b, weights), diagonal = _matrix("J", J, "h", h, sites, True)
    if diagonal.any():
        site = int(np.flatnonzero(diagonal)[0])
        raise ValueError(f"J: J[{site}, {site}] is not 0: a spin has no coupling to itself")
    (w, fields), lost = rounded(weights, _fields("h", h, count))
    return Model._of(said("J, h", lambda: _bitmc.Model.ising(count, a, b, w, fields, lost)))


def qubo(Q: Any, linear: Any = None, *, sites: int | None = None) -> Model:
    """A quadratic form over bits, ``E = xᵀQx``, plus ``linear · x``.

    Parameters
    ----------
    Q : array, scipy.sparse matrix, (edges, weights), or mapping
        It need not be symmetric. Its diagonal is the linear part.
    linear : array, optional
        More linear coefficients, one a site.
    sites : int, optional
        The number of sites, where Q is edges.

    Examples
    --------
    >>> import bitmc
    >>> bitmc.anneal(bitmc.qubo({(0, 0): -1, (0, 1): 2, (1, 1): -2}), sweeps=1000).states[0]
    array([0, 1], dtype=uint8)
    """
    count, (a, b, weights), diagonal = _matrix("Q", Q, "linear", linear, sites, False)
    coefficients = added("Q, linear", diagonal, _fields("linear", linear, count))
    (w, c), lost = rounded(weights, coefficients)
    return Model._of(said("Q, linear", lambda: _bitmc.Model.qubo(count, a, b, w, c, lost)))


def potts(J: Any, arity: int, fields: Any = None, *, sites: int | None = None) -> Model:
    """A Potts model, ``E = −Σ J [x = x′] − Σ fields[site, x]``.

    Parameters
    ----------
    J : array, scipy.sparse matrix, (edges, weights), or mapping
        As of :func:`ising`.
    arity : int
        Values of a site.
    fields : array, optional
        Shape sites × arity.
    sites : int, optional
        The number of sites, where J is edges.

    Examples
    --------
    >>> import bitmc
    >>> bitmc.potts({(0, 1): 1.0}, 3)
    <bitmc.Model: Potts model: 2 sites of 3 values, 1 edges>
    """
    arity = whole("arity", arity, 2, 65536)
    count, (a, b, weights), diagonal = _matrix("J", J, "fields", fields, sites, True)
    if diagonal.any():
        site = int(np.flatnonzero(diagonal)[0])
        raise ValueError(f"J: J[{site}, {site}] is not 0: a site has no coupling to itself")
    each = np.zeros(0) if fields is None else numbers("fields", fields, (count, arity), np.float64).ravel()
    (w, linear), lost = rounded(weights, each)
    return Model._of(said("J, arity, fields", lambda: _bitmc.Model.potts(count, arity, a, b, w, linear, lost)))


def rbm(W: Any, a: Any = None, b: Any = None) -> Model:
    """A restricted Boltzmann machine, hidden units summed out: ``E(v) = −a·v − Σ ln(1 + exp(b + vᵀW))``.

    Parameters
    ----------
    W : array
        Weights, shape visible × hidden. (scikit-learn's ``components_`` is its transpose.)
    a, b : array, optional
        Biases of the visible and of the hidden units.

    Examples
    --------
    >>> import bitmc
    >>> bitmc.rbm([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]])
    <bitmc.Model: RBM: 3 sites of 2 values, 2 hidden units>
    """
    exact = numbers("W", W, (None, None), np.float64)
    (w, visible, hidden), lost = rounded(exact, _fields("a", a, exact.shape[0]), _fields("b", b, exact.shape[1]))
    return Model._of(said("W, a, b", lambda: _bitmc.Model.rbm(w.ravel(), visible, hidden, lost)))


def factors(
    arities: Sequence[int], tables: Iterable[tuple[Sequence[int], Any]] | Mapping[tuple[int, ...], Any]
) -> Model:
    """A graphical model, ``p(x) ∝ Π t(x)``: tables of weights over at most three sites each.

    Parameters
    ----------
    arities : sequence of int
        Values of each site.
    tables : iterable of (sites, weights), or mapping from sites to weights
        The weights have one axis for each of the sites. A weight of 0 forbids a combination.

    Examples
    --------
    >>> import bitmc
    >>> bitmc.factors([2, 3], [([0, 1], [[1, 2, 0], [1, 1, 5]])])
    <bitmc.Model: graphical model: 2 sites of 2 to 3 values, 1 tables>
    """
    values = array("arities", arities)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "ui" or values.min() < 1 or values.max() > 65535:
        raise ValueError("arities: a list of whole numbers from 1 to 65535, one a site, is needed")
    try:
        listed = list(tables.items() if isinstance(tables, Mapping) else tables)
    except TypeError:
        raise ValueError(f"tables: pairs (sites, weights) are needed, got {tables!r}") from None
    made = []
    for number, table in enumerate(listed):
        name = f"tables[{number}]"
        try:
            members, weights = table
        except (TypeError, ValueError):
            raise ValueError(f"{name}: a pair (sites, weights) is needed") from None
        of = sites_of(name, members)
        if of.ndim != 1 or (of.size and of.max() >= values.size):
            raise ValueError(f"{name}: sites below {values.size} are needed")
        need = tuple(int(values[site]) for site in of)
        found = array(name, weights)
        if found.shape != need:
            raise ValueError(f"{name}: weights of shape {shown(need)} are needed, got {shown(found.shape)}")
        made.append((of, np.ascontiguousarray(found, dtype=np.float64).ravel()))
    return Model._of(said("arities, tables", lambda: _bitmc.Model.factors(values.astype(np.uint16), made)))


def gaussian(A: Any, mean: Any, arity: int) -> Model:
    """A Gaussian over whole numbers 0 … arity − 1, ``E = ½ (x − mean)ᵀA(x − mean)``.

    Parameters
    ----------
    A : array, scipy.sparse matrix, (edges, weights), or mapping
        The precision matrix, symmetric; as edges, each once, the diagonal among them.
    mean : array
        One number a site.
    arity : int
        Values of a site.

    Examples
    --------
    >>> import bitmc
    >>> bitmc.gaussian([[1.0, 0.5], [0.5, 1.0]], [3.0, 4.0], arity=8)
    <bitmc.Model: Gaussian over whole numbers: 2 sites of 8 values, 1 edges>
    """
    arity = whole("arity", arity, 2, 65536)
    centre = numbers("mean", mean, (None,))
    size, (a, b, weights), diagonal = matrix("A", A, len(centre), True)
    if size != len(centre):
        raise ValueError(f"A: {len(centre)} × {len(centre)} is needed for this mean, got {size} × {size}")
    (w, variances), _ = rounded(weights, diagonal)
    return Model._of(said("A, mean, arity", lambda: _bitmc.Model.gaussian(arity, a, b, w, variances, centre)))


def logistic(X: Any, y: Any, prior: Any = None) -> Model:
    """Which coefficients of a logistic regression are there: ``E = Σ prior β + Σ ln(1 + exp(−m))``, ``m = (2y − 1) X·β``.

    Parameters
    ----------
    X : array
        Shape outcomes × coefficients.
    y : array
        Outcomes, 0 or 1.
    prior : array, optional
        What each coefficient costs.

    Examples
    --------
    >>> import bitmc
    >>> bitmc.logistic([[1.0, 0.2], [-1.0, 0.1], [2.0, -0.3]], [1, 0, 1])
    <bitmc.Model: logistic regression: 2 sites of 2 values, 3 outcomes>
    """
    design = numbers("X", X, (None, None))
    outcomes = flags("y", y, design.shape[0])
    (costs,), _ = rounded(_fields("prior", prior, design.shape[1]))
    return Model._of(said("X, y, prior", lambda: _bitmc.Model.logistic(design.ravel(), outcomes, costs)))


def polynomial(terms: Any, *, spins: bool = False, sites: int | None = None) -> Model:
    """A polynomial of any order, ``E = Σ w Π x`` over bits or ``E = Σ w Π s`` over spins.

    Parameters
    ----------
    terms : mapping or iterable of (sites, weight)
        ``{(0, 1, 2): −1.5}``. Terms over the same sites add up.
    spins : bool
        Whether the variables are −1 and 1; else they are 0 and 1. States are 0 and 1 in both cases.
    sites : int, optional
        The number of sites; else one more than the largest of the terms.

    Examples
    --------
    >>> import bitmc
    >>> bitmc.polynomial({(0, 1, 2): -1.5, (2,): 0.5})
    <bitmc.Model: polynomial: 3 sites of 2 values, 2 terms>
    """
    try:
        listed = list(terms.items() if isinstance(terms, Mapping) else terms)
    except TypeError:
        raise ValueError("terms: a mapping from sites to weights, or pairs (sites, weight), are needed") from None
    made, most = [], 0
    for number, term in enumerate(listed):
        name = f"terms[{number}]"
        try:
            of, weight = term
            members = list(of)
        except (TypeError, ValueError):
            raise ValueError(f"{name}: a pair of sites, as (0,) or (0, 2), and a weight is needed, got {term!r}") from None
        members = [whole(name, site, 0, MOST_SITES - 1) for site in members]
        made.append((members, real(name, weight, -3e38, 3e38)))
        most = max([most, *(site + 1 for site in members)])
    if sites is None and most == 0:
        raise ValueError("terms: none names a site; say with sites= how many there are")
    count = most if sites is None else whole("sites", sites, 1, MOST_SITES)
    of_spins = flag("spins", spins)
    return Model._of(said("terms", lambda: _bitmc.Model.polynomial(of_spins, count, made)))


def read(path: Any) -> Model:
    """A model from a file, by the end of its name: ``.uai``, ``.qubo``, ``.json`` of dimod, ``.poly``, ``.npy``, ``.npz``,
    ``.edges``, ``.csv``, ``.tsv``; ``.rudy``, ``.mc``, ``.txt`` or no end is a weighted graph.

    A weighted graph is E = Σ w s s′, whose lowest energy is the largest cut. A list of edges is E = −Σ J s s′ − Σ h s: the same
    numbers with the other sign. An ``.npy`` file is the matrix Q of a QUBO, E = xᵀQx. An ``.npz`` file is an Ising model by
    the arrays J and h, a QUBO by Q, an RBM by W, a and b. A network ``model.uai`` is read with the evidence in
    ``model.uai.evid`` or ``model.evid`` beside it. Sites are in the order of the file; labels of dimod are the ``site`` of each of
    ``samples.summary().sites``.

    Raises
    ------
    OSError
        Where the file cannot be read, or is no model: the text names the line.

    Examples
    --------
    >>> import bitmc, os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "triangle.rudy")
    >>> _ = open(path, "w").write("3 3\\n1 2 1\\n2 3 1\\n1 3 1\\n")
    >>> bitmc.read(path)
    <bitmc.Model: Ising model: 3 sites of 2 values, 3 edges>
    """
    return Model._of(_bitmc.Model.read(path_of("path", path)))
