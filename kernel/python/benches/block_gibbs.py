"""Processor time of block Gibbs on the RBM 784×500: bitmc beside ten lines of jitted JAX, on one core.

    pip install jax numpy
    taskset -c 0 python block_gibbs.py

Both sample the machine of examples/data/rbm500, in turn, for batches of 1, 16, 100 and 512 chains. A row says the median over the
rounds of the microseconds of processor time a chain and sweep. Times of bitmc are differences of two runs of different lengths,
so that reading the model and starting are not counted.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import pathlib
import time

import bitmc
import jax
import jax.numpy as jnp
import numpy as np

FOLDER = pathlib.Path(__file__).parents[3] / "examples" / "data" / "rbm500"
ROUNDS, BATCHES = 5, (1, 16, 100, 512)


def jax_sweeps(weights, visible, hidden, batch, sweeps):
    def sweep(_, carry):
        v, key = carry
        key, up, down = jax.random.split(key, 3)
        h = jax.random.bernoulli(up, jax.nn.sigmoid(v @ weights + hidden)).astype(jnp.float32)
        v = jax.random.bernoulli(down, jax.nn.sigmoid(h @ weights.T + visible)).astype(jnp.float32)
        return v, key

    run = jax.jit(lambda v, key: jax.lax.fori_loop(0, sweeps, sweep, (v, key)))
    carry = run(jnp.zeros((batch, len(visible)), jnp.float32), jax.random.key(1))

    def go():
        nonlocal carry
        carry = run(*carry)
        carry[0].block_until_ready()

    return go


def main():
    weights, visible, hidden = (np.load(FOLDER / f"{name}.npy") for name in ("W", "a_vis", "b_hid"))
    model = bitmc.rbm(weights, visible, hidden)

    def ours(batch, sweeps):
        begun = time.process_time()
        bitmc.sample(model, sampler="block-gibbs", chains=batch, draws=1, thin=sweeps, warmup=0, threads=1, seed=1)
        return time.process_time() - begun

    print("| chains | bitmc, µs a chain and sweep | JAX | JAX over bitmc |")
    print("|---:|---:|---:|---:|")
    for batch in BATCHES:
        sweeps = max(20, 20_000 // batch)
        theirs = jax_sweeps(weights, visible, hidden, batch, sweeps)
        times = []
        for _ in range(ROUNDS):
            mine = ours(batch, 2 * sweeps) - ours(batch, sweeps)
            begun = time.process_time()
            theirs()
            times.append((mine, time.process_time() - begun))
        one, other = (np.median(column) / (batch * sweeps) * 1e6 for column in zip(*times))
        print(f"| {batch} | {one:.1f} | {other:.1f} | {other / one:.2f} |")
    print(f"\njax {jax.__version__}, bitmc {bitmc.__version__}, numpy {np.__version__}")


if __name__ == "__main__":
    main()
