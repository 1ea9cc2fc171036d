"""An RBM of 8×8 digits, trained by scikit-learn, sampled and checked by bitmc.

    python digits.py [--quick]

Prints ln Z and how well the means of samples and of digits agree. Where matplotlib is there, it draws samples into digits.png.
Without scikit-learn it says so and ends.
"""

import argparse

import numpy as np

import bitmc


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less training, fewer draws")
    quick = parser.parse_args().quick
    try:
        from sklearn.datasets import load_digits
        from sklearn.neural_network import BernoulliRBM
    except ImportError:
        print("scikit-learn is not there: pip install scikit-learn")
        return
    digits = (load_digits().data > 8).astype(np.float64)
    rbm = BernoulliRBM(n_components=48, learning_rate=0.05, n_iter=5 if quick else 60, batch_size=50, random_state=0)
    rbm.fit(digits)

    # scikit-learn has the weights hidden × visible.
    model = bitmc.rbm(rbm.components_.T, rbm.intercept_visible_, rbm.intercept_hidden_)
    print(model)
    samples = bitmc.sample(model, draws=200 if quick else 2000, chains=32, warmup=500 if quick else 5000)
    print(samples.report["why"])
    estimate = bitmc.log_z(model, temperatures=100 if quick else 1000, base=digits)
    energy = -digits @ rbm.intercept_visible_ - np.logaddexp(
        0, digits @ rbm.components_.T + rbm.intercept_hidden_
    ).sum(axis=1)
    print(f"ln Z = {estimate.log_z:.2f} ± {estimate.error:.2f}")
    print(f"mean ln p of the digits: {(-energy).mean() - estimate.log_z:.2f} nats")
    difference = samples.means - digits.mean(axis=0)
    print(f"means of samples and of digits differ by {np.sqrt((difference**2).mean()):.3f} (root mean square)")

    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(4, 16, figsize=(9, 3), layout="constrained")
    rows = np.concatenate([digits[:32], samples.states[:, -1]])
    for place, row in zip(axes.flat, rows):
        place.imshow(row.reshape(8, 8), cmap="gray_r")
        place.axis("off")
    figure.suptitle("Digits (upper two rows), and one sample of each of 32 chains (lower two rows)")
    figure.savefig("digits.png", dpi=120)
    print("Picture: digits.png")


if __name__ == "__main__":
    main()
