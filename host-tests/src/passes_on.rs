/// Methods of an [`Energy`](bitmc::Energy) that pass the call on to one of its fields, for an energy that changes the other
/// answers: `passes_on!(0: layout, cache_len, init)` in its `impl`.
#[macro_export]
macro_rules! passes_on {
    ($inner:tt: $($method:ident),+) => { $($crate::passes_on!($inner $method);)+ };
    ($inner:tt layout) => {
        fn layout(&self) -> bitmc::Layout {
            self.$inner.layout()
        }
    };
    ($inner:tt cache_len) => {
        fn cache_len(&self) -> usize {
            self.$inner.cache_len()
        }
    };
    ($inner:tt arities) => {
        fn arities(&self) -> Option<&[u16]> {
            self.$inner.arities()
        }
    };
    ($inner:tt init) => {
        fn init(
            &self,
            x: bitmc::packed::Packed<'_>,
            cache: &mut [bitmc::lane::Bits],
        ) -> Result<f32, bitmc::energy::EnergyError> {
            self.$inner.init(x, cache)
        }
    };
    ($inner:tt gradient) => {
        fn gradient(
            &self,
            x: bitmc::packed::Packed<'_>,
            cache: &[bitmc::lane::Bits],
            rows: core::ops::Range<usize>,
            out: &mut [bitmc::lane::Block],
        ) {
            self.$inner.gradient(x, cache, rows, out);
        }
    };
    ($inner:tt shift) => {
        fn shift(&self, step: &bitmc::packed::Move<'_>, cache: &mut [bitmc::lane::Bits]) -> f32 {
            self.$inner.shift(step, cache)
        }
    };
    ($inner:tt differences) => {
        fn differences(&self, words: &mut [u32], cache: &[bitmc::lane::Bits], site: usize, out: &mut [f32]) {
            self.$inner.differences(words, cache, site, out);
        }
    };
}
