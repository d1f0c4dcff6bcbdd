"""What holds for every stack, whichever kinds there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from extranets import engine
from extranets.held_out import FOLD_BITS, Plan
from extranets.stacking import Growing, Kind, Part, grow, search
from extranets.stacking.kinds import KINDS
from extranets.stacking.search import LEAST_WEIGHT, n_folds_for
from tests.stacking.tables import MACHINE, linear_table, sample_of, silent, wavy_table


def stack(sample, **changes):
    parameters = {
        "n_folds": None,
        "members_per_fold": 1,
        "keep_prob": 0.9,
        "effort": "low",
        "seed": 3,
        "machine": MACHINE,
        "watch": silent,
    }
    return grow(sample, **{**parameters, **changes})


def noise_table(n=150, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 3)), random.normal(size=n)


def stack_r2(found):
    return 1 - np.average(found.held.residual**2, axis=0, weights=found.held.weight).mean()


def share_of_ridge(found):
    return sum(each["weight"] for each in found.tried if each["hidden_layer_sizes"] == ())


def check(found, sample):
    """What must hold of any stack."""
    n, n_parts = len(found.rows), len(found.parts)
    assert n_parts >= 1 and found.weights.shape == (n_parts,)
    assert (found.weights >= 0).all() and found.weights.sum() == pytest.approx(1)
    assert found.held.residual.shape == found.held.spread.shape == (n, sample.y.shape[1])
    assert np.isfinite(found.held.residual).all() and (found.held.spread >= 0).all()
    np.testing.assert_array_equal(found.held.weight, sample.weight[found.rows])
    assert len(np.unique(found.rows)) == n
    for part in found.parts:  # all of them have networks that left each fold out
        folds = np.unique(part.networks.ensemble.members.ids >> FOLD_BITS)
        np.testing.assert_array_equal(folds, np.arange(1, found.n_folds + 1))
    assert [each["weight"] for each in found.tried if each["weight"] > 0] == found.weights[found.weights > 0].tolist()
    assert all(each["r2"] <= 1 for each in found.tried)


TABLES = {
    "linear": linear_table(100),
    "wavy": wavy_table(200),
    "noise": noise_table(),
    "two": linear_table(80, n_outputs=2),
}


@pytest.fixture(scope="module")
def found():
    """By name, the sample and its stack."""
    samples = {name: sample_of(*table) for name, table in TABLES.items()}
    return {name: (sample, stack(sample)) for name, sample in samples.items()}


@pytest.mark.parametrize("name", TABLES)
def test_it_is_no_worse_than_its_best_part(found, name):
    """Out of fold, on the rows that decided on the weights; dropping parts of little weight may cost as much again."""
    sample, ours = found[name]
    check(ours, sample)
    best = max(each["r2"] for each in ours.tried)
    assert 1 - stack_r2(ours) <= (1 + LEAST_WEIGHT) * (1 - best)


@pytest.mark.parametrize("name", TABLES)
def test_held_out_errors_are_those_of_a_network_drawn_by_weight(found, name):
    """Mean and variance over the kinds, of the networks that left the row out, by hand.

    Errors are smaller by one factor for all rows, because the mean of all folds' networks varies less; test_averaging.py has it.
    """
    sample, ours = found[name]
    predictions = [part.networks.members(sample.X, MACHINE).astype(np.float64) for part in ours.parts]
    fold_of_row = np.empty(len(sample.y), dtype=int)
    for fold in range(ours.n_folds):  # held rows come fold after fold
        same = np.array_split(np.arange(len(ours.rows)), np.flatnonzero(np.diff(ours.rows) < 0) + 1)
        fold_of_row[ours.rows[same[fold]]] = fold
    own = np.array([each[fold_of_row, np.arange(len(sample.y))] for each in predictions])[:, ours.rows]
    mean = np.tensordot(ours.weights, own, axes=1)
    errors = mean - sample.y[ours.rows]
    factor = np.sqrt((ours.held.residual**2).sum(axis=0) / (errors**2).sum(axis=0))
    assert (factor > 0.5).all() and (factor <= 1 + 1e-6).all()
    np.testing.assert_allclose(ours.held.residual, factor * errors, atol=1e-4)
    spread = np.tensordot(ours.weights, (own - mean) ** 2, axes=1)
    np.testing.assert_allclose(ours.held.spread, spread, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_ridge_has_most_of_the_weight_where_the_truth_is_linear(seed):
    assert share_of_ridge(stack(sample_of(*linear_table(120, noise=0.3, seed=seed)))) > 0.5


def test_networks_have_nearly_all_of_the_weight_where_it_is_not(found):
    assert share_of_ridge(found["wavy"][1]) < 0.1 and stack_r2(found["wavy"][1]) > 0.8


def test_noise_is_not_explained(found):
    """r2 on rows that were left out; of 150 rows, chance adds or takes a few hundredths."""
    assert -0.1 < stack_r2(found["noise"][1]) < 0.1


# -- ladders -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def short(monkeypatch):
    """Kinds that learn little: decisions are what is tested."""
    own = Kind.options
    monkeypatch.setattr(Kind, "options", lambda self, *args: replace(own(self, *args), n_epochs=4))


def test_what_was_tried_and_rejected_has_no_weight(short, monkeypatch):
    """Of 20 rows of a trial, nearly all of the error would have to go: rungs are tried on some folds, and on no others."""
    monkeypatch.setattr(search, "CHANCE", 0.99 * 20)
    sample = sample_of(*linear_table(100))
    low, medium = stack(sample), stack(sample, effort="medium")
    check(medium, sample)
    assert len(medium.tried) > len(low.tried)
    assert all(each["weight"] == 0 for each in medium.tried[len(low.tried) :])
    np.testing.assert_array_equal(medium.weights, low.weights)


def anything_is_worth_it(monkeypatch):
    """Even a loss: all rungs climb."""
    monkeypatch.setitem(search.WORTH, "medium", -1e9)
    monkeypatch.setattr(search, "CHANCE", -1e9)


def test_what_is_worth_it_is_trained_on_every_fold(short, monkeypatch):
    anything_is_worth_it(monkeypatch)
    sample = sample_of(*wavy_table(100))
    found = stack(sample, effort="medium")
    check(found, sample)
    assert len({str(each) for each in found.tried}) == len(found.tried) == 1 + len(KINDS)


@pytest.mark.parametrize("n_rows", [8, search.FEWEST_ROWS - 1])
def test_of_few_rows_no_rung_is_tried(short, n_rows):
    """A weight more would take all error away by chance."""
    sample = sample_of(*wavy_table(n_rows))
    assert len(stack(sample, effort="high").tried) == len(stack(sample, effort="low").tried)


@pytest.mark.parametrize("where", ["everywhere", "on all folds but those of the trial"])
def test_kinds_that_diverge_are_left_out(short, monkeypatch, where):
    """Also those that diverge after a trial in which they were worth it."""
    anything_is_worth_it(monkeypatch)
    own = Growing._training

    def training(self, kind, folds):
        made = own(self, kind, folds)
        bad = kind in search.LADDERS[0] and (where == "everywhere" or 0 not in folds)
        return replace(made, options=replace(made.options, learning_rate=1e30, max_restarts=0)) if bad else made

    monkeypatch.setattr(Growing, "_training", training)
    sample = sample_of(*wavy_table(100))
    found = stack(sample, effort="medium")
    check(found, sample)
    assert not {part.kind for part in found.parts} & set(search.LADDERS[0])


@pytest.fixture
def diverging(monkeypatch):
    own = Kind.options
    monkeypatch.setattr(
        Kind, "options", lambda self, *args: replace(own(self, *args), learning_rate=1e30, max_restarts=0)
    )


def test_where_all_networks_diverge_ridge_is_left(diverging):
    sample = sample_of(*linear_table(60))
    found = stack(sample, effort="high")
    check(found, sample)
    assert share_of_ridge(found) == 1 and len(found.tried) == 1


def test_where_nothing_is_left_the_message_says_so(diverging, monkeypatch):
    monkeypatch.setattr("extranets.stacking.linear.MOST_COLUMNS", 2)
    with pytest.raises(engine.TrainingDiverged, match="The loss of every kind of network was not finite"):
        stack(sample_of(*linear_table(60)))


# -- large tables --------------------------------------------------------------------------------------------------------


@pytest.fixture
def many_rows(monkeypatch):
    """Tables of more than 150 rows count as large."""
    monkeypatch.setattr(search, "MANY_ROWS", 150)
    monkeypatch.setattr(search, "SEARCH_ROWS", 80)
    monkeypatch.setattr(search, "ENOUGH_HELD", 120)


@pytest.mark.parametrize("table", [linear_table(200), wavy_table(200)], ids=["linear", "wavy"])
def test_large_tables_choose_on_some_rows(many_rows, short, table):
    sample = sample_of(*table)
    found = stack(sample, members_per_fold=2)
    check(found, sample)
    assert len(found.rows) == 120  # enough for errors; networks of a fold see all rows but its own
    networks = [part for part in found.parts if part.kind is not None]
    assert len(networks) <= search.MOST_KINDS and all(
        len(part.networks.ensemble) == 2 * found.n_folds for part in networks
    )
    known = stack(sample_of(*(each[:80] for each in table)))
    assert len(found.tried) > len(known.tried)  # what was tried on some rows, and what was trained on all


def test_a_large_table_for_which_networks_have_no_weight(many_rows, short):
    """Ridge alone is trained on all rows."""
    X, _ = linear_table(200)
    sample = sample_of(X, X[:, 0])
    found = stack(sample)
    check(found, sample)
    assert share_of_ridge(found) == 1


def test_a_large_table_without_a_linear_part(many_rows, short, monkeypatch):
    monkeypatch.setattr("extranets.stacking.linear.MOST_COLUMNS", 2)
    sample = sample_of(*linear_table(200))
    found = stack(sample)
    check(found, sample)
    assert share_of_ridge(found) == 0


# -- all kinds of tables -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", ["low", "high"])
@pytest.mark.parametrize("n_rows", range(2, 11))
def test_tiny_tables(n_rows, effort):
    sample = sample_of(*linear_table(n_rows, 3))
    found = stack(sample, effort=effort)
    check(found, sample)
    assert found.n_folds == n_rows and sorted(found.rows) == list(range(n_rows))


@pytest.mark.parametrize(
    "table",
    [
        (np.ones((40, 2)), linear_table(40)[1]),
        (linear_table(40)[0], np.full(40, 3.0)),
        (linear_table(40, 1)[0], linear_table(40, 1)[1]),
        (linear_table(40)[0], np.column_stack([linear_table(40)[1], np.full(40, 3.0)])),
        (linear_table(20, 60)[0], linear_table(20, 60)[1]),
    ],
    ids=["constant columns", "constant target", "one column", "a constant output", "wide"],
)
def test_odd_tables(table):
    sample = sample_of(*table)
    check(stack(sample), sample)


@pytest.mark.parametrize("n_folds", [2, 7, 30, 200])
def test_as_many_folds_as_are_asked_for_but_no_more_than_rows(short, n_folds):
    sample = sample_of(*linear_table(30))
    found = stack(sample, n_folds=n_folds)
    check(found, sample)
    assert found.n_folds == min(n_folds, 30)


def test_weights_of_the_rows_count(short):
    """A stack of rows that follow two lines is right where the weight is."""
    X, _ = linear_table(100, 2)
    first = np.arange(100) < 50
    y = np.where(first, X[:, 0], -X[:, 0])
    for heavy in (first, ~first):
        found = stack(sample_of(X, y, np.where(heavy, 100.0, 1.0)))
        errors = np.abs(found.held.residual[:, 0])
        assert 2 * errors[heavy[found.rows]].mean() < errors[~heavy[found.rows]].mean()


def test_the_result_does_not_depend_on_threads(short):
    sample = sample_of(*wavy_table(100))
    one, two = (stack(sample, effort="medium", machine={"device": "cpu", "n_threads": n}) for n in (1, 3))
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.held.residual, two.held.residual)
    assert one.tried == two.tried
    other = stack(sample, seed=4)
    assert not np.array_equal(other.rows, one.rows)


def test_more_rows_have_fewer_folds():
    """Each row its own up to 10; 10 up to 2,000 rows; then fewer, one by one, down to 5."""
    folds = np.array([n_folds_for(n) for n in range(2, 12_000)])
    np.testing.assert_array_equal(folds[:2000], np.minimum(np.arange(2, 2002), 10)[: len(folds[:2000])])
    assert set(np.diff(folds[1998:])) == {0, -1} and folds[-1] == n_folds_for(10**7) == 5


def test_the_share_explained_is_of_the_variance_on_the_same_rows(found):
    """A part that was tried on one fold and predicts the mean of its rows explains nothing, however far out other rows are."""
    sample, _ = found["wavy"]
    sample = replace(sample, y=sample.y * (1 + 50 * (np.arange(len(sample.y)) == 0))[:, None].astype(np.float32))
    plan = Plan(np.arange(len(sample.y)) % 5, 5, 1)
    looking = search.Search(Growing(sample, plan, 0.9, 0, MACHINE, silent), "low")
    rows = plan.fold_of_row == 1
    residual = np.full(sample.y.shape, np.nan)
    residual[rows] = sample.y[rows] - sample.y[rows].mean()
    assert looking._r2(Part(None, None, residual, residual)) == pytest.approx(0, abs=1e-6)
