"""Processor seconds to a target energy: the command bitmc beside dwave-samplers (simulated annealing, tabu) and peapods.

    pip install dwave-samplers numpy peapods
    cargo build --release -p bitmc-desktop
    python time_to_target.py ../../../target/release/bitmc ../../../examples/data/gset/G11.txt

G11 is taken to its best known cut, 564. Tori of 20 × 40 and 40 × 50, lattices of 8 × 8 × 8 with random signs and random graphs of 800 sites
with 6 % of all edges, are made from seeds. They are taken to the lowest energy that any program finds in this run. A time is the
mean over several seeds, of all threads and with the start of the program. Of dwave-samplers' annealing it is the best of some
numbers of sweeps a read: the time of a read over the share of reads that reach the target. peapods runs replica exchange at 16
temperatures, and is looked at every ten sweeps; its time is that of the sweeps alone.
"""

import argparse
import json
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from dwave.samplers import SimulatedAnnealingSampler, TabuSampler
from peapods import Ising

METHODS = ("annealing", "exchange", "isoenergetic")
SWEEPS = (1_000, 10_000, 100_000)


def lattice(shape, seed):
    site = np.arange(np.prod(shape)).reshape(shape)
    edges = np.concatenate([np.stack([site, np.roll(site, -1, axis)], -1).reshape(-1, 2) for axis in range(len(shape))])
    signs = np.random.default_rng(seed).choice([-1, 1], len(edges))
    return {(int(a), int(b)): int(w) for (a, b), w in zip(edges, signs)}


def graph_of(sites, share, weights, seed):
    """A random graph with this share of all edges."""
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(rng.random((sites, sites)) < share, 1))
    return {(int(a), int(b)): int(w) for (a, b), w in zip(pairs, rng.choice(weights, len(pairs)))}


def read(path):
    lines = [line.split() for line in Path(path).read_text().splitlines()[1:] if line.strip()]
    return {(int(a) - 1, int(b) - 1): int(w) for a, b, w in lines}


class Command:
    """The command, on a graph in a file."""

    def __init__(self, program, couplings, folder):
        self.program, self.file = program, Path(folder) / "graph.rudy"
        lines = [f"{1 + max(map(max, couplings))} {len(couplings)}"]
        self.file.write_text("\n".join(lines + [f"{a + 1} {b + 1} {w}" for (a, b), w in couplings.items()]) + "\n")

    def run(self, method, seed, seconds, target=None):
        """Processor seconds, the lowest energy, and whether the target was reached."""
        words = [self.program, "anneal", self.file, "--method", method, "--seed", str(seed), "--seconds", str(seconds)]
        words += ["--threads", "1", "--json", "--quiet"] + ([] if target is None else ["--target", str(target)])
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return spent, found["states"][0]["energy"], "target" in found


def reads(couplings, sweeps, seconds, seed):
    """Energies of reads of dwave-samplers, and the processor seconds of one, until so many seconds are spent."""
    energies, begun, sampler = [], time.process_time(), SimulatedAnnealingSampler()
    while (spent := time.process_time() - begun) < seconds or not energies:
        count = 1 if sweeps >= 100_000 else 8
        found = sampler.sample_ising({}, couplings, num_reads=count, num_sweeps=sweeps, seed=seed + len(energies))
        energies.extend(found.record.energy)
    return np.array(energies), (time.process_time() - begun) / len(energies)


def tabu(couplings, target, seconds, seed):
    """Processor seconds of a tabu search, and whether it reached the target."""
    # It compares energies of bits without their constant.
    threshold = target - sum(couplings.values())
    begun = time.process_time()
    found = TabuSampler().sample_ising(
        {}, couplings, num_reads=1, seed=seed, timeout=int(1000 * seconds), energy_threshold=threshold
    )
    return time.process_time() - begun, found.first.energy <= target + 1e-6


def tempering(couplings, shape, target, seconds):
    """Processor seconds of replica exchange by peapods, and whether any replica reached the target."""
    edges, signs = np.array(list(couplings)), np.array(list(couplings.values()))
    # One forward neighbour an axis, in the order that `lattice` made the edges; peapods has E = −Σ J s s.
    forward = np.moveaxis(-signs.reshape(len(shape), *shape), 0, -1).astype(np.float32, order="C")
    model = Ising(shape, couplings=forward, temperatures=np.geomspace(0.4, 2.0, 16).astype(np.float32))
    spent = 0.0
    while spent < seconds:
        begun = time.process_time()
        model.sample(10, pt_interval=1, warmup_ratio=0.0)
        spent += time.process_time() - begun
        spins = np.asarray(model._sim.get_spins()).reshape(-1, int(np.prod(shape)))
        if ((spins[:, edges[:, 0]] * spins[:, edges[:, 1]]) @ signs).min() <= target + 1e-6:
            return spent, True
    return spent, False


def row(name, couplings, target, options, folder, shape=None):
    """Mean seconds to the target of each program; more than what was spent where it was never reached."""
    command = Command(options.program, couplings, folder)
    theirs = {sweeps: reads(couplings, sweeps, options.seconds, 1000 * sweeps) for sweeps in SWEEPS}
    if target is None:
        ours = [command.run(method, 1, options.seconds / 4)[1] for method in METHODS]
        target = min(ours + [energies.min() for energies, _ in theirs.values()])
    times = {}
    for method in METHODS:
        # Each seed has the same time; a seed without the target counts with what it spent (the estimate of an exponential time).
        found = [command.run(method, seed, options.seconds, target) for seed in range(1, options.seeds + 1)]
        times[method] = (sum(spent for spent, _, _ in found), sum(hit for _, _, hit in found))
    best = min(theirs.values(), key=lambda told: told[1] * len(told[0]) / max(np.sum(told[0] <= target + 1e-6), 0.5))
    times["dwave-samplers"] = (best[1] * len(best[0]), int(np.sum(best[0] <= target + 1e-6)))
    seeds = range(1, options.seeds + 1)
    others = {"tabu": [tabu(couplings, target, options.seconds, seed) for seed in seeds]}
    if shape is not None:
        others["peapods"] = [tempering(couplings, shape, target, options.seconds) for _ in seeds]
    for method, found in others.items():
        times[method] = (sum(spent for spent, _ in found), sum(hit for _, hit in found))
    shown = [f"{spent / hits:.3g}" if hits else f"> {spent:.3g}" for spent, hits in times.values()]
    shown += [] if "peapods" in times else ["–"]
    print(f"| {name} | {target:.0f} | " + " | ".join(shown) + " |", flush=True)
    return [spent / max(hits, 1) for spent, hits in times.values()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("graph", help="G11.txt of Gset")
    parser.add_argument("--seconds", type=float, default=20.0, help="most seconds of a search")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--only", default="", help="the families whose name has this text")
    options = parser.parse_args()
    families = {
        "torus 20×40": lambda seed: (lattice((20, 40), seed), (20, 40)),
        "torus 40×50": lambda seed: (lattice((40, 50), 2000 + seed), (40, 50)),
        "lattice 8×8×8": lambda seed: (lattice((8, 8, 8), seed), (8, 8, 8)),
        "random 6 %, weights 1": lambda seed: (graph_of(800, 0.06, [1], seed), None),
        "random 6 %, weights ±1": lambda seed: (graph_of(800, 0.06, [-1, 1], seed), None),
    }
    print("| instance | target E | " + " | ".join(METHODS) + " | dwave-samplers | tabu | peapods |")
    print("|---|---:|" + "---:|" * 6)
    with tempfile.TemporaryDirectory() as folder:
        if options.only in "G11":
            couplings = read(options.graph)
            row("G11", couplings, sum(couplings.values()) - 2 * 564, options, folder)
        for name, make in families.items():
            seeds = range(options.instances) if options.only in name else []
            rows = []
            for seed in seeds:
                couplings, shape = make(seed)
                rows.append(row(f"{name}, seed {seed}", couplings, None, options, folder, shape))
            if rows:
                shown = [f"{value:.3g}" for value in np.median(np.array(rows), axis=0)]
                print(f"| {name}, median of {len(rows)} | | " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    main()
