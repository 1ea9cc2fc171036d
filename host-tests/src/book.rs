//! The programs of the book, compiled and run as doc tests. `.ci/book` finds pages that are missing here.

/// A page of which the Rust programs are doc tests.
macro_rules! page {
    ($name:ident, $path:literal) => {
        #[doc = include_str!($path)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
    };
}

page!(Readme, "../../README.md");
page!(ChangingFields, "../../docs/changing-fields.md");
page!(Continuous, "../../docs/continuous.md");
page!(DeepEnergies, "../../docs/deep-energies.md");
page!(Desktop, "../../docs/desktop.md");
page!(Diagnosing, "../../docs/diagnosing.md");
page!(HardLandscapes, "../../docs/hard-landscapes.md");
page!(Learning, "../../docs/learning.md");
page!(ManyModes, "../../docs/many-modes.md");
page!(Microcontroller, "../../docs/microcontroller.md");
page!(Momentum, "../../docs/momentum.md");
page!(OwnIsing, "../../docs/own-ising.md");
page!(PowerLoss, "../../docs/power-loss.md");
page!(SecondOrder, "../../docs/second-order.md");
page!(Snapshots, "../../docs/snapshots.md");
page!(Tuning, "../../docs/tuning.md");
