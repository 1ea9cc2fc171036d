"""An energy in a process of its own: states come in by standard input, energies and gradients go out.

All numbers are little endian.
  First, once:  out  u32: sites.
  A request:    in   u32 n, then n states of ceil(sites / 8) bytes. Bit i of a state is (byte[i >> 3] >> (i & 7)) & 1.
  Its answer:   out  n f32: E of each state. Then n rows of f32, one number a site: dE/dx, as if x were real.
The end of the input ends the process. Replace `energy` by your own.
"""

import sys

try:
    import numpy as np
except ImportError:
    sys.exit("numpy is missing (python3 -m pip install numpy)")

SITES, UNITS = 14, 8
W = 1.5 * np.sin(1.0 + np.arange(SITES * UNITS)).reshape(SITES, UNITS)
V = np.linspace(0.5, 1.5, UNITS)
COST = np.linspace(0.2, 1.0, SITES)


def energy(x):
    """E(x) = (cost . x - 2)^2 / 2 - v . tanh(x W) of each row of x, and its gradient."""
    excess, hidden = x @ COST - 2.0, np.tanh(x @ W)
    value = 0.5 * excess**2 - hidden @ V
    return value, excess[:, None] * COST - ((1.0 - hidden**2) * V) @ W.T


def main():
    read, write = sys.stdin.buffer.read, sys.stdout.buffer
    write.write(np.array([SITES], "<u4").tobytes())
    write.flush()
    row = -(-SITES // 8)
    while len(head := read(4)) == 4:
        n = int(np.frombuffer(head, "<u4")[0])
        packed = np.frombuffer(read(n * row), np.uint8).reshape(n, row)
        bits = np.unpackbits(packed, axis=1, count=SITES, bitorder="little")
        for numbers in energy(bits.astype(np.float64)):
            write.write(numbers.astype("<f4").tobytes())
        write.flush()


if __name__ == "__main__":
    main()
