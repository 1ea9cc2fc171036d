//! Why words are not a state.

use crate::layout::Layout;

crate::error::errors! {
    /// Why words are not a state of a layout.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StateError {
        /// The layout needs `need` words, `got` were given.
        Words {
            /// Words that the layout needs.
            need: usize,
            /// Words that were given.
            got: usize,
        } => "a state of {need} words is needed, {got} were given";
        /// The state is of another layout: another number of sites, arity or kind.
        Layout {
            /// The layout that is needed.
            need: Layout,
            /// The layout of the state.
            got: Layout,
        } => "the state has {got}: {need} are needed";
        /// A bit past the last site is set.
        Padding => "a bit past the last site is set";
        /// The value at `site` is not below the arity.
        Value {
            /// The site.
            site: usize,
            /// Its value.
            value: u32,
        } => "value {value} at site {site} is not below the arity of the site";
        /// There is no such site.
        Site {
            /// The site.
            site: usize,
        } => "there is no site {site}";
        /// The model has `need` sites, there is room for `got` fields.
        Fields {
            /// Sites of the model.
            need: usize,
            /// Fields that there is room for.
            got: usize,
        } => "fields has {got} values: the model has {need} sites";
        /// There are `got` words for the sites that flip; the state has `need`.
        Flips {
            /// Words that the layout needs.
            need: usize,
            /// Words that were given.
            got: usize,
        } => "flips has {got} words: a state has {need}";
        /// The table of a [`TableGibbs`](crate::quantised::TableGibbs) has `got` entries; the model needs `need`.
        Table {
            /// Entries that the model needs.
            need: usize,
            /// Entries that were given.
            got: usize,
        } => "table has {got} entries: the model needs {need}";
        /// The inverse temperature `got` is above `most`: log odds could overflow.
        Unit {
            /// The largest inverse temperature for the model's fields.
            most: u32,
            /// The one that was given.
            got: u32,
        } => "unit is {got}: the model's fields allow {most} at most";
        /// Chains that would change places have different models.
        Model => "the chains have different models";
    }
}
