"""Exact means of small models by enumeration, in float64, from formulas that share nothing with the package."""

import itertools

import numpy as np


def states(arities):
    return np.array(list(itertools.product(*(range(n) for n in arities))))


def means(arities, energy, temperature=1.0):
    """Means of the values, and of E."""
    x = states(arities)
    e = np.array([energy(row) for row in x], dtype=np.float64)
    p = np.exp(-(e - e[np.isfinite(e)].min()) / temperature)
    p /= p.sum()
    e[~np.isfinite(e)] = 0.0
    return np.append(p @ x, p @ e)


def log_z(arities, energy):
    e = np.array([energy(row) for row in states(arities)], dtype=np.float64)
    least = e.min()
    return np.log(np.exp(-(e - least)).sum()) - least


def distance(samples, exact):
    """The largest difference to exact means, in standard errors that come from the spread of the chains' means."""
    chains = np.concatenate([samples.states.mean(axis=1), samples.energy.mean(axis=1)[:, None]], axis=1)
    error = chains.std(axis=0, ddof=1) / np.sqrt(len(chains))
    return (np.abs(chains.mean(axis=0) - exact) / np.maximum(error, 1e-9)).max()
