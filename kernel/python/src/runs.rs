//! Runs in a thread of their own, while the caller's looks for signals.

use crate::model::Model;
use crate::samples::{Samples, states};
use crate::{json, raised, wrong};
use bitmc_desktop::{Cancel, Choice, Error, base_fields};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Does some work in a thread of its own, without the lock of the interpreter. A signal's exception cancels the work, and is
/// returned with the answer.
fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let (answer, raised_by) = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel();
            let worker = scope.spawn(move || {
                let answer = work();
                // The receiver is there until this thread ends.
                let _ = send.send(());
                answer
            });
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = receive.recv_timeout(LOOK) {
                if signal.is_none()
                    && let Err(error) = Python::attach(|py| py.check_signals())
                {
                    cancel.cancel();
                    signal = Some(error);
                }
            }
            (worker.join(), signal)
        })
    });
    match (answer, raised_by) {
        (Ok(Ok(answer)), signal) => Ok((answer, signal)),
        (_, Some(signal)) => Err(signal),
        (Ok(Err(error)), None) => Err(raised(error)),
        (Err(_), None) => Err(pyo3::exceptions::PyRuntimeError::new_err("a fault of bitmc: the run panicked")),
    }
}

/// Ctrl-C is no error where there is an answer; what another signal raises goes on.
fn unless_interrupted(py: Python<'_>, signal: Option<PyErr>, empty: bool) -> PyResult<()> {
    match signal {
        Some(signal) if empty || !signal.is_instance_of::<PyKeyboardInterrupt>(py) => Err(signal),
        _ => Ok(()),
    }
}

#[pyfunction]
#[pyo3(signature = (model, draws, chains, warmup, thin, seed, temperature, sampler, seconds, threads, progress, checkpoint))]
#[expect(clippy::too_many_arguments, reason = "the settings of a run")]
pub(crate) fn sample(
    py: Python<'_>,
    model: &Model,
    draws: usize,
    chains: usize,
    warmup: Option<u64>,
    thin: Option<u64>,
    seed: u64,
    temperature: f32,
    sampler: &str,
    seconds: Option<f64>,
    threads: usize,
    progress: bool,
    checkpoint: Option<PathBuf>,
) -> PyResult<Samples> {
    let choice: Choice = sampler.parse().map_err(raised)?;
    let cancel = Cancel::new();
    let mut run = model.inner.sampler().with(choice).draws(draws).chains(chains).seed(seed);
    run = run.temperature(temperature).threads(threads).progress(progress).cancel(&cancel);
    if let Some(warmup) = warmup {
        run = run.warmup(warmup);
    }
    if let Some(thin) = thin {
        run = run.thin(thin);
    }
    if let Some(seconds) = seconds {
        run = run.seconds(seconds);
    }
    if let Some(path) = checkpoint {
        run = run.checkpoint(path);
    }
    let (inner, signal) = interruptible(py, &cancel, || run.run())?;
    unless_interrupted(py, signal, inner.is_empty())?;
    Ok(Samples { inner })
}

/// States, energies, and what there is to say, as JSON.
type Ends<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>, String);

#[pyfunction]
#[pyo3(signature = (model, seconds, sweeps, reads, temperatures, method, target, seed, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "the settings of a run")]
pub(crate) fn anneal<'py>(
    py: Python<'py>,
    model: &Model,
    seconds: Option<f64>,
    sweeps: Option<u64>,
    reads: Option<usize>,
    temperatures: Option<(f64, f64)>,
    method: &str,
    target: Option<f64>,
    seed: u64,
    threads: usize,
    progress: bool,
) -> PyResult<Ends<'py>> {
    let cancel = Cancel::new();
    let mut run = model.inner.annealer().seed(seed).threads(threads).progress(progress).cancel(&cancel);
    run = match (reads, sweeps, seconds) {
        (Some(reads), sweeps, seconds) => run.reads(reads, sweeps.unwrap_or(1000), seconds),
        (None, Some(sweeps), None) => run.sweeps(sweeps),
        (None, None, Some(seconds)) => run.seconds(seconds),
        _ => return Err(wrong("seconds or sweeps: one of these is needed")),
    };
    if let Some((hottest, coldest)) = temperatures {
        run = run.temperatures(hottest, coldest);
    }
    run = run.method(method.parse().map_err(raised)?);
    if let Some(energy) = target {
        run = run.target(energy);
    }
    let (found, signal) = interruptible(py, &cancel, || run.run())?;
    unless_interrupted(py, signal, found.states.is_empty())?;
    let runs: Vec<u64> = found.states.iter().map(|state| state.runs).collect();
    let told = json!({
        "warning": found.warning(&model.inner), "states_runs": runs, "runs": found.runs, "sweeps": found.sweeps,
        "hottest": found.hottest, "coldest": found.coldest,
        "target_run": found.target.map(|reached| reached.run),
        "target_seconds": found.target.map(|reached| reached.seconds),
    });
    let layout = found.layout();
    let (count, values, energies): (usize, Vec<u16>, Vec<f64>) = if reads.is_some() {
        let mut values = Vec::with_capacity(found.reads.len() * layout.sites());
        for (words, _) in &found.reads {
            let state = bitmc::Packed::new(layout, words).map_err(wrong)?;
            values.extend(state.values().map(|value| value as u16));
        }
        (found.reads.len(), values, found.reads.iter().map(|read| read.1).collect())
    } else {
        let values = found.states.iter().flat_map(|state| state.state.iter().map(|&value| value as u16));
        (found.states.len(), values.collect(), found.states.iter().map(|state| state.energy).collect())
    };
    let states = states(py, layout.arity(), values)?;
    let states = states.call_method1("reshape", ((count, layout.sites()),))?;
    Ok((states, energies.into_pyarray(py), json(&told)?))
}

#[pyfunction]
#[pyo3(signature = (model, runs, temperatures, population, base, temperature, seed, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "the settings of a run")]
pub(crate) fn log_z(
    py: Python<'_>,
    model: &Model,
    runs: Option<usize>,
    temperatures: Option<usize>,
    population: Option<usize>,
    base: Option<PyReadonlyArray2<'_, u16>>,
    temperature: f64,
    seed: u64,
    threads: usize,
    progress: bool,
) -> PyResult<String> {
    let cancel = Cancel::new();
    let mut run = model.inner.log_z().temperature(temperature).seed(seed);
    run = run.threads(threads).progress(progress).cancel(&cancel);
    if let Some(runs) = runs {
        run = run.runs(runs);
    }
    if let Some(temperatures) = temperatures {
        run = run.temperatures(temperatures);
    }
    if let Some(replicas) = population {
        run = run.population(replicas);
    }
    if let Some(states) = base {
        let states = states.as_array();
        let rows = states.rows().into_iter().map(|row| row.into_iter().map(|&value| u32::from(value)));
        run = run.base(&base_fields(model.inner.layout(), rows).map_err(raised)?);
    }
    let (estimate, signal) = interruptible(py, &cancel, || run.run())?;
    unless_interrupted(py, signal, false)?;
    json(&estimate)
}
