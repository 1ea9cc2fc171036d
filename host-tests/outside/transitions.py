"""Transition matrices of three samplers over small random models, written from the papers' formulas with numpy alone.

    python3 transitions.py > transitions.json        (numpy 2; the seed is fixed, so the file is always the same)

Nothing here knows the kernel: `tests/exact/outside.rs` compares the kernel's probabilities with the file. Gradients are taken by complex
steps, f'(x) = Im f(x + ih)/h, of the log density on the relaxed state, as automatic differentiation would take them.

* DMALA: Zhang, Liu, Liu 2022, Algorithm 1 with the test: q(y|x) = prod_i softmax_i(½ ∂f(x)·(y − x) − |y − x|²/(2α)).
  Bits and ordinal sites move on the line. Categorical sites are one-hot vectors.
* GWG: Grathwohl et al. 2021, Algorithm 1: one coordinate and value by softmax(½ d(x)), d the first-order differences; then the test.
* Gibbs: one systematic sweep, sites in their order.

Rows are states from which a step begins, in mixed radix with site 0 fastest.
"""
import itertools
import json

import numpy as np

STEP = 1e-30


class Model:
    """A log density over values; `relaxed` takes one row a site: a number (bits, spins, ordinal) or a one-hot vector."""

    def __init__(self, kind, arities, data):
        self.kind, self.arities, self.data = kind, arities, data
        self.one_hot = kind == "tables"
        # site 0 fastest
        self.states = [tuple(reversed(x)) for x in itertools.product(*[range(a) for a in reversed(arities)])]

    def relax(self, x):
        if self.one_hot:
            return [np.eye(arity, dtype=complex)[value] for arity, value in zip(self.arities, x)]
        return np.array(x, dtype=complex)

    def relaxed(self, v):
        data = self.data
        if self.kind == "spins":
            v = 2 * v - 1
        if self.kind in ("spins", "bits"):
            return sum(j * v[a] * v[b] for a, b, j in data["edges"]) + sum(h * s for h, s in zip(data["fields"], v))
        if self.kind == "gaussian":
            d = v - np.array(data["centre"])
            return -0.5 * d @ (np.array(data["matrix"]).reshape(len(v), len(v)) @ d)
        total = 0
        for table in data["tables"]:
            values = np.array(table["values"]).reshape([self.arities[site] for site in table["sites"]])
            for site in reversed(table["sites"]):
                values = values @ v[site]
            total += values
        return total

    def f(self, x):
        return self.relaxed(self.relax(x)).real

    def gradient(self, x):
        v = self.relax(x)
        if self.one_hot:
            out = []
            for site, arity in enumerate(self.arities):
                row = np.zeros(arity)
                for value in range(arity):
                    moved = [row.copy() for row in v]
                    moved[site][value] += 1j * STEP
                    row[value] = self.relaxed(moved).imag / STEP
                out.append(row)
            return out
        out = []
        for site in range(len(v)):
            moved = v.copy()
            moved[site] += 1j * STEP
            out.append(self.relaxed(moved).imag / STEP)
        return out

    def first_order(self, x):
        """For every site and value: the first-order change of f, and the squared distance of the move."""
        gradient = self.gradient(x)
        changes, distances = [], []
        for site, arity in enumerate(self.arities):
            values = np.arange(arity)
            if self.one_hot:
                changes.append(gradient[site] - gradient[site][x[site]])
                distances.append(np.where(values == x[site], 0.0, 2.0))
            else:
                changes.append(gradient[site] * (values - x[site]))
                distances.append((values - x[site]) ** 2.0)
        return changes, distances


def softmax(logits):
    weights = np.exp(logits - np.max(logits))
    return weights / weights.sum()


def tested(model, proposal):
    """The transition matrix of a proposal matrix with the Metropolis test."""
    f = np.array([model.f(x) for x in model.states])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.exp(f[None, :] - f[:, None]) * proposal.T / proposal
    matrix = np.where(proposal > 0, proposal * np.minimum(1, ratio), 0.0)
    np.fill_diagonal(matrix, 0)
    np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
    return matrix


def dmala(model, alpha):
    proposal = []
    for x in model.states:
        sites = [softmax(0.5 * change - distance / (2 * alpha)) for change, distance in zip(*model.first_order(x))]
        proposal.append([np.prod([site[value] for site, value in zip(sites, y)]) for y in model.states])
    return tested(model, np.array(proposal))


def gwg(model):
    number = {x: i for i, x in enumerate(model.states)}
    proposal = np.zeros((len(model.states),) * 2)
    for x in model.states:
        changes, _ = model.first_order(x)
        moves = [(site, value) for site, arity in enumerate(model.arities) for value in range(arity) if value != x[site]]
        for (site, value), p in zip(moves, softmax(np.array([0.5 * changes[site][value] for site, value in moves]))):
            proposal[number[x], number[x[:site] + (value,) + x[site + 1:]]] += p
    return tested(model, proposal)


def gibbs(model):
    number = {x: i for i, x in enumerate(model.states)}
    sweep = np.eye(len(model.states))
    for site, arity in enumerate(model.arities):
        update = np.zeros_like(sweep)
        for x in model.states:
            ends = [x[:site] + (value,) + x[site + 1:] for value in range(arity)]
            for end, p in zip(ends, softmax(np.array([model.f(end) for end in ends]))):
                update[number[x], number[end]] = p
        sweep = sweep @ update
    return sweep


def coarse(rng, size, deviation):
    """Multiples of 1/64: single precision holds them, and sums of them, exactly."""
    return (np.round(rng.normal(size=size, scale=deviation) * 64) / 64).tolist()


def models():
    rng = np.random.default_rng(20261125)
    for index in range(20):
        kind = ["spins", "bits", "tables", "gaussian", "tables"][index % 5]
        deviation = [0.4, 1.0, 2.5, 5.0][index // 5]
        if kind in ("spins", "bits"):
            arities = [2] * int(rng.integers(2, 4))
            pairs = list(itertools.combinations(range(len(arities)), 2))
            edges = [[a, b, j] for (a, b), j in zip(pairs, coarse(rng, len(pairs), deviation))]
            data = {"edges": edges, "fields": coarse(rng, len(arities), deviation)}
        elif kind == "gaussian":
            arities = [int(rng.integers(3, 5))] * 2 if index < 15 else [3, 3]
            off = coarse(rng, 1, deviation / 4)[0]
            diagonal = np.abs(coarse(rng, 2, deviation / 2)) + abs(off) + 0.125
            data = {"matrix": [diagonal[0], off, off, diagonal[1]], "centre": coarse(rng, 2, 1.0)}
        else:
            arities = rng.integers(2, 5, size=int(rng.integers(2, 4))).tolist()
            while np.prod(arities) > 9:
                arities[int(np.argmax(arities))] -= 1
            scopes = [[i] for i in range(len(arities))] + [list(s) for s in itertools.permutations(range(len(arities)), 2)][::2]
            if len(arities) == 3:
                scopes.append([2, 0, 1])
            data = {"tables": [{"sites": s, "values": coarse(rng, int(np.prod([arities[i] for i in s])), deviation)} for s in scopes]}
        yield Model(kind, arities, data), [0.1, 0.3, 1.0, 4.0][int(rng.integers(4))]


def main():
    rounded = lambda matrix: [float(f"{p:.7g}") for p in matrix.ravel()]
    print("[")
    rows = []
    for model, alpha in models():
        f = np.array([model.f(x) for x in model.states])
        distribution = softmax(f)
        for matrix in (dmala(model, alpha), gwg(model), gibbs(model)):
            assert np.abs(distribution @ matrix - distribution).max() < 1e-12  # the references themselves keep p
        rows.append(json.dumps({
            "kind": model.kind, "arities": model.arities, **model.data, "alpha": alpha,
            "dmala": rounded(dmala(model, alpha)), "gwg": rounded(gwg(model)), "gibbs": rounded(gibbs(model)),
        }))
    print(",\n".join(rows))
    print("]")


if __name__ == "__main__":
    main()
