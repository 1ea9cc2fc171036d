#!/bin/sh
# Installs the command bitmc with a build for each level of x86-64, of which it starts the best:
#     kernel/desktop/install.sh [FOLDER]
# The folder is that of cargo's programs where none is given. `cargo install --path kernel/desktop` installs one build.
set -eu
case ${1:-} in -*)
    echo "usage: install.sh [FOLDER]" >&2
    exit 2
    ;;
esac
folder=${1:-${CARGO_HOME:-$HOME/.cargo}/bin}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}

host=$(rustc --print host-tuple)
build() { # name of the file, flags
    # With a target, build scripts do not take the flags: this processor may be of a lower level.
    RUSTFLAGS=$2 cargo build --release --locked -p bitmc-desktop --bin bitmc --target "$host" --target-dir "$target/$1"
    # One that runs is replaced, not overwritten.
    cp "$target/$1/$host/release/bitmc" "$folder/.new-bitmc"
    mv "$folder/.new-bitmc" "$folder/$1"
}

build bitmc ""
if [ "$(uname -m)" = x86_64 ]; then
    build bitmc-v3 "-C target-cpu=x86-64-v3"
    build bitmc-v4 "-C target-cpu=x86-64-v4 -C target-feature=+avx512vnni"
fi
echo "bitmc is in $folder"
