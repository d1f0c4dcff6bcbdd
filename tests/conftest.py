"""Shared fixtures."""

from __future__ import annotations

import pytest

from extranets.engine import _native


@pytest.fixture(params=_native.usable_variants())
def variant(request):
    """Runs a test once with every instruction-set variant that this machine has."""
    before = _native.active_variant()
    _native.use_variant(request.param)
    yield request.param
    _native.use_variant(before)
