"""Builds a wheel with three builds of the extension: for any x86-64 processor, and for the levels 3 and 4.

    python build_wheel.py OUT

The best one is chosen at import. It needs maturin. On another processor, and by `pip install .`, there is one build.
"""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
FLAGS = {3: "-C target-cpu=x86-64-v3", 4: "-C target-cpu=x86-64-v4 -C target-feature=+avx512vnni"}


def cargo(*words, flags=None):
    environment = dict(os.environ)
    if flags is not None:
        environment["RUSTFLAGS"] = flags
    return subprocess.run(["cargo", *words], cwd=HERE, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1]).resolve()
    target = pathlib.Path(json.loads(cargo("metadata", "--format-version", "1", "--no-deps"))["target_directory"])
    folders = []
    try:
        if platform.machine().lower() in ("x86_64", "amd64") and sys.platform == "linux":
            host = subprocess.run(["rustc", "--print", "host-tuple"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
            for level in FLAGS:
                built = target / f"v{level}"
                # With a target, build scripts do not take the flags: this processor may be of a lower level.
                cargo("build", "--quiet", "--release", "--locked", "--target", host, "--target-dir", built, flags=FLAGS[level])
                folder = HERE / "python" / "bitmc" / f"_v{level}"
                folders.append(folder)
                folder.mkdir(exist_ok=True)
                # A process may have an older one loaded: it is replaced, not overwritten.
                shutil.copy(built / host / "release" / "lib_bitmc.so", folder / "new")
                os.replace(folder / "new", folder / "_bitmc.abi3.so")
        subprocess.run(["maturin", "build", "--release", "--locked", "--out", out], cwd=HERE, check=True)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
