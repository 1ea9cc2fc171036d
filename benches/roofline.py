"""The share of what the machine could do, of each loop of `instructions`: `.ci/roofline` builds the programs of one
folder and calls `roofline.py FOLDER OBJDUMP`."""

import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

# Workload, the loop as docs/speed.md names it, sites of a step, steps, and the cache that most of what a step reads comes from.
LOOPS = [
    ("5x5", "`Langevin`, Ising 5×5", 25, 1000, "L1"),
    ("ising-5x5", "`IsingLangevin`, 5×5", 25, 1000, "L1"),
    ("batch-5x5", "`Batch` of sixteen, 5×5", 400, 100, "L1"),
    ("64x64", "`Langevin`, 64×64", 4096, 50, "L2"),
    ("ising-64x64", "`IsingLangevin`, 64×64, acceptance .92", 4096, 50, "L2"),
    ("batch-64x64", "`Batch` of sixteen, 64×64", 65536, 10, "L2"),
    ("sliced_dmala-signs", "`SlicedLangevin`, 512 chains", 2097152, 4, "L2"),
    ("sliced_gibbs-signs", "`SlicedGibbs`, 512 chains", 2097152, 4, "L2"),
    ("sequential-gibbs-irregular", "`SequentialGibbs`, irregular graph", 4096, 20, "L2"),
    ("batch-gibbs-irregular", "`SequentialGibbs`, sixteen chains", 65536, 4, "L2"),
    ("chromatic-gibbs-64x64", "`ChromaticGibbs`, 64×64", 4096, 20, "L2"),
    ("balanced-torus", "`IsingBalanced`, 64×64", 4096, 20, "L2"),
    ("discrete-torus", "`IsingBalanced::discrete`, 64×64", 4096, 20, "L2"),
    ("rbm", "`Langevin`, RBM 784×500", 784, 20, "L3"),
    ("together-rbm", "`Langevin`, RBM, sixteen chains", 12544, 2, "L1"),
    ("coarse-rbm", "`CoarseRbm`", 784, 20, "L2"),
    ("together_coarse-rbm", "`CoarseRbm`, sixteen chains", 12544, 4, "L1"),
    ("block_gibbs-rbm", "`BlockGibbs`, RBM", 784, 100, "L3"),
    ("together_block_gibbs-rbm", "`BlockGibbs`, RBM, sixteen chains", 12544, 10, "L3"),
    ("potts", "`Langevin`, Potts 30×30", 900, 50, "L1"),
    ("batch-potts", "`PottsBatch` of sixteen", 14400, 10, "L2"),
    ("gibbs_potts", "`Gibbs`, Potts 30×30", 900, 20, "L1"),
    ("batch-gibbs_potts", "`Gibbs`, Potts, sixteen chains", 14400, 10, "L2"),
    ("softmax", "one site of 30,522 values, a value", 30522, 10, "L2"),
]
SIZES = {"z": 64, "y": 32, "x": 16}


def disassembly(program, objdump):
    """Address → whether an instruction computes with whole registers, and the bytes that it reads or writes."""
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)", line)
        if match:
            address, name, operands = match.groups()
            found[int(address, 16)] = classify(name, operands.split("#")[0])
    return found


def classify(name, operands):
    register = re.search(r"%([xyz])mm", operands)
    memory = "(" in operands and not name.startswith(("lea", "nop", "prefetch"))
    scalar = re.search(r"s[sd]$|^vmov[dq]$|si2s|s[sd]2s|^vpinsr|^vpextr", name) is not None
    moves = re.match(r"vmov|vbroadcast|vpbroadcast|vextract|vinsert|vzero", name) is not None
    operation = register is not None and not scalar and not moves
    if not memory:
        return operation, 0
    if register is None or scalar or "broadcast" in name:
        return operation, 8 if re.search(r"q$", name) else 4
    return operation, SIZES[register.group(1)]


def executed(program, workload, steps):
    """Address → how often its instruction ran."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(
            ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no", "--compress-strings=no", f"--callgrind-out-file={out.name}", program, workload, str(steps)],
            check=True,
            capture_output=True,
        )
        counts, is_call, inside = Counter(), False, False
        for line in open(out.name, errors="replace"):
            if line.startswith("ob="):
                inside = line.strip().endswith("/" + Path(program).name)
            if line.startswith("calls="):
                is_call = True
                continue
            match = re.match(r"0x([0-9a-f]+) \S+ (\d+)$", line)
            if match:
                if inside and not is_call:
                    counts[int(match.group(1), 16)] += int(match.group(2))
                is_call = False
        return counts


def of_step(program, found, workload, steps):
    """Instructions, operations and bytes of a step."""
    first, second = (executed(program, workload, n) for n in (steps, 3 * steps))
    sums = [0, 0, 0]
    for address, count in second.items():
        count -= first.get(address, 0)
        operation, size = found.get(address, (False, 0))
        for k, value in enumerate((1, operation, size)):
            sums[k] += count * value
    return [value / (2 * steps) for value in sums]


def nanoseconds(program, workload, sites, steps):
    """Those of a step: of a long run less a short one, the least of five."""

    def run(n):
        start = time.perf_counter()
        subprocess.run([program, workload, str(n)], check=True, capture_output=True)
        return time.perf_counter() - start

    steps = max(steps, int(2e8 / sites / 4))
    short, long = (min(run(n) for _ in range(5)) for n in (steps, 3 * steps))
    return 1e9 * (long - short) / (2 * steps)


def main():
    folder, objdump = Path(sys.argv[1]), sys.argv[2]
    program = str(folder / "instructions")
    peaks = subprocess.run([str(folder / "peaks")], check=True, capture_output=True, text=True).stdout
    peak = {name: float(value) for name, value in (line.split() for line in peaks.splitlines())}
    found = disassembly(program, objdump)
    print(f"clock {peak['clock']:.2f} GHz, {peak['operations']:.1f} operations on registers a ns; bytes a ns: " + ", ".join(f"{k} {peak[k]:.0f}" for k in ("L1", "L2", "L3")))
    print("| loop | instructions | operations | bytes | ns | instructions a cycle | share of operations | share of bytes | of |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
    for workload, name, sites, steps, cache in LOOPS:
        instructions, operations, size = of_step(program, found, workload, steps)
        ns = nanoseconds(program, workload, sites, steps)
        shares = operations / ns / peak["operations"], size / ns / peak[cache]
        cells = [name, f"{instructions / sites:.1f}", f"{operations / sites:.1f}", f"{size / sites:.0f}", f"{ns / sites:.2f}"]
        cells += [f"{instructions / ns / peak['clock']:.1f}", f"{shares[0]:.2f}", f"{shares[1]:.2f}", cache]
        print("| " + " | ".join(cells) + " |", flush=True)


main()
