//! Sampling as an `async` task under embassy, beside a control task that must run every millisecond.
//!
//! The chain belongs to its task, which gives way after every slice of a sweep. The control task says how late it was, in
//! instructions since its tick. The image passes where 100,000 ticks had no task that missed its millisecond, and where the
//! chain has the hash of `integers`: slices do not change its bits. A task that gives way after whole sweeps alone must
//! miss.
//!
//! The emulated processor runs 7,812 instructions a millisecond, as one of 8 MHz would.
#![no_std]
#![no_main]

use bitmc::quantised::QuantisedGibbs;
use bitmc::{LaneRng, SeedableRng};
use bitmc_chains::hash::Hash;
use bitmc_firmware::torus::{HASH, MODEL, SITES, WORDS};
use bitmc_firmware::{exit, stack};
use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use core::task::Waker;
use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use critical_section::Mutex;
use embassy_executor::Spawner;
use embassy_futures::yield_now;
use embassy_time::{Duration, Ticker};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

/// Clock ticks of a millisecond at 25 MHz.
const MILLISECOND: u32 = 25_000;
const TICKS: u32 = 100_000;
/// Ticks of the negative control.
const BAD_TICKS: u32 = 1_000;
/// Sites of a slice: at most 1,200 + 360 × 8 instructions.
const SLICE: usize = 8;

/// Time for embassy: SysTick counts milliseconds and wakes whoever waits for one.
struct Clock {
    now: AtomicU32,
    waiting: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock {
    now: AtomicU32::new(0),
    waiting: Mutex::new(RefCell::new(Queue::new())),
});

impl Driver for Clock {
    fn now(&self) -> u64 {
        u64::from(self.now.load(Relaxed))
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        // Every tick looks at the queue, so that there is no alarm to set.
        critical_section::with(|token| self.waiting.borrow_ref_mut(token).schedule_wake(at, waker));
    }
}

#[exception]
fn SysTick() {
    let now = CLOCK.now.load(Relaxed) + 1;
    CLOCK.now.store(now, Relaxed);
    critical_section::with(|token| CLOCK.waiting.borrow_ref_mut(token).next_expiration(u64::from(now)));
}

/// Sweeps without giving way: the negative control.
static GREEDY: AtomicBool = AtomicBool::new(false);
static SWEEPS: AtomicU32 = AtomicU32::new(0);
/// The hash of the first 512 sweeps.
static SEEN: AtomicU32 = AtomicU32::new(0);

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    stack::paint();
    // Before the first tick: to seed sixteen lanes takes four of them.
    let rng = LaneRng::seed_from_u64(1);
    // SAFETY: nothing else in the image uses the timer.
    let mut timer = unsafe { cortex_m::Peripherals::steal() }.SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(MILLISECOND - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
    spawner.spawn(sample(rng).expect("the pool has room for it"));
    spawner.spawn(control().expect("the pool has room for it"));
}

/// Owns the chain, and samples in what time is left.
#[embassy_executor::task]
async fn sample(mut rng: LaneRng) {
    let (mut words, mut fields) = ([0; WORDS], [0; SITES]);
    let mut chain = QuantisedGibbs::new(MODEL, &mut words, &mut fields).expect("buffers of the model's size");
    let mut hash = Hash::new();
    loop {
        for site in (0..SITES).step_by(SLICE) {
            chain.sweep_sites(site..site + SLICE, &mut rng);
            if !GREEDY.load(Relaxed) {
                yield_now().await;
            }
        }
        let sweeps = SWEEPS.load(Relaxed) + 1;
        SWEEPS.store(sweeps, Relaxed);
        if sweeps <= 512 {
            hash.words(chain.state().words());
            SEEN.store(hash.value(), Relaxed);
        }
        yield_now().await;
    }
}

/// What the control task found in some ticks.
struct Found {
    /// The most clock ticks from a millisecond's beginning to the task.
    worst: u32,
    missed: u32,
}

/// Runs in every millisecond, and says how late it was.
async fn watch(ticks: u32) -> Found {
    let mut found = Found { worst: 0, missed: 0 };
    let mut ticker = Ticker::every(Duration::from_millis(1));
    let first = CLOCK.now.load(Relaxed) + 1;
    for due in first..first + ticks {
        ticker.next().await;
        let late = critical_section::with(|_| (CLOCK.now.load(Relaxed) - due) * MILLISECOND + since_tick());
        found.missed += u32::from(late >= MILLISECOND);
        found.worst = found.worst.max(late);
    }
    found
}

/// Clock ticks since SysTick began anew; more than a millisecond where its interrupt still waits.
fn since_tick() -> u32 {
    let before = SYST::get_current();
    if cortex_m::peripheral::SCB::is_pendst_pending() {
        return 2 * MILLISECOND - 1 - SYST::get_current();
    }
    MILLISECOND - 1 - before
}

#[embassy_executor::task]
async fn control() {
    let good = watch(TICKS).await;
    let sweeps = SWEEPS.load(Relaxed);
    GREEDY.store(true, Relaxed);
    let bad = watch(BAD_TICKS).await;
    let (hash, ram) = (SEEN.load(Relaxed), stack::statics() + stack::used());
    defmt::info!(
        "{=u32} ticks of 7812 instructions, {=u32} missed, {=u32} sweeps beside them",
        TICKS,
        good.missed,
        sweeps
    );
    defmt::info!("worst latency in instructions, of a tick: {=u32}", good.worst * 5 / 16);
    defmt::info!(
        "a task that gives way after whole sweeps: {=u32} of {=u32} missed, worst {=u32}",
        bad.missed,
        BAD_TICKS,
        bad.worst * 5 / 16
    );
    defmt::info!("hash {=u32:08x}", hash);
    defmt::info!("RAM, statics and stack: chain {=usize} bytes", ram);
    let pass = good.missed == 0 && bad.missed > 0 && hash == HASH;
    defmt::info!("task: {=str}", if pass { "pass" } else { "FAIL" });
    exit(pass)
}
