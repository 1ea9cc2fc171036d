"""Loads the best build of the extension for this processor, where the wheel has several (`build_wheel.py`)."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import sys

from . import _bitmc


def _load(level: int) -> bool:
    """Puts the build for a level of x86-64 in the place of the baseline, where it is there."""
    package = sys.modules[__package__]
    for file in sorted(pathlib.Path(__file__).parent.glob(f"_v{level}/_bitmc.*")):
        loader = importlib.machinery.ExtensionFileLoader(f"{__package__}._bitmc", str(file))
        spec = importlib.util.spec_from_file_location(loader.name, file, loader=loader)
        if spec is not None:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            sys.modules[loader.name] = module
            setattr(package, "_bitmc", module)
            return True
    return False


def _choose() -> str:
    """`BITMC_BUILD`, 1, 3 or 4, is the highest level that may be loaded."""
    for level in (4, 3):
        if level <= _bitmc.level() and _load(level):
            return f"x86-64-v{level}"
    return "baseline"


chosen = _choose()
