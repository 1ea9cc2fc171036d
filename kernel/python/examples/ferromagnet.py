"""A 32×32 Ising ferromagnet from hot to cold, beside the exact energy of the infinite lattice.

    python ferromagnet.py [--quick]

Prints a table. Where matplotlib is there, it draws the energy and the magnetisation into ferromagnet.png.
"""

import argparse

import numpy as np

import bitmc

SIDE = 32


def torus():
    site = np.arange(SIDE**2).reshape(SIDE, SIDE)
    edges = np.concatenate([np.stack([site, np.roll(site, -1, axis)], -1).reshape(-1, 2) for axis in (0, 1)])
    return bitmc.ising((edges, np.ones(len(edges))))


def exact_energy(temperature):
    """E a spin of the infinite lattice: Onsager (1944), its integral by the midpoint rule."""
    beta = 1.0 / temperature
    k = 2 * np.sinh(2 * beta) / np.cosh(2 * beta) ** 2
    angles = (np.arange(100_000) + 0.5) * np.pi / 200_000
    integral = np.pi / 2 * (1 / np.sqrt(1 - (k * np.sin(angles)) ** 2)).mean()
    return -(1 + 2 / np.pi * (2 * np.tanh(2 * beta) ** 2 - 1) * integral) / np.tanh(2 * beta)


def exact_magnetisation(temperature):
    """|m| of the infinite lattice: Yang (1952)."""
    return np.maximum(1 - np.sinh(2 / temperature) ** -4.0, 0) ** 0.125


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    quick = parser.parse_args().quick
    model = torus()
    print("| T | E a spin | error | exact, infinite lattice | mean of abs m |\n|---:|---:|---:|---:|---:|")
    rows = []
    for temperature in np.linspace(3.5, 1.5, 11):
        samples = bitmc.sample(model, temperature=temperature, draws=50 if quick else 1000, sampler="swendsen-wang", warmup=100 if quick else 500)
        energy = samples.summary().energy
        magnetisation = np.abs(2 * samples.states.mean(axis=2) - 1).mean()
        rows.append((temperature, energy["mean"] / SIDE**2, energy["mcse"] / SIDE**2, magnetisation))
        print(f"| {temperature:.1f} | {rows[-1][1]:.4f} | {rows[-1][2]:.4f} | {exact_energy(temperature):.4f} | {magnetisation:.3f} |")

    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    temperatures, energies, _, magnetisations = np.array(rows).T
    line = np.linspace(1.5, 3.5, 401)
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    axes[0].plot(line, [exact_energy(t) for t in line], color="0.6", label="exact, infinite lattice")
    axes[0].plot(temperatures, energies, "o", label="32×32, bitmc")
    axes[0].set(title="Energy", xlabel="temperature T", ylabel="E a spin")
    axes[1].plot(line, exact_magnetisation(line), color="0.6", label="exact, infinite lattice")
    axes[1].plot(temperatures, magnetisations, "o", label="32×32, bitmc")
    axes[1].set(title="Magnetisation", xlabel="temperature T", ylabel="mean of |m|")
    axes[0].legend()
    figure.savefig("ferromagnet.png", dpi=90)
    print("Picture: ferromagnet.png")


if __name__ == "__main__":
    main()
