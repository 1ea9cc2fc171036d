//! How errors are declared: each variant beside its message.

/// An error enum with its [`Display`](core::fmt::Display). The message names the fields. `from Source` after a variant of one
/// value makes a conversion.
macro_rules! errors {
    ($(#[$meta:meta])* pub enum $name:ident { $(
        $(#[$doc:meta])*
        $variant:ident $(($($item:ident: $of:ty),+))? $({ $($(#[$about:meta])* $field:ident: $type:ty),+ $(,)? })?
        $(from $source:ty)? => $message:literal $(, $argument:expr)*;
    )+ }) => {
        $(#[$meta])*
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[non_exhaustive]
        pub enum $name { $(
            $(#[$doc])*
            $variant $(($($of),+))? $({ $($(#[$about])* $field: $type),+ })?,
        )+ }

        impl core::fmt::Display for $name {
            #[allow(unused_variables, reason = "a message need not name every field")]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $(Self::$variant $(($($item),+))? $({ $($field),+ })? => write!(f, $message $(, $argument)*),)+
                }
            }
        }

        impl core::error::Error for $name {}

        $($(impl From<$source> for $name {
            fn from(error: $source) -> Self {
                Self::$variant(error)
            }
        })?)+
    };
}

pub(crate) use errors;
