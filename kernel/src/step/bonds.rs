//! Bonds between sites whose values a mirror exchanges, for the samplers that move clusters.

use crate::energy::{Energy, Entry, Ising, Potts, Sparse};
use crate::lane::{Block, F32s, LANES, PARTS};
use crate::packed::{self, Packed};
use crate::random::{below, other_value, uniforms};
use rand_core::Rng;

/// A model of pairs, seen by a mirror that exchanges values two by two and may leave some as they are.
///
/// Given the mirror, each site has two values: its own and the one it would change to. The model is an Ising model
/// over which of the two it has. Energies are in half units: a bond has probability `1 − e^(−½·units)`. Here `units`
/// is twice what a change of one of the two sites alone loses.
pub(super) trait Mirrored: Energy {
    /// The exchange of values.
    type Mirror: Copy;

    fn couplings(&self) -> Sparse<'_>;

    /// Of a move of all sites.
    fn mirror<R: Rng + ?Sized>(&self, rng: &mut R) -> Self::Mirror;

    /// One of those that change this value.
    fn mirror_of<R: Rng + ?Sized>(&self, value: u32, rng: &mut R) -> Self::Mirror;

    /// What a value becomes.
    fn image(&self, mirror: Self::Mirror, value: u32) -> u32;

    /// Twice the energy, in units, by which a coupling favours two values, over one of them changed alone; negative where it
    /// favours the change.
    fn gain(&self, mirror: Self::Mirror, values: (u32, u32), coupling: i64) -> i64;

    /// The share of a coupling in the field of a site.
    fn share(coupling: i32) -> i64;

    /// The same of a field, to which the shares of the site's couplings have been added.
    fn pull(&self, mirror: Self::Mirror, site: (usize, u32), linear: i32, shares: i64) -> i64;

    /// Changes a site from a value to its image.
    fn flip(&self, mirror: Self::Mirror, words: &mut [u32], site: usize);
}

/// Over bits a model has the spins' couplings J = K/4 and fields h = b/2 + ΣK/4. A bond has probability
/// `1 − e^(−2|J|) = P(−2 ln u < |K|)`, one with the ghost `1 − e^(−2|h|) = P(−2 ln u < |2b + ΣK|)`.
impl Mirrored for Ising<'_> {
    type Mirror = ();

    fn couplings(&self) -> Sparse<'_> {
        self.form()
    }

    fn mirror<R: Rng + ?Sized>(&self, _: &mut R) {}

    fn mirror_of<R: Rng + ?Sized>(&self, _: u32, _: &mut R) {}

    #[inline]
    fn image(&self, (): (), value: u32) -> u32 {
        1 ^ value
    }

    #[inline]
    fn gain(&self, (): (), (value, other): (u32, u32), coupling: i64) -> i64 {
        if value == other { coupling } else { -coupling }
    }

    #[inline]
    fn share(coupling: i32) -> i64 {
        coupling.into()
    }

    #[inline]
    fn pull(&self, (): (), (_, value): (usize, u32), linear: i32, shares: i64) -> i64 {
        let field = 2 * i64::from(linear) + shares;
        if value == 0 { -field } else { field }
    }

    #[inline]
    fn flip(&self, (): (), words: &mut [u32], site: usize) {
        if let Some(word) = words.get_mut(site / 32) {
            *word ^= 1u32.wrapping_shl(site as u32);
        }
    }
}

/// The mirror c takes the value k to c − k, modulo the number of values. For two values k and l it is the one at c = k + l.
impl Mirrored for Potts<'_> {
    type Mirror = u32;

    fn couplings(&self) -> Sparse<'_> {
        self.form()
    }

    /// Uniform; of two values the mirror that exchanges them.
    fn mirror<R: Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        let arity = self.values();
        if arity == 2 { 1 } else { below(arity, rng) }
    }

    fn mirror_of<R: Rng + ?Sized>(&self, value: u32, rng: &mut R) -> u32 {
        let arity = self.values();
        let sum = value + other_value(value, arity, rng);
        if sum < arity { sum } else { sum - arity }
    }

    #[inline]
    fn image(&self, mirror: u32, value: u32) -> u32 {
        if value <= mirror { mirror - value } else { (mirror + self.values()).wrapping_sub(value) }
    }

    #[inline]
    fn gain(&self, mirror: u32, (value, other): (u32, u32), coupling: i64) -> i64 {
        let image = self.image(mirror, value);
        match (other == value, other == image) {
            (true, false) => 2 * coupling,
            (false, true) => -2 * coupling,
            _ => 0,
        }
    }

    #[inline]
    fn share(_: i32) -> i64 {
        0
    }

    #[inline]
    fn pull(&self, mirror: u32, (site, value): (usize, u32), _: i32, _: i64) -> i64 {
        let image = self.image(mirror, value);
        let field = |value: u32| i64::from(self.field(site, value as usize));
        2 * (field(value) - field(image))
    }

    #[inline]
    fn flip(&self, mirror: u32, words: &mut [u32], site: usize) {
        let layout = self.layout();
        let value = Packed::trusted(layout, words).get(site);
        // An image is a value.
        let _ = packed::set(layout, words, site, self.image(mirror, value));
    }
}

/// Draws bonds from exponential numbers −ln u, of which sixteen are made at a time.
pub(super) struct Bonds {
    /// −2 ln u, in units of the model.
    noise: Block,
    next: usize,
    scale: F32s,
}

impl Bonds {
    pub(super) fn new(form: &Sparse<'_>) -> Self {
        Self { noise: [0.0; LANES], next: LANES, scale: F32s::splat(-2.0 * form.per_unit()) }
    }

    /// True with probability `1 − e^(−½·units)`; never where `units` is 0 or less. Takes one number.
    #[inline]
    pub(super) fn draw<R: Rng + ?Sized>(&mut self, units: i64, rng: &mut R) -> bool {
        if self.next >= LANES {
            let u = uniforms(rng);
            (0..PARTS).for_each(|part| {
                (F32s::load(&u, part).ln() * self.scale).store(&mut self.noise, part);
            });
            self.next = 0;
        }
        let noise = self.noise.get(self.next).copied().unwrap_or(0.0);
        self.next += 1;
        noise < units as f32
    }

    /// Whether a site that has this value is bound to its neighbour. Takes a number where the coupling favours their values.
    #[inline]
    pub(super) fn bind<E: Mirrored, R: Rng + ?Sized>(
        &mut self,
        (model, mirror): (&E, E::Mirror),
        (value, entry): (u32, &Entry),
        state: Packed<'_>,
        rng: &mut R,
    ) -> bool {
        let other = state.get(entry.site as usize);
        let units = model.gain(mirror, (value, other), entry.coupling.into());
        units > 0 && self.draw(units, rng)
    }
}
