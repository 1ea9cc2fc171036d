"""An energy by a JAX network, trained on bars and stripes: bitmc draws the samples that training needs.

    python jax_network.py [--quick]

The network is convolutional, its inputs are 8×8 bits. Each update moves chains by a few Langevin steps from where they were
(persistent contrastive divergence). Prints how training goes. Where matplotlib is there, it draws patterns and samples into
jax_network.png. Without JAX it says so and ends.
"""

import argparse

import numpy as np

import bitmc

SIDE = 8


def bars_and_stripes(count, rng):
    """Rows that are all 0 or all 1, and the same turned by 90 degrees."""
    images = np.repeat(rng.integers(0, 2, (count, SIDE, 1)), SIDE, axis=2)
    turned = rng.integers(0, 2, count) == 1
    images[turned] = images[turned].transpose(0, 2, 1)
    return images.reshape(count, -1)


def flaws(states):
    """Pixels that are to change until a state is a pattern, at least."""
    images = states.reshape(-1, SIDE, SIDE).astype(int)
    ones = np.stack([images.sum(axis=axis) for axis in (1, 2)])
    return np.minimum(ones, SIDE - ones).sum(axis=2).min(axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less training")
    quick = parser.parse_args().quick
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        print("JAX is not there: pip install jax")
        return

    def energy(parameters, x):
        """E of each state: filters along rows and along columns, then a layer that sees the whole image."""
        images = 2.0 * x.reshape(-1, 1, SIDE, SIDE) - 1
        found = []
        for filters, offsets in parameters["filters"]:
            product = jax.lax.conv(images, filters, (1, 1), "VALID") + offsets[None, :, None, None]
            found.append(jax.nn.softplus(product).reshape(len(x), -1))
        hidden = jax.nn.softplus(jnp.concatenate(found, axis=1) @ parameters["weights"] + parameters["offsets"])
        return -x @ parameters["linear"] - hidden @ parameters["out"]

    rng = np.random.default_rng(0)

    def start(*shape, scale=0.1):
        return jnp.array(rng.normal(0, scale, shape), jnp.float32)

    channels, hidden = 8, 64
    parameters = {
        "filters": [(start(channels, 1, 1, SIDE), start(channels)), (start(channels, 1, SIDE, 1), start(channels))],
        "weights": start(2 * channels * SIDE, hidden),
        "offsets": start(hidden),
        "linear": start(SIDE**2),
        "out": start(hidden),
    }

    @jax.jit
    def evaluate(parameters, x):
        energies, back = jax.vjp(lambda x: energy(parameters, x), x)
        return energies, back(jnp.ones(len(x)))[0]

    @jax.jit
    def update(parameters, moments, step, data, samples):
        """Adam along E of the data less E of the samples; a small penalty keeps energies near zero."""

        def loss(parameters):
            low, high = energy(parameters, data), energy(parameters, samples)
            return low.mean() - high.mean() + 1e-3 * (low**2 + high**2).mean()

        gradient = jax.grad(loss)(parameters)
        first = jax.tree.map(lambda m, g: 0.5 * m + 0.5 * g, moments[0], gradient)
        second = jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g * g, moments[1], gradient)

        def moved(parameter, m, v):
            return parameter - 2e-3 * (m / (1 - 0.5**step)) / (jnp.sqrt(v / (1 - 0.99**step)) + 1e-8)

        return jax.tree.map(moved, parameters, first, second), (first, second)

    def floats(x):
        return jnp.asarray(x, jnp.float32)

    updates, chains = 60 if quick else 2000, 64
    moments = (jax.tree.map(jnp.zeros_like, parameters), jax.tree.map(jnp.zeros_like, parameters))
    states = rng.integers(0, 2, (chains, SIDE**2))
    print("| update | wrong pixels of a sample | random states |\n|---:|---:|---:|")
    for number in range(1, updates + 1):
        samples = bitmc.langevin(
            lambda x: evaluate(parameters, floats(x)),
            SIDE**2,
            chains=chains,
            draws=1,
            warmup=0,
            thin=10,
            step_size=0.2,
            seed=number,
            start=states,
        )
        states = samples.states[:, -1]
        # A few chains begin again, so that modes without data are found and closed.
        states[rng.random(chains) < 0.02] = rng.integers(0, 2, SIDE**2)
        data = bars_and_stripes(chains, rng)
        parameters, moments = update(parameters, moments, number, floats(data), floats(states))
        if number % (updates // 10) == 0:
            noise = flaws(rng.integers(0, 2, (1000, SIDE**2))).mean()
            print(f"| {number} | {flaws(states).mean():.2f} | {noise:.2f} |")

    # Chains from noise, with a schedule of bold and local steps that is tuned in the warm-up.
    final = bitmc.langevin(
        lambda x: evaluate(parameters, floats(x)), SIDE**2, chains=chains, draws=20, warmup=300 if quick else 2000, cycle=10, thin=10
    )
    wrong = flaws(final.states[:, -1])
    print(f"From noise, after {final.report['warmup']} steps: {wrong.mean():.2f} wrong pixels a sample, {(wrong == 0).mean():.0%} without one")

    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(4, 12, figsize=(9, 3.4), layout="constrained")
    rows = np.concatenate([bars_and_stripes(24, rng), final.states[:24, -1]])
    for place, row in zip(axes.flat, rows):
        place.imshow(row.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=1)
        place.set(xticks=[], yticks=[])
    figure.suptitle("Patterns (upper two rows), and samples of the network from noise, not chosen (lower two rows)")
    figure.savefig("jax_network.png", dpi=90)
    print("Picture: jax_network.png")


if __name__ == "__main__":
    main()
