"""Effective samples of |m| a processor second at the critical point of Ising tori: clusters beside Gibbs sweeps, with the command bitmc.

    pip install arviz
    cargo build --release -p bitmc-desktop
    python critical.py ../../../target/release/bitmc

Sixteen chains from random states on each torus; Gibbs sweeps move all of them at once, in the lanes of a register. A fifth of the steps
is warm-up, and counts as time. Draws are so many steps apart that the run takes the seconds that are asked for. Effective samples and R̂
are those of arviz, over all chains. Where R̂ is large, chains have not met, and so few effective samples are still too many.
"""

import argparse
import resource
import subprocess
import tempfile
from pathlib import Path

import arviz
import numpy as np

TEMPERATURE = 2 / np.log(1 + np.sqrt(2))  # Onsager (1944)
CHAINS = 16


def write(side, path):
    """A torus of couplings 1, as a graph whose weights are −1."""
    site = np.arange(side**2).reshape(side, side)
    edges = np.concatenate([np.stack([site, np.roll(site, -1, axis)], -1).reshape(-1, 2) for axis in (0, 1)])
    path.write_text("\n".join([f"{side**2} {len(edges)}", *(f"{a + 1} {b + 1} -1" for a, b in edges)]) + "\n")


def run(options, model, sampler, thin, draws):
    """Processor seconds, and |m| of each draw of each chain."""
    saved = model.with_suffix(".npz")
    words = [options.program, "sample", model, "--sampler", sampler, "--temperature", str(TEMPERATURE), "--seed", str(options.seed)]
    words += ["--chains", str(CHAINS), "--thin", str(thin), "--draws", str(draws), "--warmup", str(thin * draws // 4)]
    words += ["--threads", "1", "--save", saved, "--force", "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with np.load(saved) as file:
        return spent, np.abs(2 * file["states"].mean(axis=2) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--sides", type=int, nargs="+", default=[16, 32, 64, 128, 256])
    parser.add_argument("--samplers", nargs="+", default=["gibbs", "swendsen-wang", "wolff"])
    parser.add_argument("--seconds", type=float, default=30, help="processor seconds of a run, about")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| torus | sampler | steps of a chain | seconds | mean of abs m | error | R̂ | ESS | ESS a second |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for side in options.sides:
            model = Path(folder) / f"{side}.rudy"
            write(side, model)
            for sampler in options.samplers:
                thin, few = 1, 20  # how long a step takes
                first = run(options, model, sampler, thin, few)[0]
                while (more := run(options, model, sampler, 2 * thin, few)[0]) < first + options.seconds / 20:
                    thin, first = 2 * thin, more
                step = (more - first) / (thin * few * 1.25)
                steps = max(1, int(options.seconds / (1.25 * step)))
                draws = min(steps, 20_000, 2**30 // (CHAINS * side**2))  # a gigabyte of states
                thin = steps // draws
                seconds, found = run(options, model, sampler, thin, draws)
                size, ratio = float(arviz.ess(found)), float(arviz.rhat(found))
                error = found.std() / np.sqrt(size)
                print(
                    f"| {side}×{side} | {sampler} | {thin * draws * 5 // 4:,} | {seconds:.1f} | {found.mean():.4f} | {error:.4f} "
                    f"| {ratio:.3f} | {size:.0f} | {size / seconds:.3g} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
