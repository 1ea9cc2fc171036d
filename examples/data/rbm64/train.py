"""Train a 64x16 binary RBM on binarised 8x8 digits and enumerate it exactly.
usage: python3 train.py digits8x8_gt7.bits OUTDIR
f(v) = a.v + sum_j softplus((vW + b)_j),  p(v) = exp(f(v)) / Z,  W is visible x hidden."""
import os
for k in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[k] = "1"
import hashlib, json, struct, sys
import numpy as np

SEED, NV, NH, CHAINS, BATCH, K, LR, DECAY, EPOCHS, CLAMP, NMC = (
    20260064, 64, 16, 100, 100, 5, 0.05, 1e-4, 200, 0.01, 200000)

def read_bits(path):
    raw = open(path, "rb").read()
    version, n, d = struct.unpack("<III", raw[4:16])
    stride = (d + 7) // 8
    assert raw[:4] == b"DSBT" and version == 1 and len(raw) == 16 + n * stride
    rows = np.frombuffer(raw, np.uint8, offset=16).reshape(n, stride)
    bits = np.unpackbits(rows, axis=1, bitorder="little")[:, :d]
    return bits.astype(np.float64), hashlib.sha256(raw).hexdigest()

sigmoid = lambda x: 0.5 * (1.0 + np.tanh(0.5 * x))
softplus = lambda x: np.logaddexp(0.0, x)

def train(X, rng):
    m = np.clip(X.mean(0), CLAMP, 1 - CLAMP)
    W, a, b = 0.01 * rng.standard_normal((NV, NH)), np.log(m / (1 - m)), np.zeros(NH)
    v = (rng.random((CHAINS, NV)) < m).astype(np.float64)
    per_epoch = -(-len(X) // BATCH)
    total, t = EPOCHS * per_epoch, 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(X))
        for s in range(per_epoch):
            x = X[order[s * BATCH:(s + 1) * BATCH]]
            lr = LR * (1 - t / total)
            hx = sigmoid(x @ W + b)
            for _ in range(K):                      # PCD-5: chains persist
                h = rng.random((CHAINS, NH)) < sigmoid(v @ W + b)
                v = (rng.random((CHAINS, NV)) < sigmoid(h @ W.T + a)).astype(np.float64)
            hv = sigmoid(v @ W + b)
            W += lr * (x.T @ hx / len(x) - v.T @ hv / CHAINS - DECAY * W)
            a += lr * (x.mean(0) - v.mean(0))
            b += lr * (hx.mean(0) - hv.mean(0))
            t += 1
    return [p.astype("<f4") for p in (W, a, b)]

def main(path, out):
    X, sha = read_bits(path)
    assert X.shape[1] == NV
    params = train(X, np.random.Generator(np.random.PCG64(SEED)))
    W, a, b = [p.astype(np.float64) for p in params]        # stored float32, widened
    f = lambda v: v @ a + softplus(v @ W + b).sum(1)
    H = ((np.arange(1 << NH)[:, None] >> np.arange(NH)) & 1).astype(np.float64)
    act = H @ W.T + a
    logw = H @ b + softplus(act).sum(1)
    logZ = float(logw.max() + np.log(np.exp(logw - logw.max()).sum()))
    p = np.exp(logw - logZ)
    M = sigmoid(act)                                         # p(v_i = 1 | h)
    marg, cnt = p @ M, M.sum(1)
    sum_v = float(p @ cnt)
    var = float(p @ (M * (1 - M)).sum(1) + p @ (cnt - sum_v) ** 2)
    rng = np.random.Generator(np.random.PCG64(SEED + 1))     # independent exact draws
    cdf = np.cumsum(p)
    hs = np.searchsorted(cdf, rng.random(NMC) * cdf[-1], side="right")
    v = (rng.random((NMC, NV)) < M[hs]).astype(np.float64)
    fv = f(v)
    z = (v.mean(0) - marg) / np.sqrt(marg * (1 - marg) / NMC)
    c = v.sum(1)
    print("max |z| marginals: %.3f (pixel %d)   rms z: %.3f" % (
        abs(z).max(), abs(z).argmax(), np.sqrt((z ** 2).mean())))
    print("z sum_v: %.3f   MC var %.4f vs exact %.4f" % (
        (c.mean() - sum_v) / np.sqrt(var / NMC), c.var(ddof=1), var))
    exact = dict(logZ=logZ, sum_v=sum_v, pixelcount_var=var, mean_f_mc=dict(
        mean=float(fv.mean()), sd=float(fv.std(ddof=1)),
        standard_error=float(fv.std(ddof=1) / np.sqrt(NMC)), n=NMC),
        max_hidden_prob=float(p.max()), eff_hidden_states=float(1 / (p ** 2).sum()),
        eff_hidden_states_definition="1 / sum_h p(h)^2",
        loglik_data=float(f(X).mean() - logZ), seed=SEED)
    recipe = dict(model="binary RBM, %d visible x %d hidden" % (NV, NH),
        convention="f(v) = a.v + sum_j softplus((vW+b)_j); p(v) = exp(f(v))/Z; W visible x hidden",
        method="PCD-%d" % K, chains=CHAINS, minibatch=BATCH, epochs=EPOCHS, learning_rate=LR,
        schedule="linear to 0, per update", weight_decay=DECAY, weight_decay_on="W only",
        init="W ~ 0.01 N(0,1); a = logit(data mean clamped to [%g, %g]); b = 0" % (CLAMP, 1 - CLAMP),
        seed=SEED, mc_seed=SEED + 1, numpy=np.__version__, data=dict(
            origin="scikit-learn digits (load_digits)", licence="BSD-3", bit="value > 7",
            rows=len(X), file=os.path.basename(path), sha256=sha))
    os.makedirs(out, exist_ok=True)
    for name, arr in zip(("W", "a_vis", "b_hid", "exact_marginals_v"), params + [marg.astype("<f8")]):
        with open(os.path.join(out, name + ".npy"), "wb") as fh:
            np.lib.format.write_array(fh, np.ascontiguousarray(arr), version=(1, 0))
    for name, d in (("exact", exact), ("recipe", recipe)):
        with open(os.path.join(out, name + ".json"), "w") as fh:
            fh.write(json.dumps(d, indent=1) + "\n")
    print(json.dumps(exact, indent=1))

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
