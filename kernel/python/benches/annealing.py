"""Spin updates a second of processor time, and the energies reached: bitmc beside the annealer of dwave-samplers.

    pip install dwave-samplers dimod
    python annealing.py

Both anneal the same 8×8×8 ±J glass and the same random graph of degree 6, with the same number of reads and sweeps, in one run,
in turn: over the same range of β, and over the range that each one chooses. Processor time is that of all threads.
"""

import time

import dimod
import numpy as np
from dwave.samplers import SimulatedAnnealingSampler

from bitmc.dimod import BitmcSampler

READS, SWEEPS, ROUNDS, RANGE = 64, 1000, 5, (0.1, 3.0)


def lattice(rng):
    site = np.arange(512).reshape(8, 8, 8)
    edges = np.concatenate([np.stack([site, np.roll(site, -1, axis)], -1).reshape(-1, 2) for axis in range(3)])
    return {(int(a), int(b)): float(w) for (a, b), w in zip(edges, rng.choice([-1, 1], len(edges)))}


def irregular(rng):
    """1,000 sites, 3,000 edges at random."""
    chosen = set()
    while len(chosen) < 3000:
        a, b = sorted(int(i) for i in rng.integers(1000, size=2))
        if a != b:
            chosen.add((a, b))
    return {edge: float(rng.normal()) for edge in sorted(chosen)}


def main():
    rng = np.random.default_rng(1)
    print("| model, β | annealer | million spin updates a processor second | lowest E | mean E |")
    print("|---|---|---:|---:|---:|")
    for name, couplings in [("8×8×8 ±J glass", lattice(rng)), ("random graph", irregular(rng))]:
        for range_ in (RANGE, None):
            compare(name, dimod.BQM.from_ising({}, couplings), range_)


def compare(name, bqm, range_):
    name = f"{name}, {'its own' if range_ is None else f'{range_[0]} to {range_[1]}'}"
    rates, ends = {}, {}
    for seed in range(ROUNDS):
        for sampler in (BitmcSampler(), SimulatedAnnealingSampler()):
            begun = time.process_time()
            found = sampler.sample(bqm, num_reads=READS, num_sweeps=SWEEPS, beta_range=range_, seed=seed)
            seconds = time.process_time() - begun
            kind = type(sampler).__name__
            rates.setdefault(kind, []).append(READS * SWEEPS * bqm.num_variables / seconds / 1e6)
            ends.setdefault(kind, []).append(found.record.energy)
    for kind, rate in rates.items():
        energies = np.concatenate(ends[kind])
        print(f"| {name} | {kind} | {np.median(rate):.0f} | {energies.min():.1f} | {energies.mean():.1f} |")
    ours, theirs = (np.median(rates[kind]) for kind in ("BitmcSampler", "SimulatedAnnealingSampler"))
    print(f"| {name} | ratio | {ours / theirs:.2f} | | |")


if __name__ == "__main__":
    main()
