#!/usr/bin/env bash
# Runs an image on the emulated machine that it was built for and prints its report: run.sh IMAGE
# BOARD=mps2-an500 runs one for a Cortex-M4F on a Cortex-M7. The exit status is the image's. One instruction takes a
# fixed time of the machine (-icount), so its counters count instructions, and every run is the same.
set -euo pipefail
arm() { machine=(qemu-system-arm -M "${BOARD:-$1}" -icount shift=7,align=off,sleep=off); }
case $1 in
    */thumbv6m-none-eabi/*) arm microbit ;;
    */thumbv7m-none-eabi/*) arm mps2-an385 ;;
    */thumbv7em-none-eabihf/*) arm mps2-an386 ;;
    */riscv32imac-unknown-none-elf/*) machine=(qemu-system-riscv32 -M virt -bios none -icount shift=0,align=off,sleep=off) ;;
    *) echo "run.sh: no machine for $1" >&2; exit 2 ;;
esac
set +e
"${machine[@]}" -nographic -monitor none -serial none -semihosting-config enable=on,target=native \
    -kernel "$1" </dev/null | defmt-print -e "$1" stdin
exit "${PIPESTATUS[0]}"
