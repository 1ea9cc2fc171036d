"""Arrays checked with the argument's name."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Edges = tuple[NDArray[np.uint32], NDArray[np.uint32], Doubles]

MOST_SITES = 10**8
"""More would be a slip: a model would take gigabytes before its first coupling."""

_FLOAT32_MAX = float(np.finfo(np.float32).max)


def array(name: str, value: Any) -> NDArray[Any]:
    """An array of numbers: of NumPy, JAX, PyTorch, or nested lists."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name}: a masked array is not taken: fill it first")
    if hasattr(value, "toarray"):
        raise ValueError(f"{name}: a dense array is needed here, got a sparse matrix")
    try:
        found = np.asarray(value)
    except Exception as error:
        raise ValueError(f"{name}: not an array of numbers ({error})") from None
    if found.dtype.kind not in "buif":
        raise ValueError(f"{name}: real numbers are needed, got {found.dtype}")
    return found


def told(name: str, value: Any) -> NDArray[Any]:
    """What a function says of states, which are unsigned numbers."""
    found = array(name, value)
    if found.dtype.kind == "u":
        raise ValueError(
            f"{name}: {found.dtype} cannot be below 0, so that a difference of states may have wrapped around: "
            "compute with x.astype(float)"
        )
    return found


def shown(shape: tuple[int, ...]) -> str:
    return "a number" if shape == () else " × ".join(map(str, shape))


def numbers(name: str, value: Any, shape: tuple[int | None, ...], kind: type = np.float32) -> NDArray[Any]:
    """Finite numbers of a shape, of which None is any length."""
    found = array(name, value)
    if len(found.shape) != len(shape) or any(n is not None and n != m for n, m in zip(shape, found.shape)):
        need = " × ".join("n" if n is None else str(n) for n in shape)
        raise ValueError(f"{name}: shape {need} is needed, got {shown(found.shape)}")
    with np.errstate(over="ignore", invalid="ignore"):
        made: NDArray[Any] = np.ascontiguousarray(found, dtype=kind)
    bad = np.flatnonzero(~(np.abs(made) <= _FLOAT32_MAX))
    if bad.size:
        place = [int(i) for i in np.unravel_index(bad[0], made.shape)]
        raise ValueError(f"{name}: {name}{place} is {found[tuple(place)]}: a finite number of 32 bits is needed")
    return made


def flags(name: str, value: Any, length: int) -> NDArray[np.bool_]:
    """Zeros and ones, one each."""
    found = array(name, value)
    if found.shape != (length,):
        raise ValueError(f"{name}: shape {length} is needed, got {shown(found.shape)}")
    if not np.isin(found, (0, 1)).all():
        raise ValueError(f"{name}: 0 or 1 is needed in each place")
    return np.ascontiguousarray(found, dtype=np.bool_)


def sites_of(name: str, value: Any) -> NDArray[np.uint32]:
    """Numbers of sites, in any shape."""
    found = array(name, value)
    if found.size == 0:
        return found.astype(np.uint32)
    if found.dtype.kind not in "ui" or found.min() < 0 or found.max() >= MOST_SITES:
        raise ValueError(f"{name}: sites are whole numbers from 0 to {MOST_SITES - 1}")
    return np.ascontiguousarray(found, dtype=np.uint32)


def whole(name: str, value: Any, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number within bounds."""
    try:
        found = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: a whole number is needed, got {value!r}") from None
    if isinstance(value, (bool, np.bool_)) or not least <= found <= most:
        raise ValueError(f"{name}: a whole number from {least} to {most} is needed, got {value!r}")
    return found


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: True or False is needed, got {value!r}")
    return bool(value)


def one_of(name: str, value: Any, names: tuple[str, ...]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{name}: {', '.join(names[:-1])} or {names[-1]} is needed, got {value!r}")
    return value


def real(name: str, value: Any, least: float = 0.0, most: float = _FLOAT32_MAX, above: bool = False) -> float:
    """A number within bounds; `above` excludes the least one."""
    try:
        found = math.nan if isinstance(value, (str, bytes, bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: a number is needed, got {value!r}") from None
    if not (least < found if above else least <= found) or not found <= most:
        word = "above" if above else "from"
        raise ValueError(f"{name}: a number {word} {least:g} to {most:g} is needed, got {value!r}")
    return found


def path_of(name: str, value: Any) -> str:
    try:
        return os.fsdecode(os.fspath(value))
    except TypeError:
        raise ValueError(f"{name}: a path is needed, got {value!r}") from None


def said(what: str, make: Callable[[], T]) -> T:
    """What is refused, behind the names of the arguments that it may be about."""
    try:
        return make()
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def _pairs(
    name: str, first: NDArray[np.uint32], second: NDArray[np.uint32], weights: Doubles, sites: int
) -> tuple[Edges, Doubles]:
    """Edges off the diagonal, each once with the weights of both directions added up, and the diagonal."""
    if first.size and max(int(first.max()), int(second.max())) >= sites:
        raise ValueError(f"{name}: site {max(int(first.max()), int(second.max()))}: the model has {sites} sites")
    diagonal = np.zeros(sites)
    same = first == second
    np.add.at(diagonal, first[same], weights[same])
    off = ~same
    low, high = np.minimum(first[off], second[off]), np.maximum(first[off], second[off])
    keys, inverse = np.unique(low.astype(np.uint64) * np.uint64(sites) + high, return_inverse=True)
    with np.errstate(over="ignore"):
        total = np.bincount(inverse, weights[off], len(keys))
        made = total.astype(np.float32)
    if not np.isfinite(made).all():
        raise ValueError(f"{name}: the weights of an edge add up to too much")
    kept = made != 0
    keys, total = keys[kept], total[kept]
    edges = (keys // np.uint64(sites)).astype(np.uint32), (keys % np.uint64(sites)).astype(np.uint32), total
    return edges, diagonal


def _entries(name: str, found: Any, first: NDArray[np.uint32], second: NDArray[np.uint32]) -> Doubles:
    """The entries of a sparse matrix."""
    bad = np.flatnonzero(~np.isfinite(found.data)) if found.data.dtype.kind == "f" else np.empty(0, np.intp)
    if bad.size:
        at = int(bad[0])
        raise ValueError(f"{name}: {name}[{first[at]}, {second[at]}] is {found.data[at]}: a finite number is needed")
    return numbers(name, found.data, (len(first),), np.float64)


def rounded(*exact: Doubles) -> tuple[list[Floats], float]:
    """Numbers of 32 bits, and how far they may put an energy off."""
    made = [np.ascontiguousarray(one, dtype=np.float32) for one in exact]
    return made, float(sum(np.abs(one - other).sum() for one, other in zip(exact, made)))


def added(name: str, one: Doubles, other: Doubles) -> Doubles:
    """Two linear parts of each site as one number, which must have both in 32 bits."""
    sums = one + other
    with np.errstate(over="ignore"):
        made = sums.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(made))
    if bad.size:
        raise ValueError(f"{name}: the linear coefficients of site {int(bad[0])} add up to too much")
    least = np.where((one == 0) | (other == 0), np.inf, np.minimum(np.abs(one), np.abs(other)))
    lost = np.flatnonzero(np.abs(made - sums) > least / 64)
    if lost.size:
        site = int(lost[0])
        raise ValueError(f"{name}: {least[site]:g} is lost in 32 bits beside the other linear coefficient of site {site}")
    return sums


def _is_row(value: Any) -> bool:
    """Whether it may be the first of two rows of a matrix; else it is edges, or wrong."""
    try:
        return np.ndim(value) == 1 and len(value) > 0
    except (TypeError, ValueError):
        return False


def matrix(
    name: str, value: Any, sites: int | None, symmetric: bool
) -> tuple[int, Edges, Doubles]:
    """Sites, edges and the diagonal of a matrix: dense, sparse, a mapping of pairs, or a pair (edges, weights).

    A symmetric matrix has every edge twice, and an edge weighs what one of its entries does. In the other forms every edge
    is there once, and `sites` says how many sites there are.
    """
    if isinstance(value, Mapping) and not hasattr(value, "tocoo"):
        try:
            listed = np.array([[operator.index(i), operator.index(j)] for i, j in value], dtype=np.int64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name}: pairs of sites, whole numbers, are needed as keys") from None
        value = (listed.reshape(-1, 2), list(value.values()))
    if isinstance(value, tuple) and len(value) == 2 and not _is_row(value[0]):
        ends = sites_of(f"{name}: edges", value[0])
        if ends.size == 0:
            ends = ends.reshape(0, 2)
        if ends.ndim != 2 or ends.shape[1] != 2:
            raise ValueError(f"{name}: edges: shape n × 2 is needed, got {shown(ends.shape)}")
        weights = numbers(f"{name}: weights", value[1], (len(ends),), np.float64)
        count = sites if sites is not None else int(ends.max()) + 1 if ends.size else 0
        if symmetric and len(ends):
            keys = np.sort(ends, axis=1)
            if len(np.unique(keys, axis=0)) != len(ends):
                raise ValueError(f"{name}: edges: two of them join the same sites")
        edges, diagonal = _pairs(name, ends[:, 0], ends[:, 1], weights, count)
        return count, edges, diagonal
    if hasattr(value, "tocoo"):
        found = value.tocoo()
        if found.ndim != 2 or found.shape[0] != found.shape[1]:
            raise ValueError(f"{name}: a square matrix is needed, got {shown(found.shape)}")
        first, second = sites_of(name, found.row), sites_of(name, found.col)
        weights = _entries(name, found, first, second)
        rounded = found.astype(np.float32)
        if symmetric and abs(rounded - rounded.T).sum() != 0:
            raise ValueError(f"{name}: the matrix must be symmetric: {name} + {name}.T of one triangle is")
        size = found.shape[0]
    else:
        dense = numbers(name, value, (None, None), np.float64)
        size = dense.shape[0]
        if dense.shape[1] != size:
            raise ValueError(f"{name}: a square matrix is needed, got {shown(dense.shape)}")
        rounded = dense.astype(np.float32)
        if symmetric and not np.array_equal(rounded, rounded.T):
            i, j = (int(k) for k in np.argwhere(rounded != rounded.T)[0])
            hint = "" if isinstance(value, np.ndarray) or size != 3 else "; edges are given as {(i, j): value}"
            raise ValueError(f"{name}: {name}[{i}, {j}] and {name}[{j}, {i}] differ: the matrix must be symmetric{hint}")
        rows, columns = np.nonzero(dense)
        first, second, weights = rows.astype(np.uint32), columns.astype(np.uint32), dense[rows, columns]
    if symmetric:
        # Of the two equal entries of an edge one counts.
        upper = first <= second
        first, second, weights = first[upper], second[upper], weights[upper]
    edges, diagonal = _pairs(name, first, second, weights, size)
    return size, edges, diagonal
