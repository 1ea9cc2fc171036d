//! The command `bitmc`.

fn main() {}
