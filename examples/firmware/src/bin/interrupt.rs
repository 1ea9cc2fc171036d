//! An interrupt measures, the main loop samples. Each frame is a picture of 144 black or white pixels, a fifth of them
//! wrong. The interrupt hands it over by a queue without a lock. The main loop draws slices of Gibbs sweeps until the time
//! of the frame ends, and answers each pixel's likelier value.
//!
//! It passes where no frame is lost and where the answers have less than two thirds of the errors of the frames. A main loop that
//! does not look at the time must lose frames, and a sampler without couplings must not remove errors.
#![no_std]
#![no_main]

use bitmc::quantised::{PER_OCTAVE, QuantisedGibbs, QuantisedIsing};
use bitmc::{LaneRng, SeedableRng};
use bitmc_firmware::torus::{MODEL, SIDE, SITES, WORDS};
use bitmc_firmware::{entry, report};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{SCB, SYST};
use cortex_m_rt::exception;
use heapless::spsc::{Consumer, Producer, Queue};
use rand_core::Rng;
use rand_xoshiro::Xoshiro128PlusPlus;

/// Clock ticks of a frame: 50 ms at 25 MHz. An instruction takes 3.2 of them in the emulator.
const PERIOD: u32 = 1_250_000;
/// What the main loop leaves of a frame's time: a slice, and the answer.
const RESERVE: u32 = 25_000;
/// Sites of a slice: at most 1,200 + 360 × 16 instructions, below 23,000 ticks.
const SLICE: usize = 16;
const FRAMES: u32 = 200;

type Picture = [u32; WORDS];

/// A frame: what was measured, and what was to be seen, for the errors.
#[derive(Clone, Copy, Default)]
struct Frame {
    measured: Picture,
    seen: Picture,
}

static mut QUEUE: Queue<Frame, 4> = Queue::new();
static mut CAMERA: Option<(Producer<'static, Frame>, Xoshiro128PlusPlus, u32)> = None;
/// Frames for which the queue had no room.
static LOST: AtomicU32 = AtomicU32::new(0);

#[entry]
fn main() -> ! {
    report("interrupt", 8_192, run)
}

/// The interrupt: it measures a frame and hands it over.
#[exception]
fn SysTick() {
    let camera = &raw mut CAMERA;
    // SAFETY: the main loop puts the camera there before it starts the timer, and takes it away with the timer stopped.
    let Some((queue, rng, count)) = (unsafe { (*camera).as_mut() }) else { return };
    let mut frame = Frame::default();
    for site in 0..SITES as u32 {
        // A square of 6×6 that moves over the torus.
        let (row, column) = (site / SIDE, site % SIDE);
        let inside = (row + *count) % SIDE < 6 && (column + 12 - *count / 2 % SIDE) % SIDE < 6;
        let wrong = rng.next_u32() % 5 == 0;
        let (word, place) = (site as usize / 32, site % 32);
        frame.seen[word] |= u32::from(inside) << place;
        frame.measured[word] |= u32::from(inside ^ wrong) << place;
    }
    *count += 1;
    if queue.enqueue(frame).is_err() {
        LOST.store(LOST.load(Relaxed) + 1, Relaxed); // a Cortex-M0 has no `fetch_add`
    }
}

/// What came of a run.
#[derive(Default)]
struct Outcome {
    lost: u32,
    measured: u32,
    answered: u32,
    /// The fewest sweeps that a frame had.
    sweeps: u32,
}

fn run() -> Option<bool> {
    let good = film(true, MODEL)?;
    defmt::info!(
        "frames: {=u32}, lost: {=u32}, sweeps of a frame: at least {=u32}",
        FRAMES,
        good.lost,
        good.sweeps
    );
    defmt::info!(
        "wrong pixels of {=u32}: measured {=u32}, answered {=u32}",
        FRAMES * SITES as u32,
        good.measured,
        good.answered
    );
    let late = film(false, MODEL)?;
    defmt::info!("a main loop that does not look at the time: {=u32} frames lost", late.lost);
    let free = QuantisedIsing::from_rows(&[0; SITES], &[], &[0; SITES]).ok()?;
    let alone = film(true, free)?;
    defmt::info!("without couplings: answered {=u32}", alone.answered);
    let caught = late.lost > 0 && 3 * alone.answered > 2 * alone.measured;
    Some(good.lost == 0 && 3 * good.answered < 2 * good.measured && caught)
}

/// Takes frames, in time or without looking at it.
#[inline(never)]
fn film(in_time: bool, model: QuantisedIsing<'_>) -> Option<Outcome> {
    let queue = &raw mut QUEUE;
    // SAFETY: the timer is stopped, so that the interrupt does not come.
    let mut frames = unsafe {
        *queue = Queue::new();
        let (producer, consumer) = (*queue).split();
        CAMERA = Some((producer, Xoshiro128PlusPlus::seed_from_u64(2), 0));
        consumer
    };
    LOST.store(0, Relaxed);
    let mut timer = clock();
    timer.enable_counter();
    timer.enable_interrupt();
    let outcome = answer(&mut frames, in_time, model);
    timer.disable_interrupt();
    timer.disable_counter();
    SCB::clear_pendst();
    outcome
}

fn clock() -> SYST {
    // SAFETY: nothing else in the image uses the timer.
    let mut timer = unsafe { cortex_m::Peripherals::steal() }.SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(PERIOD - 1);
    timer.clear_current();
    timer
}

fn answer(frames: &mut Consumer<'_, Frame>, in_time: bool, model: QuantisedIsing<'_>) -> Option<Outcome> {
    let mut rng = LaneRng::seed_from_u64(1);
    let (mut words, mut room) = ([0; WORDS], [0; SITES]);
    let mut outcome = Outcome { sweeps: u32::MAX, ..Outcome::default() };
    for _ in 0..FRAMES {
        let frame = loop {
            match frames.dequeue() {
                Some(frame) => break frame,
                None => cortex_m::asm::wfi(),
            }
        };
        // A pixel is right with odds of 4 to 1: two octaves.
        let mut fields = [0; SITES];
        for (site, (field, &own)) in fields.iter_mut().zip(model.form().linear()).enumerate() {
            let octaves = if frame.measured[site / 32] >> (site % 32) & 1 == 0 { -2 } else { 2 };
            *field = own + octaves * PER_OCTAVE as i32;
        }
        let mut chain = QuantisedGibbs::new(model.with_linear(&fields).ok()?, &mut words, &mut room).ok()?;
        let (mut up, mut sweeps, mut site) = ([0_u16; SITES], 0, 0);
        // The timer counts down to the next frame.
        while if in_time { SYST::get_current() > RESERVE } else { sweeps < 64 } {
            chain.sweep_sites(site..site + SLICE, &mut rng);
            site += SLICE;
            if site >= SITES {
                (site, sweeps) = (0, sweeps + 1);
                let state = chain.state();
                up.iter_mut().enumerate().for_each(|(site, up)| *up += state.get(site) as u16);
            }
        }
        let mut answer = Picture::default();
        for (site, &up) in up.iter().enumerate() {
            answer[site / 32] |= u32::from(2 * u32::from(up) > sweeps) << (site % 32);
        }
        let wrong = |picture: &Picture| -> u32 {
            picture.iter().zip(&frame.seen).map(|(one, other)| (one ^ other).count_ones()).sum()
        };
        outcome.measured += wrong(&frame.measured);
        outcome.answered += wrong(&answer);
        outcome.sweeps = outcome.sweeps.min(sweeps);
    }
    outcome.lost = LOST.load(Relaxed);
    Some(outcome)
}
