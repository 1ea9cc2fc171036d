"""Processor time to a given error of the mean energy of a 32×32 Ising lattice: bitmc beside thrml, peapods and numpyro.

    pip install -r requirements.txt
    python lattice.py

Every program runs independent chains from random states, a quarter of each as warm-up, and gives one mean energy a site for each
chain. The exact value is Kaufman's (Phys. Rev. 76, 1232, 1949). The time to an error ε is the time of a chain times its mean squared
error over ε². The error of that time, in the table, is from the spread of the squared errors. Compilation of JAX programs is not
counted, the pilot runs of bitmc's automatic choice are. Programs of the same algorithm need the same number of sweeps, so their
ratio is that of their speeds. A mean energy that is wrong by four standard errors ends the comparison.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np

SIDE, K, ERROR = 32, 0.40, 1e-3
SITES = SIDE**2


def exact():
    """−d ln Z / dK a site, by a central difference of Kaufman's sum over four products."""

    def log_z(k):
        def gamma(index):
            if index == 0:
                return 2 * k + np.log(np.tanh(k))
            return np.arccosh(np.cosh(2 * k) ** 2 / np.sinh(2 * k) - np.cos(np.pi * index / SIDE))

        odd = SIDE / 2 * np.array([gamma(2 * j + 1) for j in range(SIDE)])
        even = SIDE / 2 * np.array([gamma(2 * j) for j in range(SIDE)])
        signs = [1, 1, 1, np.prod(np.sign(even))]
        logs = [np.log(2 * f(np.abs(g))).sum() for g in (odd, even) for f in (np.cosh, np.sinh)]
        most = max(logs)
        total = np.log(sum(sign * np.exp(log - most) for sign, log in zip(signs, logs))) + most
        return SITES / 2 * np.log(2 * np.sinh(2 * k)) - np.log(2) + total

    step = 1e-5
    return -(log_z(K + step) - log_z(K - step)) / (2 * step) / SITES


def edges():
    site = np.arange(SITES).reshape(SIDE, SIDE)
    return np.concatenate([np.stack([site, np.roll(site, -1, axis)], -1).reshape(-1, 2) for axis in (0, 1)])


def timed(work, *args):
    begun = time.process_time()
    found = work(*args)
    return time.process_time() - begun, found


def bitmc_(sampler):
    import bitmc

    pairs = edges()
    model = bitmc.ising((pairs, np.full(len(pairs), K)), np.zeros(SITES))
    sweeps, chains, rounds = 4000, 16, 4

    def run(seed):
        samples = bitmc.sample(
            model, draws=sweeps * 3 // 4, warmup=sweeps // 4, chains=chains, sampler=sampler, seed=seed
        )
        return samples.energy.mean(axis=1) / (K * SITES), samples.report["sampler"]

    run(0)
    seconds, found = zip(*(timed(run, seed) for seed in range(1, rounds + 1)))
    name = f"automatic: {found[0][1]}" if sampler == "auto" else found[0][1]
    return f"bitmc, {name}, {bitmc.build}", sum(seconds) / chains / rounds, np.concatenate([f[0] for f in found])


def thrml_():
    import jax
    import jax.numpy as jnp
    from thrml import Block, SamplingSchedule, SpinNode
    from thrml.models.ising import IsingEBM, IsingSamplingProgram, estimate_moments, hinton_init

    sweeps, chains, rounds = 2000, 16, 4
    nodes = [SpinNode() for _ in range(SITES)]
    pairs = [(nodes[a], nodes[b]) for a, b in edges()]
    model = IsingEBM(nodes, pairs, jnp.zeros(SITES), jnp.ones(len(pairs)), jnp.array(K))
    colours = [[nodes[i] for i in range(SITES) if (i // SIDE + i) % 2 == colour] for colour in (0, 1)]
    blocks = [Block(colour) for colour in colours]
    program = IsingSamplingProgram(model, blocks, [])
    schedule = SamplingSchedule(n_warmup=sweeps // 4, n_samples=sweeps * 3 // 4, steps_per_sample=1)

    def chain(key, state):
        return -estimate_moments(key, [], pairs, program, schedule, state, [])[1].sum() / SITES

    compiled = jax.jit(jax.vmap(chain))

    def run(seed):
        first, second = jax.random.split(jax.random.key(seed))
        state = hinton_init(first, model, blocks, (chains,))
        return np.array(jax.block_until_ready(compiled(jax.random.split(second, chains), state)))

    run(0)
    seconds, found = zip(*(timed(run, seed) for seed in range(1, rounds + 1)))
    return "thrml, block Gibbs", sum(seconds) / chains / rounds, np.concatenate(found)


def peapods_(cluster):
    import peapods

    chains, sweeps = 48, 4000
    more = {"cluster_update_interval": 1, "cluster_mode": "sw"} if cluster else {}
    # It has no seed: every run draws the same numbers. So all chains are temperatures of one run.
    model = peapods.Ising((SIDE, SIDE), temperatures=np.full(chains, 1 / K))

    def run(sweeps):
        model.sample(sweeps, sweep_mode="gibbs", warmup_ratio=0.25, sequential=True, **more)
        return np.asarray(model.get_energies(), float).ravel()

    run(2)
    seconds, energies = timed(run, sweeps)
    # Its energy is Σ s s a site, without the minus.
    return f"peapods, Gibbs{' and Swendsen–Wang' if cluster else ''}", seconds / chains, -energies


def numpyro_():
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro.distributions import Bernoulli, Normal
    from numpyro.infer import MCMC, NUTS, DiscreteHMCGibbs

    pairs = jnp.array(edges())
    sweeps, chains = 400, 16

    def energy(z):
        spins = 2.0 * z - 1.0
        return -(spins[pairs[:, 0]] * spins[pairs[:, 1]]).sum()

    def model():
        numpyro.sample("unused", Normal(0, 1))  # the kernel asks for a continuous site
        with numpyro.plate("sites", SITES):
            z = numpyro.sample("z", Bernoulli(0.5))
        numpyro.factor("energy", -K * energy(z))

    kernel = DiscreteHMCGibbs(NUTS(model, max_tree_depth=1), modified=False)
    mcmc = MCMC(kernel, num_warmup=sweeps // 4, num_samples=sweeps * 3 // 4, progress_bar=False, jit_model_args=True)
    mean = jax.jit(lambda z: jax.vmap(energy)(z).mean() / SITES)

    def run(seed):
        mcmc.run(jax.random.key(seed))
        return float(mean(mcmc.get_samples()["z"]))

    run(0)
    seconds, found = zip(*(timed(run, seed) for seed in range(1, chains + 1)))
    return "numpyro, DiscreteHMCGibbs", sum(seconds) / chains, np.array(found)


PROGRAMS = {
    "bitmc auto": lambda: bitmc_("auto"),
    "bitmc gibbs": lambda: bitmc_("gibbs"),
    "thrml": thrml_,
    "peapods": lambda: peapods_(False),
    "peapods sw": lambda: peapods_(True),
    "numpyro": numpyro_,
}


def main():
    if len(sys.argv) > 1:
        name, seconds, energies = PROGRAMS[sys.argv[1]]()
        print(json.dumps([name, seconds, list(map(float, energies))]))
        return
    truth = exact()
    print(f"32×32 torus, K = {K}: exact energy a site {truth:.6f}, error {ERROR:g}\n")
    print("| program | chains | mean | ms a chain | error of a chain | seconds to the error | of bitmc's Gibbs, default build |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    runs = [(program, level) for level in ("4", "1") for program in PROGRAMS if "bitmc" in program or level == "1"]
    rows = []
    for program, level in runs:
        environment = {**os.environ, "BITMC_BUILD": level}
        command = [sys.executable, __file__, program]
        answer = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        name, seconds, energies = json.loads(answer.stdout.splitlines()[-1])
        squares = (np.array(energies) - truth) ** 2
        off = abs(np.mean(energies) - truth) / (np.std(energies) / np.sqrt(len(energies)))
        if off > 4:
            sys.exit(f"{name}: the mean energy {np.mean(energies):.5f} is wrong by {off:.1f} standard errors")
        spread = np.std(squares) / np.sqrt(len(squares)) / np.mean(squares)
        rows.append((program, level, name, energies, seconds, squares.mean(), spread))
    unit = next(r[4] * r[5] for r in rows if r[0] == "bitmc gibbs" and r[1] == "1") / ERROR**2
    for _, _, name, energies, seconds, square, spread in rows:
        needed = seconds * square / ERROR**2
        print(
            f"| {name} | {len(energies)} | {np.mean(energies):.5f} | {1e3 * seconds:.1f} | {np.sqrt(square):.5f} "
            f"| {needed:.3g} ± {spread:.0%} | {needed / unit:.2g} |"
        )


if __name__ == "__main__":
    main()
