"""What is given away builds without a network, from the archive of sources alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NO_NETWORK = {
    "PIP_NO_INDEX": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
}
USE = """
import extranets
from extranets.data import linear_process
X, y, A, b = linear_process(300, random_state=0).split(200)
print(extranets.__file__, extranets.ExtraNetsRegressor(5, max_iter=20, random_state=0).fit(X, y).score(A, b))
"""

needs_build_requirements = pytest.mark.skipif(
    not (find_spec("scikit_build_core") and find_spec("nanobind")), reason="needs scikit-build-core and nanobind"
)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **NO_NETWORK}, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The archive of sources."""
    folder = tmp_path_factory.mktemp("sources")
    build = f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})"
    run(sys.executable, "-c", build, cwd=ROOT)
    (path,) = folder.glob("*.tar.gz")
    return path


@needs_build_requirements
def test_the_archive_has_sources_and_tests_and_nothing_that_was_built(sources):
    with tarfile.open(sources) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "SECURITY.md", "native/bindings.cpp"} <= names
    assert {
        "src/extranets/__init__.py",
        "src/extranets/py.typed",
        "tests/test_packaging.py",
        "docs/reliability.md",
    } <= names
    assert not [
        name
        for name in names
        if name.endswith((".so", ".pyc", ".xlsx", ".coverage")) or name.startswith((".venv", "build/"))
    ]


@needs_build_requirements
@pytest.mark.slow
def test_a_wheel_is_built_from_it_and_works_elsewhere(sources, tmp_path):
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", tmp_path, sources)
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", site, wheel)
    place, score = run(
        sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{USE}", cwd=tmp_path
    ).split()
    assert Path(place).is_relative_to(site) and float(score) > 0.5
