//! Numbers, lists, and generators of other crates.

use super::{BoundedSnapshot, Reader, Snapshot, SnapshotError, Writer, list_len};
use rand_core::SeedableRng;

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl Snapshot for $type {
            fn save(&self, to: &mut Writer<'_>) {
                to.bytes(&self.to_le_bytes());
            }

            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
                *self = <$type>::from_le_bytes(from.array()?);
                Ok(())
            }
        }

        impl BoundedSnapshot for $type {
            const LEN: usize = size_of::<Self>();
        }
    )+};
}

numbers!(u8, u16, u32, u64, i32, i64, f32);

/// A byte, 0 or 1.
impl Snapshot for bool {
    fn save(&self, to: &mut Writer<'_>) {
        u8::from(*self).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        *self = match from.array()? {
            [0] => false,
            [1] => true,
            _ => return Err(SnapshotError::Value),
        };
        Ok(())
    }
}

impl BoundedSnapshot for bool {
    const LEN: usize = 1;
}

/// As a `u64`, the same on every machine.
impl Snapshot for usize {
    fn save(&self, to: &mut Writer<'_>) {
        (*self as u64).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        *self = Self::try_from(from.value::<u64>()?).map_err(|_| SnapshotError::Value)?;
        Ok(())
    }
}

impl BoundedSnapshot for usize {
    const LEN: usize = 8;
}

/// Its length, and the elements. Where one is refused, those before it are loaded.
impl<T: Snapshot> Snapshot for [T] {
    fn save(&self, to: &mut Writer<'_>) {
        (self.len() as u32).save(to);
        self.iter().for_each(|element| element.save(to));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let got = u32::from_le_bytes(from.array()?) as usize;
        if got != self.len() {
            return Err(SnapshotError::Length { need: self.len(), got });
        }
        self.iter_mut().try_for_each(|element| element.load(from))
    }
}

/// Takes lists whose values are legal at their places: all of them or none.
pub(crate) fn lists<T: Snapshot + Default, const N: usize>(
    lists: [&mut [T]; N],
    mut legal: impl FnMut(usize, &T) -> bool,
    from: &mut Reader<'_>,
) -> Result<(), SnapshotError> {
    let mut look = *from;
    for list in &lists {
        let (need, got) = (list.len(), u32::from_le_bytes(look.array()?) as usize);
        if got != need {
            return Err(SnapshotError::Length { need, got });
        }
        for index in 0..need {
            if !legal(index, &look.value()?) {
                return Err(SnapshotError::Value);
            }
        }
    }
    lists.into_iter().try_for_each(|list| list.load(from))
}

/// Takes a part of a name, plain data and a list whose values are legal at their places: all of it or nothing.
pub(crate) fn data_and_list<D: Snapshot + Copy, T: Snapshot + Default>(
    name: [u8; 4],
    (data, list): (&mut D, &mut [T]),
    legal: impl Fn(usize, &T) -> bool,
    from: &mut Reader<'_>,
) -> Result<(), SnapshotError> {
    let (mut next, mut at) = (*data, *from);
    at.name(name)?;
    next.load(&mut at)?;
    lists([list], legal, &mut at)?;
    (*data, *from) = (next, at);
    Ok(())
}

/// As a slice.
impl<T: Snapshot, const N: usize> Snapshot for [T; N] {
    fn save(&self, to: &mut Writer<'_>) {
        self.as_slice().save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        self.as_mut_slice().load(from)
    }
}

impl<T: BoundedSnapshot, const N: usize> BoundedSnapshot for [T; N] {
    const LEN: usize = list_len(N, T::LEN);
}

macro_rules! tuples {
    ($(($($type:ident $index:tt),+))+) => {$(
        /// One after the other. Where one is refused, those before it are loaded.
        impl<$($type: Snapshot),+> Snapshot for ($($type),+) {
            fn save(&self, to: &mut Writer<'_>) {
                $(self.$index.save(to);)+
            }

            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
                $(self.$index.load(from)?;)+
                Ok(())
            }
        }

        impl<$($type: BoundedSnapshot),+> BoundedSnapshot for ($($type),+) {
            const LEN: usize = 0 $(+ $type::LEN)+;
        }
    )+};
}

tuples!((A 0, B 1) (A 0, B 1, C 2));

/// Whether there is one, and that.
impl<T: Snapshot + Default> Snapshot for Option<T> {
    fn save(&self, to: &mut Writer<'_>) {
        self.is_some().save(to);
        if let Some(value) = self {
            value.save(to);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let mut at = *from;
        *self = if at.value()? { Some(at.value()?) } else { None };
        *from = at;
        Ok(())
    }
}

impl<T: BoundedSnapshot + Default> BoundedSnapshot for Option<T> {
    const LEN: usize = 1 + T::LEN;
}

impl<T: Snapshot + ?Sized> Snapshot for &mut T {
    fn save(&self, to: &mut Writer<'_>) {
        (**self).save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        (**self).load(from)
    }
}

impl<T: BoundedSnapshot + ?Sized> BoundedSnapshot for &mut T {
    const LEN: usize = T::LEN;
}

impl BoundedSnapshot for Same {
    const LEN: usize = 12;
}

/// A number that must be the same when the snapshot is loaded: a hash of the model's and the sampler's
/// parameters, for example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Same(pub u64);

impl Snapshot for Same {
    fn save(&self, to: &mut Writer<'_>) {
        to.name(*b"same");
        self.0.save(to);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
        let key = self.0;
        from.part(*b"same", |at| if at.value::<u64>()? == key { Ok(()) } else { Err(SnapshotError::Other) })
    }
}

macro_rules! generators {
    ($($type:ident, $name:literal);+ $(;)?) => {$(
        impl Snapshot for rand_xoshiro::$type {
            fn save(&self, to: &mut Writer<'_>) {
                to.name(*$name);
                to.bytes(self.state().as_ref());
            }

            fn load(&mut self, from: &mut Reader<'_>) -> Result<(), SnapshotError> {
                *self = from.part(*$name, |at| {
                    let state = at.array()?;
                    // The one state that these generators never reach, and never leave.
                    let stuck = state.iter().all(|&byte| byte == 0);
                    if stuck { Err(SnapshotError::Value) } else { Ok(Self::from_seed(state)) }
                })?;
                Ok(())
            }
        }
    )+};
}

generators! {
    Xoshiro128PlusPlus, b"x128";
    Xoshiro256PlusPlus, b"x256";
}
