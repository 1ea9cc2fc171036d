//! The channel plan of this processor: `cargo run --release -p bitmc-chains --example plan`.

use bitmc_chains::hash::Hash;
use bitmc_chains::plan::{CASES, case};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut total, mut wrong) = (Hash::new(), 0);
    for each in CASES {
        let (harm, hash) =
            case(each, || (), |plan| (plan.harm, plan.hash)).expect("a model of legal measurements");
        println!("{}: harm {harm}, {hash:08x}", each.0);
        total.word(hash);
        wrong += u32::from(hash != each.3);
    }
    println!("plans {}, {wrong} differ, hash {:08x}", CASES.len(), total.value());
    ExitCode::from(u8::from(wrong != 0))
}
