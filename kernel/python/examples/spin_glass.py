"""An 8×8×8 ±J spin glass: samples at a few temperatures by replica exchange, and a state of low energy.

    python spin_glass.py [--quick]

Prints a table. Where matplotlib is there, it draws the distribution of the overlap into spin_glass.png.
"""

import argparse

import numpy as np

import bitmc

SIDE = 8


def glass(seed):
    """A cubic lattice with couplings −1 and 1, periodic."""
    site = np.arange(SIDE**3).reshape(SIDE, SIDE, SIDE)
    edges = [np.stack([site, np.roll(site, -1, axis)], axis=-1).reshape(-1, 2) for axis in range(3)]
    edges = np.concatenate(edges)
    return bitmc.ising((edges, np.random.default_rng(seed).choice([-1.0, 1.0], len(edges))))


def overlaps(samples):
    """(1/N) Σ s s′ of pairs of independent chains, draw by draw."""
    spins = 2.0 * samples.states - 1
    half = len(spins) // 2
    return (spins[:half] * spins[half:]).mean(axis=2).ravel()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    quick = parser.parse_args().quick
    model = glass(seed=1)
    print(model)
    print("\n| T | E a spin | mean q² | R̂ | least swap rate | round trips |\n|---:|---:|---:|---:|---:|---:|")
    drawn = {}
    for temperature in (3.0, 2.0, 1.2):
        samples = bitmc.replica_exchange(
            model,
            draws=50 if quick else 1000,
            chains=16,
            ladder=temperature / np.linspace(0.4, 1.0, 12),
            warmup=100 if quick else 5000,
            thin=5,
        )
        drawn[temperature] = q = overlaps(samples)
        r_hat = samples.summary().energy["r_hat"]
        print(
            f"| {temperature:.1f} | {samples.energy.mean() / SIDE**3:.4f} | {(q**2).mean():.4f} | {r_hat:.3f} "
            f"| {samples.swap_rates.min():.2f} | {samples.round_trips} |"
        )
    found = bitmc.anneal(model, sweeps=100_000 if quick else 3_000_000)
    print(f"\nLowest energy found: {found.energies[0]:.0f} ({found.energies[0] / SIDE**3:.4f} a spin), in {found.counts[0]} runs")

    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for temperature, q in drawn.items():
        axes.hist(np.concatenate([q, -q]), 61, range=(-1, 1), density=True, histtype="step", label=f"T = {temperature:.1f}")
    axes.set(title="Overlap of two independent states, 8×8×8 ±J glass", xlabel="overlap q", ylabel="probability density")
    axes.legend()
    figure.savefig("spin_glass.png", dpi=120)
    print("Picture: spin_glass.png")


if __name__ == "__main__":
    main()
