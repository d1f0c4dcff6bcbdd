"""What this installation is: for bug reports and benchmarks."""

from __future__ import annotations

from typing import Any

import joblib

import extranets.engine._native as _native


def build_info() -> dict[str, Any]:
    """Compiler, instruction-set variants and usable threads of this installation.

    ``EXTRANETS_VARIANT`` in the environment, set before the first import, forces one of ``usable_variants``: the same on every
    machine for the same bits on every machine.

    Examples
    --------
    >>> import extranets
    >>> sorted(extranets.build_info())
    ['built_variants', 'compiler', 'threads', 'usable_variants', 'variant']
    """
    return {
        "compiler": _native.compiler(),
        "variant": _native.active_variant(),
        "usable_variants": _native.usable_variants(),
        "built_variants": _native.built_variants(),
        "threads": int(joblib.cpu_count()),
    }
