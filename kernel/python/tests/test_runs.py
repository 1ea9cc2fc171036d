"""Runs: the command's bytes, seconds, Ctrl-C, minima, ln Z, and what samples say."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import bitmc
import exact
from test_models import H, J, N, ising_energy


@pytest.fixture
def glass():
    side = 6
    rng = np.random.default_rng(1)
    site = np.arange(side**2).reshape(side, side)
    edges = np.concatenate(
        [np.stack([site, np.roll(site, -1, axis)], axis=-1).reshape(-1, 2) for axis in (0, 1)]
    )
    return bitmc.ising((edges, rng.choice([-1.0, 1.0], len(edges))))


def test_the_bytes_of_the_command(tmp_path):
    command = os.environ.get("BITMC_COMMAND") or shutil.which("bitmc")
    if not command:
        pytest.skip("there is no command bitmc: BITMC_COMMAND names one")
    rows = [(i, j, J[i, j]) for i in range(N) for j in range(i + 1, N)]
    file = tmp_path / "model.edges"
    lines = [f"{i} {j} {w:.9g}" for i, j, w in rows] + [f"{i} {i} {h:.9g}" for i, h in enumerate(H)]
    file.write_text("\n".join(lines) + "\n")
    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    words = ["sample", file, "--draws", "200", "--seed", "9", "--quiet", "--save", theirs]
    subprocess.run([command, *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    bitmc.sample(bitmc.read(file), draws=200, seed=9).save(ours)
    assert ours.read_bytes() == theirs.read_bytes()
    # The same model from arrays draws the same states.
    samples = bitmc.sample(bitmc.ising(J, H), draws=200, seed=9)
    saved = np.load(theirs)
    assert np.array_equal(saved["states"], samples.states) and np.array_equal(saved["energies"], samples.energy)
    # Negative control: another seed has other bytes.
    bitmc.sample(bitmc.read(file), draws=200, seed=10).save(ours, overwrite=True)
    assert ours.read_bytes() != theirs.read_bytes()


def test_every_build_draws_the_same_states():
    program = """
import hashlib, bitmc
model = bitmc.ising({(i, (i + j) % 40): 0.3 * (-1) ** (i * j) for i in range(40) for j in (1, 7)})
gaussian = bitmc.gaussian({(i, i): 0.5 for i in range(8)} | {(i, i + 1): 0.2 for i in range(7)}, [2.3] * 8, 6)
digest = hashlib.sha256()
for samples in (bitmc.sample(model, draws=100), bitmc.sample(gaussian, draws=100, sampler="langevin")):
    digest.update(samples.states.tobytes() + samples.energy.tobytes())
print(bitmc.build, digest.hexdigest())
"""
    said = {}
    for level in ("1", "3", "4"):
        run = [sys.executable, "-c", program]
        answer = subprocess.run(run, env={**os.environ, "BITMC_BUILD": level}, check=True, stdout=subprocess.PIPE, text=True)
        build, digest = answer.stdout.split()
        said[build] = digest
    assert len(set(said.values())) == 1 and "baseline" in said
    if len(said) == 1:
        pytest.skip("there is one build: build_wheel.py makes several")


def test_threads_change_nothing(glass):
    one, two = (bitmc.sample(glass, draws=100, chains=20, threads=n) for n in (1, 2))
    assert np.array_equal(one.states, two.states)
    assert not np.array_equal(one.states, bitmc.sample(glass, draws=100, chains=20, seed=2).states)


def test_what_samples_say(glass, tmp_path):
    samples = bitmc.sample(glass, draws=300, chains=4)
    assert samples.shape == (4, 300, 36) and samples.energy.shape == (4, 300)
    summary = samples.summary()
    assert summary.energy["mean"] == pytest.approx(samples.energy.mean())
    assert len(summary.sites) == 36 and "| E |" in repr(summary)
    assert summary._repr_markdown_().count("\n\n|") == 1
    best = samples.best(3)
    assert best[0]["energy"] == samples.energy.min() and best[0]["state"].shape == (36,)
    assert samples.report["why"] in repr(samples)
    assert samples.report["seconds"]["draws"] >= 0
    samples.save(tmp_path / "samples.npz")
    assert np.array_equal(np.load(tmp_path / "samples.npz")["states"], samples.states)


def test_a_file_is_replaced_only_where_that_is_asked_for(glass, tmp_path):
    one, other = (bitmc.sample(glass, draws=20, chains=4, seed=seed) for seed in (1, 2))
    path = tmp_path / "samples.npz"
    one.save(path)
    kept = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        other.save(path)
    with pytest.raises(ValueError, match="^overwrite: "):
        other.save(path, overwrite=1)
    assert path.read_bytes() == kept
    other.save(path, overwrite=True)
    assert np.array_equal(np.load(path)["states"], other.states)


def warned(work):
    """The warnings of a run that are its own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [one for one in caught if one.category is bitmc.SamplingWarning]


def test_a_run_warns_once_when_it_ends():
    far = bitmc.ising({(i, (i + 1) % 32): 4.0 for i in range(32)})
    found = warned(lambda: bitmc.sample(far, draws=200, sampler="gibbs").summary())
    assert len(found) == 1 and "do not agree" in str(found[0].message) and found[0].filename == __file__
    assert len(warned(lambda: bitmc.replica_exchange(far, draws=20, ladder=[1.1, 1.0]))) == 1
    # Runs that agree, and runs that are too short for any errors.
    pair = bitmc.ising({(0, 1): 0.3})
    assert warned(lambda: bitmc.sample(pair).summary()) == []
    assert warned(lambda: bitmc.sample(pair, draws=2, sampler="gibbs").summary()) == []
    stopped = warned(lambda: bitmc.sample(pair, thin=10**12, draws=20, chains=2, sampler="gibbs", seconds=0.1))
    assert len(stopped) == 1 and "there are no draws" in str(stopped[0].message)


def test_shares_of_values_have_errors():
    model = bitmc.potts({(0, 1): 0.5, (1, 2): 0.5}, 3, sites=3)
    for site in bitmc.sample(model).summary().sites:
        assert len(site["shares"]) == len(site["share_errors"]) == 3
        # Draws are independent.
        assert all(0.8 < error / np.sqrt(p * (1 - p) / 16000) < 1.25 for p, error in zip(site["shares"], site["share_errors"]))


def test_arviz(glass):
    arviz = pytest.importorskip("arviz")
    samples = bitmc.sample(glass, draws=50, chains=4)
    data = samples.to_arviz()
    assert data.posterior["state"].dims == ("chain", "draw", "site")
    assert data.sample_stats["energy"].shape == (4, 50) and (data.posterior["state"].values == samples.states).all()


@pytest.mark.parametrize("version", ["0.23.4", "1.3.0"])
def test_both_signatures_of_arviz(glass, monkeypatch, version):
    """Groups are names of arguments before version 1, and from there on the keys of one mapping."""

    class Before:
        def from_dict(posterior=None, *, sample_stats=None, coords=None, dims=None):
            return {"posterior": posterior, "sample_stats": sample_stats}, dims

    class After:
        def from_dict(data, *, coords=None, dims=None):
            return data, dims

    arviz = Before if version < "1" else After
    arviz.__version__ = version
    monkeypatch.setitem(sys.modules, "arviz", arviz)
    samples = bitmc.sample(glass, draws=50, chains=4)
    groups, dims = samples.to_arviz()
    assert np.array_equal(groups["posterior"]["state"], samples.states) and dims == {"state": ["site"]}
    assert np.array_equal(groups["sample_stats"]["energy"], samples.energy)


def test_seconds_end_a_run(glass):
    begun = time.monotonic()
    samples = bitmc.sample(glass, draws=10**9, warmup=10, sampler="gibbs", seconds=0.3)
    assert time.monotonic() - begun < 10
    assert 0 < samples.shape[1] < 10**9 and "time" in samples.report["stopped"]


def test_checkpoint(glass, tmp_path):
    path = tmp_path / "run.checkpoint"
    whole = bitmc.sample(glass, draws=5000, sampler="gibbs")
    bitmc.sample(glass, draws=5000, sampler="gibbs", checkpoint=path, seconds=0.05)
    assert np.array_equal(bitmc.sample(glass, draws=5000, sampler="gibbs", checkpoint=path).states, whole.states)


def interrupted(work, after=0.4):
    """Sends the signal of Ctrl-C to this process while it works."""
    # A process that a script starts in the background ignores that signal.
    keyboard = signal.signal(signal.SIGINT, signal.default_int_handler)
    alarm = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, after)
    begun = time.monotonic()
    try:
        answer = work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, keyboard)
    assert time.monotonic() - begun < after + 15
    return answer


def test_ctrl_c_returns_what_there_is(glass):
    samples = interrupted(lambda: bitmc.sample(glass, draws=10**9, warmup=10, sampler="gibbs", seconds=20))
    assert samples.shape[1] > 0 and "cancelled" in samples.report["stopped"]
    assert samples.states.shape == samples.shape
    found = interrupted(lambda: bitmc.anneal(glass, sweeps=10**13))
    assert len(found.energies) > 0
    with pytest.raises(KeyboardInterrupt):
        interrupted(lambda: bitmc.log_z(glass, runs=10**5, temperatures=10**5))
    with pytest.raises(KeyboardInterrupt):
        interrupted(lambda: bitmc.sample(glass, warmup=10**12, sampler="gibbs", seconds=20))


def test_exceptions_of_other_signals_go_on(glass):
    class Late(Exception):
        pass

    def late(*_):
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Late):
            bitmc.sample(glass, draws=10**9, warmup=10, sampler="gibbs")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_lock_of_the_interpreter_is_free_meanwhile(glass):
    count, end = 0, threading.Event()

    def run():
        bitmc.sample(glass, draws=10**9, warmup=10, sampler="gibbs", seconds=0.5)
        end.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not end.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    assert count > 50


def test_anneal(glass):
    model = bitmc.ising(J, H)
    least = min(ising_energy(H)(x) for x in exact.states([2] * N))
    found = bitmc.anneal(model, sweeps=4000)
    assert found.energies[0] == pytest.approx(least, abs=1e-4)
    assert found.counts.sum() == found.runs and found.hottest > found.coldest
    reads = bitmc.anneal(glass, sweeps=200, reads=37, seed=4)
    again = bitmc.anneal(glass, sweeps=200, reads=37, seed=4, threads=1)
    assert reads.states.shape == (37, 36) and np.array_equal(reads.states, again.states)
    first = bitmc.anneal(glass, sweeps=200, reads=5, seed=4)
    assert np.array_equal(first.states, reads.states[:5])
    missed = bitmc.anneal(glass, sweeps=200, reads=37, seed=4, target=-1e9)
    assert np.array_equal(missed.states, reads.states) and missed.target_run is None
    hit = bitmc.anneal(glass, sweeps=200, reads=37, seed=4, target=float(reads.energies.min()))
    assert hit.target_run == reads.energies.argmin() and hit.energies[hit.target_run] == reads.energies.min()
    hot = bitmc.anneal(glass, sweeps=200, reads=37, seed=4, temperatures=(50.0, 50.0))
    assert hot.energies.mean() > reads.energies.mean() + 20


def test_anneal_by_ladders(glass):
    least = bitmc.anneal(glass, sweeps=100_000).energies[0]
    for method in ("exchange", "isoenergetic"):
        found = bitmc.anneal(glass, sweeps=100_000, method=method)
        assert found.energies[0] == least and found.target_run is None
        hit = bitmc.anneal(glass, sweeps=100_000, method=method, target=least)
        assert hit.energies[0] == least and hit.sweeps < found.sweeps and hit.target_seconds > 0
        again = bitmc.anneal(glass, sweeps=100_000, method=method, target=least, threads=1)
        assert (again.target_run, again.sweeps) == (hit.target_run, hit.sweeps)
        # Negative control: an energy that no state has.
        assert bitmc.anneal(glass, sweeps=100_000, method=method, target=least - 1).target_run is None
    # All sites of an RBM share terms.
    with pytest.raises(ValueError, match="isoenergetic"):
        bitmc.anneal(bitmc.rbm(np.ones((3, 2))), sweeps=10, method="isoenergetic")


def test_reads_end_at_the_coldest_temperature():
    """Long reads at one temperature are samples of it."""
    model = bitmc.ising(J, H)
    found = bitmc.anneal(model, sweeps=64, reads=20_000, temperatures=(1.5, 1.5))
    for temperature, holds in [(1.5, True), (1.0, False)]:
        want = exact.means([2] * N, ising_energy(H), temperature)[:N]
        error = np.sqrt(want * (1 - want) / 20_000)
        assert (np.abs(found.states.mean(axis=0) - want) < 5 * error).all() == holds


def test_log_z():
    estimate = bitmc.log_z(bitmc.ising(J, H), runs=200, temperatures=200)
    assert abs(estimate.log_z - exact.log_z([2] * N, ising_energy(H))) < 5 * estimate.error
    assert abs(estimate.log_z - exact.log_z([2] * N, ising_energy(2 * H))) > 5 * estimate.error
    assert estimate.runs == 200 and estimate.effective_runs > 20
    estimate = bitmc.log_z(bitmc.ising(J, H), method="population", population=2000)
    assert abs(estimate.log_z - exact.log_z([2] * N, ising_energy(H))) < 5 * estimate.error
    assert abs(estimate.log_z - exact.log_z([2] * N, ising_energy(2 * H))) > 5 * estimate.error
    assert estimate.runs == 2000 and 1 < estimate.families <= 2000


def test_log_z_begins_at_the_states_of_its_base():
    """Sites that are nearly always 1: from uniform ones few runs have all the weight."""
    h = np.full(200, 4.0)
    model, exactly = bitmc.ising(np.zeros((200, 200)), h), 200 * np.log(2 * np.cosh(4.0))
    few = {"runs": 64, "temperatures": 2}
    with pytest.warns(bitmc.SamplingWarning, match="likely too low"):
        uniform = bitmc.log_z(model, **few)
    assert abs(uniform.log_z - exactly) > 1
    base = bitmc.sample(model, draws=1000, chains=4).states
    with pytest.warns(bitmc.SamplingWarning, match="take at least 200"):
        hasty = bitmc.log_z(model, **few, base=base)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = bitmc.log_z(model, runs=64, temperatures=200, base=base)
        population = bitmc.log_z(model, method="population", base=np.ones((100, 200), np.uint8))
    for found in hasty, near, population:
        assert abs(found.log_z - exactly) < min(5 * found.error, 0.5), (found, exactly)


def resident():
    """KiB of this process that are in memory. The peak would be blind after a test that took more."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def grown(call, first, more):
    """KiB by which the process grows while it calls, after the first calls."""
    call(first)
    before = resident()
    call(more)
    return resident() - before


linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux tells what is in memory")


@linux
def test_nothing_leaks():
    """10,000 calls: models, runs, arrays and errors."""
    couplings = np.ones((6, 6)) - np.eye(6)

    def call(count):
        for _ in range(count):
            model = bitmc.ising(couplings, np.zeros(6))
            samples = bitmc.sample(model, draws=200, chains=1, warmup=0, sampler="gibbs", threads=1)
            assert samples.states.shape == (1, 200, 6) and samples.energy.size == 200
            with pytest.raises(ValueError):
                bitmc.ising(couplings, np.zeros(5))

    # A leak of the states alone would be 10.8 MB.
    assert grown(call, 1000, 9000) < 6000


@linux
def test_no_chains_leak():
    """10,000 sets of chains, half of them of second order with a factorised matrix."""
    kept = []

    def call(count, sites=40, keep=False):
        hessian = np.eye(sites, dtype=np.float32)
        for number in range(count):
            second = {"sampler": "second-order:1.0:0.8", "hessian": hessian} if number % 2 else {}
            chains = bitmc.Chains(sites, chains=2, **second)
            for _ in range(2):
                x = chains.ask()
                chains.tell(x.sum(axis=1, dtype=float), np.ones(x.shape))
            if keep:
                kept.append(chains)

    # A leak of the matrices alone would be 60 MB.
    assert grown(call, 1000, 9000) < 6000
    # Negative control: chains that are kept are seen. They are large, so that memory which earlier tests have freed does not hold them:
    # the matrices alone are 100 MB.
    assert grown(lambda count: call(count, sites=256, keep=True), 1, 800) > 50_000


def test_chains_stuck_at_different_values_have_an_infinite_r_hat():
    model = bitmc.ising([[0, 50.0], [50.0, 0]])
    summary = bitmc.sample(model, draws=20, warmup=0, sampler="langevin:0.001").summary()
    assert summary.r_hat == float("inf") and summary.sites[0]["r_hat"] == float("inf")
    assert "R̂ = inf" in summary.warning
    # None is of a scalar that never changes.
    assert bitmc.sample(model.given({0: 1, 1: 1}), draws=20).summary().r_hat is None


def test_results_are_read_after_a_fork():
    """Threads of a parent do not live in its child."""
    program = """
import bitmc, os, sys
model = bitmc.ising({(0, 1): 1.0})
bitmc.sample(model, draws=100).states
child = os.fork()
if child == 0:
    samples = bitmc.sample(model, draws=100)
    samples.states, samples.means, samples.summary()
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_long_draw_is_stopped():
    model = bitmc.ising({(0, 1): 1.0, (1, 2): -1.0}, [0.1, 0, 0])
    begun = time.monotonic()
    samples = bitmc.sample(model, thin=10**12, draws=2, chains=2, sampler="gibbs", seconds=0.3)
    assert len(samples.states[0]) == 0 and time.monotonic() - begun < 5


def test_one_state_is_one_energy():
    samples = bitmc.sample(bitmc.rbm([[0.1]], [-40.0]), seconds=60)
    assert samples.states.shape == (16, 1000, 1) and len(np.unique(samples.energy)) == 1
    assert samples.summary().warning is None


def test_a_constant_of_a_polynomial_is_not_rounded():
    for seed in (1, 2):
        found = bitmc.log_z(bitmc.polynomial({(): 1e7, (0,): 1.0}), seed=seed)
        exact_log_z = np.log(1 + np.exp(-1.0))
        assert abs(found.log_z + 1e7 - exact_log_z) < 5 * found.error + 1e-8
        found = bitmc.log_z(bitmc.polynomial({(): 1e7, (0,): 1.0}), seed=seed, temperature=0.7)
        assert abs(found.log_z + 1e7 / 0.7 - np.log(1 + np.exp(-1 / 0.7))) < 5 * found.error + 1e-8
    annealed = bitmc.anneal(bitmc.polynomial({(): 1e7, (0,): 0.3, (1,): -0.2}), sweeps=1000)
    assert abs(annealed.energies[0] - (1e7 - 0.2)) < 1e-6
    for constant in (-29999999.5, 1000000.3):  # that 32 bits cannot hold
        model = bitmc.polynomial({(): constant, (0,): 1.0})
        assert bitmc.anneal(model, sweeps=100).energies[0] == constant
        found = bitmc.log_z(model)
        assert abs(found.log_z + constant - exact_log_z) < 5 * found.error


@pytest.mark.parametrize("terms", [
    [((0,), 16777217.0), ((0,), -16777216.0)],
    [((0, 1), 100000.003), ((1, 0), -100000.0)],
    [((0, 1, 1), 30000001.0), ((1, 0), -30000000.0), ((), 0.5)],
])
def test_terms_of_a_polynomial_add_up_before_they_are_rounded(terms):
    samples = bitmc.sample(bitmc.polynomial(terms, sites=2), draws=200)
    states = samples.states.astype(float)
    energies = sum(weight * np.prod(states[..., list(sites)], axis=-1) for sites, weight in terms)
    assert np.ptp(energies) > 0 and np.abs(samples.energy - energies).max() < 1e-6


@pytest.mark.parametrize("method", ["importance", "population"])
def test_an_error_is_never_nothing(method):
    model = bitmc.ising([[0.0]], [3e-3])
    for seed in range(1, 7):
        found = bitmc.log_z(model, method=method, seed=seed)
        assert 0 < found.error and abs(found.log_z - np.log(2 * np.cosh(3e-3))) < 5 * found.error
