//! Probabilities as planes of bits, most significant first.
//!
//! A chain's threshold depends on *features*, bits that the update makes for all chains at once ("at least k
//! neighbours agree"). A feature is a set of chains, and where it is set, some bits of the threshold differ from
//! what they would be without it. So a plane of the thresholds of all chains is a constant, to which each feature
//! adds its block or nothing, modulo 2. It is kept as a row of words that are all zeros or all ones.

use super::model::{KINDS, Kind, SlicedError};
use super::{MAX_DEGREE, SlicedIsing};

/// Bits of a threshold.
const PLANES: usize = 64;

/// The most features of a site.
pub(super) const MAX_FEATURES: usize = 2 * MAX_DEGREE + 1;

/// For each kind of site a row of words for every plane, and two more for the features' weights.
#[derive(Debug)]
pub(super) struct Table<'a> {
    words: &'a [u32],
    /// Where a kind's rows start and end.
    places: [(u32, u32); KINDS],
}

/// A number for every outcome of the features: with none of them, and how each one changes it.
pub(super) struct Outcomes<T> {
    pub(super) base: T,
    pub(super) changes: [T; MAX_FEATURES],
}

impl<T: Copy + Default> Outcomes<T> {
    /// From the number where `k` neighbours agree, 0 … `levels`, and where the field does, if there is one. The
    /// features are "at least k", then "the field", then both.
    pub(super) fn new(levels: usize, field: bool, of: impl Fn(usize, bool) -> T, minus: fn(T, T) -> T) -> Self {
        let mut changes = [T::default(); MAX_FEATURES];
        let mut put = |place: usize, value| {
            if let Some(slot) = changes.get_mut(place) {
                *slot = value;
            }
        };
        for k in 1..=levels {
            let step = minus(of(k, false), of(k - 1, false));
            put(k - 1, step);
            if field {
                put(levels + k, minus(minus(of(k, true), of(k - 1, true)), step));
            }
        }
        if field {
            put(levels, minus(of(0, true), of(0, false)));
        }
        Self { base: of(0, false), changes }
    }
}

impl<'a> Table<'a> {
    /// Words of a kind with so many features.
    pub(super) const fn words(features: usize) -> usize {
        features.saturating_add(1).saturating_mul(PLANES + 2)
    }

    /// Fills memory. `features` tells how many a kind has, `of` its thresholds and weights.
    pub(super) fn new(
        model: &SlicedIsing<'_>,
        memory: &'a mut [u32],
        features: impl Fn(Kind) -> usize,
        of: impl Fn(Kind) -> (Outcomes<u64>, Outcomes<i64>),
    ) -> Result<Self, SlicedError> {
        let need = model.kinds().map(|kind| Self::words(features(kind))).sum();
        let got = memory.len();
        let (mut places, mut start) = ([(0, 0); KINDS], 0);
        for kind in model.kinds() {
            let width = 1 + features(kind);
            let end = start + Self::words(width - 1);
            let (Some(rows), Some(place)) = (memory.get_mut(start..end), places.get_mut(kind.number())) else {
                return Err(SlicedError::Memory { need, got });
            };
            let (thresholds, weights) = of(kind);
            let mut rest = rows;
            for plane in (0..PLANES).rev() {
                let Some((row, tail)) = core::mem::take(&mut rest).split_at_mut_checked(width) else { break };
                let values = core::iter::once(&thresholds.base).chain(&thresholds.changes);
                for (word, &value) in row.iter_mut().zip(values) {
                    *word = 0u32.wrapping_sub((value >> plane) as u32 & 1);
                }
                rest = tail;
            }
            if let Some((low, high)) = core::mem::take(&mut rest).split_at_mut_checked(width) {
                let values = core::iter::once(&weights.base).chain(&weights.changes);
                for ((low, high), &value) in low.iter_mut().zip(high).zip(values) {
                    (*low, *high) = (value as u32, (value >> 32) as u32);
                }
            }
            *place = (start as u32, end as u32);
            start = end;
        }
        Ok(Self { words: memory, places })
    }

    /// The rows of a kind, one behind the other, each a word and one for every feature. First are the planes, then
    /// the low and the high halves of the weights.
    #[inline]
    fn rows(&self, kind: Kind) -> &[u32] {
        let (start, end) = self.places.get(kind.number()).copied().unwrap_or((0, 0));
        self.words.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The rows that are planes.
    #[inline]
    pub(super) fn planes(&self, kind: Kind, features: usize) -> &[u32] {
        self.rows(kind).get(..PLANES * (1 + features)).unwrap_or_default()
    }

    /// The weights of a kind's features.
    pub(super) fn weights(&self, kind: Kind, features: usize) -> [i64; MAX_FEATURES] {
        let halves = self.rows(kind).get(PLANES * (1 + features)..).unwrap_or_default();
        let (low, high) = halves.split_at_checked(1 + features).unwrap_or_default();
        let mut weights = [0; MAX_FEATURES];
        for (weight, (&low, &high)) in weights.iter_mut().zip(low.iter().zip(high).skip(1)) {
            *weight = (i64::from(high as i32) << 32) | i64::from(low);
        }
        weights
    }

    /// The threshold that the planes hold where `level` neighbours agree, and the field does.
    pub(super) fn threshold(&self, kind: Kind, features: usize, level: usize, along: bool) -> u64 {
        let (mut rest, mut threshold) = (self.planes(kind, features), 0);
        while let Some((row, tail)) = rest.split_at_checked(1 + features) {
            let words = row.iter().enumerate().filter(|&(place, _)| set(place, features, level, along));
            threshold = (threshold << 1) | u64::from(words.fold(0, |sum, (_, word)| sum ^ word) & 1);
            rest = tail;
        }
        threshold
    }

    /// The weight there, less that where nothing agrees.
    pub(super) fn weight(&self, kind: Kind, features: usize, level: usize, along: bool) -> i64 {
        let weights = self.weights(kind, features);
        let chosen = (1..).zip(weights).filter(|&(place, _)| set(place, features, level, along));
        chosen.fold(0, |sum, (_, weight)| sum.wrapping_add(weight))
    }
}

/// Whether a word of a row counts: the constant one does, then as many as neighbours agree, then the field's and as
/// many of both.
fn set(place: usize, features: usize, level: usize, along: bool) -> bool {
    let field = if along { 1 + (features >> 1) } else { usize::MAX };
    place <= level || (field..=field.saturating_add(level)).contains(&place)
}
