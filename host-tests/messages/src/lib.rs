//! Programs with one mistake each, in `src/bin`. `tests/messages.rs` compiles them and reads what the compiler says.
