"""What bitmc adds to the evaluation of a JAX network: 64 chains over a convolutional energy of 28×28 bits.

    pip install jax
    python network.py

Compares steps of `bitmc.langevin` with calls of the same jitted function alone, on states that are already there, in turn.
Both in processor time of all threads and in seconds by the clock.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import bitmc

SIDE, CHAINS, STEPS, ROUNDS = 28, 64, 100, 7


def network(channels):
    rng = np.random.default_rng(0)

    def filters(*shape):
        return jnp.array(rng.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape), jnp.float32)

    first, second, last = filters(channels, 1, 5, 5), filters(channels, channels, 3, 3), filters(channels)

    def energies(x):
        hidden = jax.nn.softplus(jax.lax.conv(x.reshape(-1, 1, SIDE, SIDE), first, (1, 1), "SAME"))
        hidden = jax.nn.softplus(jax.lax.conv(hidden, second, (2, 2), "SAME"))
        return hidden.sum(axis=(2, 3)) @ last

    def evaluate(x):
        found, back = jax.vjp(energies, x.astype(jnp.float32))
        return found, back(jnp.ones(len(x)))[0]

    return jax.jit(evaluate)


def measured(work):
    begun, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - begun, time.perf_counter() - clock


def main():
    print(f"JAX {jax.__version__}, bitmc {bitmc.build}\n")
    print("| channels | | JAX alone, ms a call | bitmc, ms a step | more |\n|---:|---|---:|---:|---:|")
    for channels in (8, 32):
        evaluate = network(channels)
        states = jnp.array(np.random.default_rng(1).integers(0, 2, (CHAINS, SIDE**2)), jnp.uint8)
        jax.block_until_ready(evaluate(states))

        def alone():
            for _ in range(STEPS):
                jax.block_until_ready(evaluate(states))

        def ours():
            bitmc.langevin(evaluate, SIDE**2, chains=CHAINS, draws=1, thin=STEPS - 1, warmup=0, step_size=0.2)

        ours()
        rounds = np.array([measured(work) for _ in range(ROUNDS) for work in (alone, ours)]).reshape(ROUNDS, 2, 2)
        for column, name in enumerate(("processor", "clock")):
            one, two = np.median(rounds[:, :, column], axis=0) / STEPS * 1e3
            print(f"| {channels} | {name} | {one:.2f} | {two:.2f} | {two / one - 1:.1%} |")


if __name__ == "__main__":
    main()
