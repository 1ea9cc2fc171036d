#!/usr/bin/env bash
# Builds the page, one HTML file:   examples/web/build.sh [OUT.html]     (out/web/bitmc.html unless said)
# Needs Rust and its target wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown).
set -euo pipefail
unset RUSTFLAGS CARGO_BUILD_TARGET
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-$here/../../out/web/bitmc.html}")
target=$(realpath -m "${CARGO_TARGET_DIR:-$here/target}")
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT

module() { # name flags → NAME.wasm.gz
    (cd "$here" && CARGO_TARGET_DIR="$target/web-$1" RUSTFLAGS="$2" \
        cargo build --quiet --release --locked --target wasm32-unknown-unknown)
    gzip -9nc "$target/web-$1/wasm32-unknown-unknown/release/bitmc_web.wasm" >"$parts/$1.wasm.gz"
}
module plain "" &
plain=$!
module simd "-C target-feature=+simd128"
wait "$plain"

# The model, and behind it the first 20 samples of it: a row has 98 bytes, the head of the file 16.
data="$here/../data/rbm500"
{
    cat "$data/W.npy" "$data/a_vis.npy" "$data/b_hid.npy"
    tail -c +17 "$data/gibbs_from_data_1000.bits" | head -c 1960 || true
} | gzip -9nc >"$parts/rbm.gz"

mkdir -p "$(dirname "$out")"
while IFS= read -r line; do
    case $line in
        "@text "*) cat "$here/page/${line#@text }" ;;
        "@base64 "*) base64 -w 0 "$parts/${line#@base64 }" && echo ;;
        *) printf '%s\n' "$line" ;;
    esac
done <"$here/page/page.html" >"$out"
echo "$out: $(($(wc -c <"$out") / 1000)) kB"
