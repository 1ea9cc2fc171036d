//! Lengths of memory that no machine has: past `usize` they stop at its end, so that memory is refused by its name.

use bitmc::batch::{self, PottsBatch, PottsSite};
use bitmc::energy::{Boltzmann, CoarseRbm, Perceptron, Tempered};
use bitmc::flow::{Esh, Mlp};
use bitmc::learn::SparsePotts;
use bitmc::noise::{Dense, DenseMatrix, MinTrace, Regression};
use bitmc::sliced::{SlicedGibbs, SlicedLangevin};
use bitmc::step::Colouring;
use bitmc::{BinaryNetwork, Layout, Rbm, torus};

/// Every power of two, one and a half of it, and the last size.
fn sizes() -> impl Iterator<Item = usize> {
    (0..usize::BITS - 1).flat_map(|k| [1 << k, 3 << k]).chain([1 << (usize::BITS - 1), usize::MAX])
}

/// Where a length falls as the size rises: what wraps does.
fn falls(of: impl Fn(usize) -> usize) -> Option<usize> {
    let mut sizes: Vec<_> = sizes().collect();
    sizes.sort_unstable();
    sizes.windows(2).find(|pair| of(pair[1]) < of(pair[0])).map(|pair| pair[1])
}

#[test]
fn lengths_stop_and_do_not_wrap() {
    type PottsThree = PottsBatch<'static, [PottsSite<3>; 0], 3>;
    type Lengths<'a> = &'a dyn Fn(usize) -> usize;
    type Pairs<'a> = &'a dyn Fn(usize, usize) -> usize;
    type Memory = bitmc::Memory<(), (), ()>;
    let one: [(&str, Lengths<'_>); 16] = [
        ("Boltzmann's parameters", &Boltzmann::parameter_len),
        ("Boltzmann", &Boltzmann::memory_len),
        ("Dense", &Dense::root_blocks),
        ("DenseMatrix", &DenseMatrix::blocks),
        ("Regression", &Regression::blocks),
        ("a rank", &MinTrace::rank),
        ("MinTrace", &MinTrace::blocks),
        ("Tempered", &Tempered::<()>::cache_len),
        ("a cache", &Memory::cache),
        ("words", &|sites| Memory::words(Layout::categorical(sites, 65_536))),
        ("weights", &|sites| Memory::weights(Layout::categorical(sites, 64))),
        ("a batch", &batch::snapshot_len),
        ("a batch of Potts chains", &PottsThree::snapshot_len),
        ("a chain", &|sites| bitmc::chain::snapshot_len(Layout::categorical(sites, 65_536))),
        ("wide Perceptron", &|width| Perceptron::cache_len(&[3, width, width, width, width, width, width])),
        ("deep Mlp", &|width| Mlp::parameter_len(&[width, width])),
    ];
    for (name, len) in one {
        assert_eq!(falls(len), None, "{name}");
    }
    let two: [(&str, Pairs<'_>); 12] = [
        ("Colouring", &Colouring::words),
        ("CoarseRbm", &CoarseRbm::room_len),
        ("an RBM's parameters", &Rbm::parameter_len),
        ("an RBM's columns", &Rbm::columns_len),
        ("an RBM's cache", &Rbm::cache_len_with_columns),
        ("BinaryNetwork", &BinaryNetwork::cache_len),
        ("Perceptron", &|a, b| Perceptron::parameter_len(&[a, b, a])),
        ("SparsePotts", &|sites, arity| SparsePotts::parameter_len(sites, arity, 16)),
        ("Esh", &Esh::<(), ()>::memory_len),
        ("SlicedGibbs", &|degree, field| SlicedGibbs::kind_words(degree, field % 2 == 1)),
        ("SlicedLangevin", &|degree, field| SlicedLangevin::kind_words(degree, field % 2 == 1)),
        ("its counters", &|degree, sites| SlicedLangevin::kind_blocks(sites, degree, true)),
    ];
    for (name, len) in two {
        for other in sizes() {
            assert_eq!(falls(|size| len(size, other)), None, "{name}, {other}");
            if !name.starts_with("Sliced") {
                assert_eq!(falls(|size| len(other, size)), None, "{other}, {name}");
            }
        }
    }
}

/// ⌈√(2n)⌉ + 1, by float64; past the most sites that a model has, that of those.
#[test]
fn a_rank_is_the_root_of_twice_the_sites_and_one() {
    let most = i32::MAX as usize;
    for sites in (0..3000).chain([1 << 20, most]) {
        let root = (2.0 * sites as f64).sqrt().ceil() as usize;
        assert_eq!(MinTrace::rank(sites), root + 1, "{sites}");
    }
    assert_eq!(MinTrace::rank(usize::MAX), MinTrace::rank(most));
}

#[test]
fn places_past_all_sites_are_none() {
    for layout in [Layout::binary(40), Layout::categorical(40, 3), Layout::categorical(40, 100)] {
        for far in sizes().filter(|&size| size > 100) {
            assert_eq!(layout.component(far, 0, 0), None);
            assert_eq!(layout.component(0, far, 0), None);
            assert_eq!(layout.component(far, far, far), None);
        }
    }
    assert_eq!(Boltzmann::coupling(usize::MAX, usize::MAX - 1, usize::MAX - 2), None);
}

#[test]
fn a_torus_past_all_sites_has_none_of_them_twice() {
    // 2¹⁶ rows of 2¹⁶ + 1: the last row begins past 2³² − 1.
    let far = torus(1 << 16, (1 << 16) + 1, 0.5).skip_while(|&(site, ..)| site < u32::MAX - 1).take(70_000);
    assert!(far.skip(2).all(|(site, ..)| site == u32::MAX));
}

#[test]
fn sites_and_arities_past_the_ends_count_as_the_last() {
    let most = i32::MAX as usize;
    for make in [Layout::categorical, Layout::ordinal] {
        for (arity, counts) in [(0, 2), (1, 2), (65_537, 65_536), (70_000, 65_536), (usize::MAX, 65_536)] {
            let (one, other) = (make(3, arity), make(3, counts));
            assert_eq!((one, one.arity(), one.to_string()), (other, counts, other.to_string()), "{arity}");
        }
        assert_eq!((make(most + 1, 3), make(usize::MAX, 3)), (make(most, 3), make(most, 3)));
    }
    assert_eq!((Layout::binary(most + 1), Layout::binary(usize::MAX).sites()), (Layout::binary(most), most));
}

#[test]
fn a_field_is_the_narrowest_that_holds_its_values() {
    for arity in 2..=Layout::MAX_ARITY {
        let bits = [1, 2, 4, 8, 16].into_iter().find(|&bits| arity <= 1 << bits).unwrap();
        for layout in [Layout::categorical(3, arity), Layout::ordinal(3, arity)] {
            assert_eq!(layout.field_bits(), bits, "{arity}");
            assert_eq!(layout.fields_per_word() * bits as usize, 32, "{arity}");
        }
    }
}

/// An arity in 16 bits a site, of which the state has 17, would reach into the next site.
#[test]
fn layouts_that_are_read_are_legal_ones() {
    let all = [Layout::binary(3), Layout::categorical(3, 65_536), Layout::ordinal(2_147_483_647, 2)];
    for layout in all {
        let bytes = postcard::to_allocvec(&layout).unwrap();
        assert_eq!(postcard::from_bytes::<Layout>(&bytes), Ok(layout));
    }
    let (binary, categorical, ordinal) = (0u32, 1u32, 2u32);
    let read = |sites: u32, arity: u32, kind: u32| {
        postcard::from_bytes::<Layout>(&postcard::to_allocvec(&(sites, arity, kind)).unwrap()).ok()
    };
    assert_eq!(read(3, 65_536, categorical), Some(all[1]));
    for (sites, arity, kind) in [
        (3, 0, binary),
        (3, 1, categorical),
        (3, 3, binary),
        (3, 65_537, categorical),
        (3, 100_000, ordinal),
        (2_147_483_648, 2, binary),
    ] {
        assert_eq!(read(sites, arity, kind), None, "{sites} sites of {arity} values");
    }
}

#[test]
fn places_past_the_last_value_are_none() {
    let (few, many) = (Layout::categorical(40, 3), Layout::categorical(40, 70));
    assert_eq!((few.component(1, 2, 5), few.component(1, 3, 5)), (Some((21, 2)), None));
    assert_eq!((many.component(21, 4, 5), many.component(21, 4, 6)), (Some((21, 69)), None));
}

/// One site's, or the gradient of all where they are ordinal.
#[test]
fn weights_of_many_values_are_those_of_one_site() {
    assert_eq!(
        (Layout::categorical(100, 64).weight_blocks(), Layout::ordinal(100, 64).weight_blocks()),
        (448, 448)
    );
    assert_eq!(
        (Layout::categorical(100, 70).weight_blocks(), Layout::ordinal(100, 70).weight_blocks()),
        (5, 7)
    );
    assert_eq!((Layout::categorical(10, 70).weight_blocks(), Layout::ordinal(10, 70).weight_blocks()), (5, 5));
}
