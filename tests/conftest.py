"""Shared fixtures."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from extranets.blocks.memory import LIBRARIES
from extranets.engine import _native

# Whether a test passes must not depend on how busy the machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(params=_native.usable_variants())
def variant(request):
    """Runs a test once with every instruction-set variant that this machine has."""
    before = _native.active_variant()
    _native.use_variant(request.param)
    yield request.param
    _native.use_variant(before)


@pytest.fixture
def small_process(monkeypatch):
    """A budget of memory counts what the process holds, and earlier tests may have left much. Here it counts what libraries take."""
    monkeypatch.setattr("extranets.blocks.memory.resident_bytes", lambda: LIBRARIES)
