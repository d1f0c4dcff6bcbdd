"""The hypotheses study: each changes what it says and nothing else, and the summary counts what it explains."""

from __future__ import annotations

import json

import numpy as np
import pytest

from extranets.data.processes import nonlinear_signal
from extranets.studies import hypotheses, simulation
from extranets.studies.hypotheses import HYPOTHESES, HypothesesStudy
from extranets.studies.paper_networks import SETTINGS

STUDY = HypothesesStudy(replications=2)


def records_of(name, process="linear", number=0):
    return STUDY.run(f"{name}-{process}-{number:04d}").records


def test_the_first_is_the_study_of_table_1():
    own = {(r["method"], r["T"]): (r["mape"], r["mspe"]) for r in records_of("as-read")}
    table = simulation.SimulationStudy().run("linear-0000").records
    assert own == {
        (r["method"], r["T"]): (pytest.approx(r["mape"]), pytest.approx(r["mspe"]))
        for r in table
        if r["p"] in (None, 0.995)
    }


@pytest.mark.parametrize(
    "name", [name for name in HYPOTHESES if name not in ("as-read", "drop-95", "drop-98", "drop-99")]
)
def test_every_other_changes_the_errors(name):
    usual = {(r["method"], r["T"]): r["mspe"] for r in records_of("as-read")}
    found = records_of(name)
    # The linear process has noise of variance 1, which is its standard deviation, too: there only the draw differs.
    assert all(
        record["mspe"] != usual[record["method"], record["T"]] for record in found if record["method"] == "extra-nets"
    )
    assert json.loads(json.dumps(found)) == found  # Python's own numbers only


def test_strict_thresholds_drop_networks():
    counts = {
        name: [r["n_networks"] for r in records_of(name) if (r["method"], r["T"]) == ("extra-nets", 70)]
        for name in ("as-read", "drop-95", "drop-99")
    }
    assert counts["drop-95"] < counts["as-read"] and counts["drop-99"] == []  # none is left


def test_samples_are_what_they_say():
    usual = hypotheses.as_printed("nonlinear", 3)
    kept = hypotheses.with_means("nonlinear", 3)
    np.testing.assert_allclose(kept.X.mean(axis=0), [-4, 2, 2, 2, 4])
    np.testing.assert_allclose(kept.signal, nonlinear_signal(kept.X))
    lower = hypotheses.with_lower_factor("nonlinear", 3)
    np.testing.assert_allclose(lower.X.mean(axis=0), 0, atol=1e-12)
    factor = np.linalg.cholesky(np.cov(usual.X.T))
    np.testing.assert_allclose(np.cov(lower.X.T), factor.T @ factor, atol=1e-9)
    # The residual is the noise: its variance is 0.7 with a standard error of 0.7 sqrt(2 / 1500) = 0.026.
    noise = hypotheses.with_variance("nonlinear", 3)
    assert np.var(noise.y - noise.signal) == pytest.approx(0.7, abs=4 * 0.026)


def test_settings_differ_in_one_thing():
    paper = SETTINGS["linear"]
    assert HYPOTHESES["wider"].setting(paper).hidden == (10,)
    assert HYPOTHESES["epochs-4x"].setting(paper).n_epochs == 4 * paper.n_epochs
    assert HYPOTHESES["batches-8"].setting(paper).options().batch_size == 8
    assert HYPOTHESES["batches-8"].setting(paper).options(dropout_keep=0.9).dropout_keep == 0.9


def test_the_summary_counts_what_is_not_extreme():
    """Printed for the bootstrap, linear: MSPE 1.7037, 1.8043 and 1.7290; MAPE 1.0451, 1.0671 and 1.0522 for T = 30, 50, 70."""
    records = [
        {"hypothesis": "as-read", "process": "linear", "method": "bootstrap", "replication": i, "T": T}
        | {"mape": 1.0 + i / 100, "mspe": 2.0 + i, "n_networks": T, "target_mean": 2.4}
        for i in range(40)
        for T in (30, 50, 70)
    ]
    (row,) = HypothesesStudy().summarise(records)
    assert (row["explained"], row["tested"]) == (3, 6)  # all of MAPE, none of MSPE
    assert (row["printed"], row["as_small"], row["smallest"], row["mspe"]) == (1.7037, 0.0, 2.0, pytest.approx(21.5))
    (few,) = HypothesesStudy().summarise(records[:60])
    assert few["tested"] == 0


@pytest.mark.parametrize("unit", ["as-read-0000", "as-read-cubic-0000", "unknown-linear-0000", "as-read-linear-x"])
def test_unknown_units_are_refused(unit):
    with pytest.raises(ValueError, match="No unit"):
        STUDY.run(unit)


@pytest.mark.parametrize("wrong", [{"replications": 0}, {"seed": -1}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="must be at least"):
        HypothesesStudy(**wrong)
