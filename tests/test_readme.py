"""The Python in the README and in documents is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from extranets import StackedNetsRegressor
from extranets.data import linear_process

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def run_code(page: Path, without: str = "nothing of this kind", **given: Any) -> dict[str, Any]:
    """All blocks but those with a word in them, which need something that is not here."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    blocks = [block for block in blocks if not re.search(without, block)]
    assert blocks
    namespace: dict[str, Any] = dict(given)
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)
    return namespace


def test_readme_code_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # some of it writes files
    run_code(README)
    assert "%" in capsys.readouterr().out


def test_intervals_through_scikit_learn_are_those_of_the_estimator_inside(capsys):
    """docs/scikit_learn.md against the same by hand."""
    names = run_code(ROOT / "docs" / "scikit_learn.md")
    X, y, new = names["X_train"], names["y_train"], names["X_test"]
    scaler, plain = StandardScaler().fit(X), names["inner"]
    by_hand = clone(plain).fit(scaler.transform(X), y)
    np.testing.assert_array_equal(names["bounds"], by_hand.predict_interval(scaler.transform(new), 0.9))
    np.testing.assert_array_equal(names["std"], by_hand.predict(scaler.transform(new), return_std=True)[1])
    train, test = next(KFold(5).split(X))
    scaler = StandardScaler().fit(X[train])
    for found, change in ((names["alone"], np.asarray), (names["piped"], scaler.transform)):
        expected = clone(plain).fit(change(X[train]), y[train]).predict_interval(change(X[test]), 0.8)
        assert found.shape == (len(X), 2)
        np.testing.assert_array_equal(found[test], expected)
    inside = clone(plain).fit(X, np.arcsinh(y)).predict_interval(new, 0.9)
    np.testing.assert_allclose(names["back"], np.sinh(inside), rtol=1e-6)
    assert "coverage: " in capsys.readouterr().out


def test_conformal_promises_are_kept_on_the_page_about_them(capsys):
    """docs/conformal.md: 300 new rows miss each tail in 5 % by a standard error of 1.3 %; groups and sums as it says."""
    names = run_code(ROOT / "docs" / "conformal.md")
    shares = [float(share) / 100 for share in re.findall(r"([\d.]+)%", capsys.readouterr().out)]
    below, above, hills, plain = shares
    assert max(abs(below - 0.05), abs(above - 0.05)) < 4 * 0.017  # the held-out rows vary, too
    assert hills > 0.9 - 4 * 0.04 and plain > 0.9 - 4 * 0.03
    assert names["totals"].std() > 1.1 * names["independent"] and names["bounds"].shape == (500, 2)


def test_fits_on_workers_and_with_a_checkpoint_are_those_without(monkeypatch, tmp_path):
    """docs/scale.md but for what needs a cluster, which tests/engine/test_workers.py and tests/test_scale_recipes.py have."""
    monkeypatch.chdir(tmp_path)
    X_train, y_train, X_test, _ = linear_process(80, random_state=0).split(60)
    for folder in ("fast-disk", "sales"):
        (tmp_path / folder).mkdir()
    np.save("columns.npy", X_train)
    np.save("target.npy", y_train)
    pandas.DataFrame(X_train).add_prefix("x").assign(price=y_train).to_csv("sales/all.csv", index=False)
    names = run_code(ROOT / "docs" / "scale.md", without="dask|ray|spark|model.xnet", X_train=X_train, y_train=y_train)
    expected = StackedNetsRegressor(random_state=0).fit(X_train, y_train).predict(X_test)
    for name in ("model", "of_columns"):
        np.testing.assert_array_equal(names[name].predict(X_test), expected)
    table = pandas.DataFrame(X_test).add_prefix("x")
    np.testing.assert_allclose(names["of_files"].predict(table), expected, rtol=1e-6)
    assert list((tmp_path / "fit-of-rents").iterdir())


@pytest.mark.parametrize("target", ["make demo", "make test"])
def test_readme_shows_the_two_commands(target):
    assert target in README.read_text()[:2500]
