"""Discrete Langevin steps (DMALA) on an RBM of 784 × 500 units, 100 chains: bitmc beside a jitted JAX implementation.

    pip install jax
    python rbm.py

Both start from the same kind of states and take the same step size. Times are processor times of all threads, the median of some
rounds in turn. JAX chooses the processor's best instructions at run time. bitmc has the builds that its wheel has; all draw the
same states (`python build_wheel.py OUT` makes a wheel with three). JAX draws with each of two generators.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np

VISIBLE, HIDDEN, CHAINS, STEP_SIZE, STEPS, ROUNDS = 784, 500, 100, 0.2, 300, 5


def weights():
    rng = np.random.default_rng(0)
    w = rng.normal(0, 0.05, (VISIBLE, HIDDEN))
    return [x.astype(np.float32) for x in (w, rng.normal(-1, 0.5, VISIBLE), rng.normal(-0.5, 0.5, HIDDEN))]


def ours():
    """Microseconds a step and chain, and the acceptance; what comes before the steps is subtracted."""
    import bitmc

    model = bitmc.rbm(*weights())

    def run(steps, seed):
        begun = time.process_time()
        samples = bitmc.sample(
            model, draws=1, thin=steps, chains=CHAINS, warmup=100, sampler=f"langevin:{STEP_SIZE}", seed=seed
        )
        return time.process_time() - begun, samples.report["acceptance"]

    run(1, 0)
    rounds = []
    for seed in range(ROUNDS):
        (short, _), (long, acceptance) = run(1, seed), run(STEPS + 1, seed)
        rounds.append(((long - short) / STEPS / CHAINS * 1e6, acceptance))
    return bitmc.build, *np.median(rounds, axis=0)


def theirs(generator):
    import jax
    import jax.numpy as jnp

    w, a, b = map(jnp.array, weights())

    def evaluate(x):
        hidden = x @ w + b
        return -x @ a - jax.nn.softplus(hidden).sum(axis=1), -a - jax.nn.sigmoid(hidden) @ w.T

    def logits(x, gradient):
        return -0.5 * gradient * (1 - 2 * x) - 0.5 / STEP_SIZE

    def log_probability(flips, logits):
        return -jax.nn.softplus(jnp.where(flips, -logits, logits)).sum(axis=1)

    def step(carry, key):
        x, energy, gradient = carry
        first, second = jax.random.split(key)
        forward = logits(x, gradient)
        flips = jax.random.uniform(first, x.shape) < jax.nn.sigmoid(forward)
        y = jnp.where(flips, 1 - x, x)
        energy_y, gradient_y = evaluate(y)
        ratio = energy - energy_y + log_probability(flips, logits(y, gradient_y)) - log_probability(flips, forward)
        accepted = jnp.log(jax.random.uniform(second, (CHAINS,))) < ratio
        moved = jnp.where(accepted[:, None], y, x), jnp.where(accepted, energy_y, energy)
        return (*moved, jnp.where(accepted[:, None], gradient_y, gradient)), accepted.mean()

    @jax.jit
    def run(x, key):
        return jax.lax.scan(step, (x, *evaluate(x)), jax.random.split(key, STEPS))

    x = jnp.array(np.random.default_rng(1).integers(0, 2, (CHAINS, VISIBLE)), jnp.float32)
    (x, _, _), _ = jax.block_until_ready(run(x, jax.random.key(0, impl=generator)))
    rounds = []
    for seed in range(ROUNDS):
        begun = time.process_time()
        (x, _, _), rates = jax.block_until_ready(run(x, jax.random.key(seed + 1, impl=generator)))
        rounds.append(((time.process_time() - begun) / STEPS / CHAINS * 1e6, float(rates.mean())))
    return f"JAX {jax.__version__}, {generator}", *np.median(rounds, axis=0)


def main():
    if len(sys.argv) > 1:
        found = ours() if sys.argv[1] == "bitmc" else theirs(sys.argv[1])
        print(json.dumps([found[0], *map(float, found[1:])]))
        return
    rows = {}
    for kind, level in [("threefry2x32", ""), ("rbg", ""), ("bitmc", "1"), ("bitmc", "3"), ("bitmc", "4")]:
        environment = {**os.environ, "BITMC_BUILD": level or "4"}
        answer = subprocess.run([sys.executable, __file__, kind], env=environment, check=True, stdout=subprocess.PIPE, text=True)
        name, microseconds, acceptance = json.loads(answer.stdout.splitlines()[-1])
        rows[name if name.startswith("JAX") else f"bitmc, {name}"] = microseconds, acceptance
    best = min(microseconds for name, (microseconds, _) in rows.items() if name.startswith("JAX"))
    print("| | µs a step and chain | acceptance | times as fast as JAX |\n|---|---:|---:|---:|")
    for name, (microseconds, acceptance) in rows.items():
        print(f"| {name} | {microseconds:.1f} | {acceptance:.3f} | {best / microseconds:.1f} |")


if __name__ == "__main__":
    main()
