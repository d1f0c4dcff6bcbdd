"""What holds for every interval of every estimator. New ones are found by themselves."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import onnxruntime
import pytest
from sklearn.base import clone

import extranets
from extranets import model_file
from extranets.estimators import METHODS
from extranets.model_file import checked
from extranets.predictor import intervals
from extranets.predictor.strata import NOTHING
from tests.predictor import models

KINDS = intervals.KINDS
# Each kind once, in a small model of every estimator that offers it.
OFFERED = {
    f"{type(model).__name__}, {kind.name}": (name, kind)
    for name, model in models.MODELS.items()
    for kind in type(model).intervals
}
EVERY = pytest.mark.parametrize("case", OFFERED)
LEVELS = [0.5, 0.9]


@functools.cache
def fitted(case):
    name, kind = OFFERED[case]
    model = models.MODELS[name]
    several = "interval" in model.get_params()
    return models.fit(clone(model).set_params(interval=kind.name) if several else model, *models.table())


def part_of(case):
    found = fitted(case).model_.intervals[OFFERED[case][1].name]
    assert type(found) is OFFERED[case][1]
    return found


def new_rows():
    return models.table(50, seed=1)[0]


def variances(part, n_members=6):
    random = np.random.default_rng(0)
    return part.variances(random.uniform(1, 2, size=(9, 2)), random.uniform(1, 2, size=(1, 2)), n_members)


def test_every_interval_is_offered_by_an_estimator_and_has_a_name_of_its_own_there():
    assert {kind for _, kind in OFFERED.values()} == set(KINDS)
    for estimator in METHODS.values():
        names = [kind.name for kind in estimator.intervals]
        assert len(set(names)) == len(names) >= 1


@EVERY
def test_variances_are_those_of_a_prediction(case):
    epistemic, aleatoric = variances(part_of(case))
    assert np.broadcast_shapes(epistemic.shape, aleatoric.shape) == (9, 2)
    assert (epistemic >= 0).all() and (aleatoric > 0).all()
    parts = fitted(case).predict_components(new_rows())
    assert (parts.epistemic >= 0).all() and (parts.aleatoric > 0).all()


@EVERY
def test_bounds_are_quantiles_or_its_own(case):
    model, X = fitted(case), new_rows()
    bounds = model.predict_interval(X, LEVELS)
    lower, upper = bounds[:, :, 0], bounds[:, :, 1]
    assert bounds.shape == (50, 2, 2, 2)
    assert (lower[..., 1] < lower[..., 0]).all() and (lower < upper).all() and (upper[..., 0] < upper[..., 1]).all()
    quantiles = model.predict_quantiles(X, [0.05, 0.95])
    kind = OFFERED[case][1]
    assert np.allclose(bounds[..., 1], quantiles) == (kind.predictive or not kind.own_bounds)


@EVERY
def test_who_has_no_bounds_of_its_own_says_so(case):
    if OFFERED[case][1].own_bounds:
        return
    part, model, levels = part_of(case), fitted(case).model_, np.array(LEVELS)
    with pytest.raises(TypeError, match="no bounds of its own"):
        part.centres(models.inputs(model), model.source, models.MACHINE)
    with pytest.raises(TypeError, match="no bounds of its own"):
        part.bounds(np.zeros((1, 40, 2)), model.units, levels, NOTHING)
    with pytest.raises(TypeError, match="no bounds of its own"):
        part.graph_bounds(None, model.source, model.units, levels)


@EVERY
def test_a_graph_has_the_same_bounds(case, tmp_path):
    model, X = fitted(case), new_rows()
    model.to_onnx(tmp_path / "model.onnx", coverage=LEVELS)
    names = ["sd", "lower_50", "upper_50", "lower_90", "upper_90"]
    found = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(names, {"X": X})
    bounds = model.predict_interval(X, LEVELS)
    ours = [model.predict(X, return_std=True)[1], *(bounds[:, :, side, level] for level in (0, 1) for side in (0, 1))]
    for theirs, values in zip(found, ours, strict=True):
        np.testing.assert_array_less(np.abs(theirs - values), 1e-5 * (np.abs(values) + models.table()[1].std(axis=0)))


@EVERY
def test_it_comes_back_from_a_file(case, tmp_path):
    part, X = part_of(case), new_rows()
    model_file.save(part, tmp_path / "part.xnet")
    again = extranets.load(tmp_path / "part.xnet")
    assert type(again) is type(part)
    for found, expected in zip(variances(again), variances(part), strict=True):
        np.testing.assert_array_equal(found, expected)
    fitted(case).save(tmp_path / "model.xnet")
    model = extranets.load(tmp_path / "model.xnet")
    np.testing.assert_array_equal(model.predict_interval(X, LEVELS), fitted(case).predict_interval(X, LEVELS))


def numbers_in(part):
    """Names of the fields that hold numbers."""
    values = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    return [name for name, each in values.items() if isinstance(each, np.ndarray) and each.dtype == np.float64]


@EVERY
def test_a_stored_one_that_is_not_finite_is_refused(case):
    model, part = fitted(case).model_, part_of(case)
    for name in numbers_in(part):
        spoiled = dataclasses.replace(part, **{name: np.full_like(getattr(part, name), np.nan)})
        with pytest.raises(ValueError, match="finite"):
            checked(dataclasses.replace(model, intervals=model.intervals | {part.name: checked(spoiled)}))


@EVERY
def test_networks_of_other_outputs_are_refused_by_what_was_learned_for_each_output(case):
    part = part_of(case)
    part.check_fits(fitted(case).model_.source)
    if numbers_in(part):
        with pytest.raises(ValueError, match=r"instead of|do(es)? not fit|another architecture"):
            part.check_fits(models.predictor(OFFERED[case][0], 1).source)


@EVERY
def test_the_fit_keeps_it_for_later_unless_it_keeps_much(case):
    """What holds rows or networks is learned only where the fit asks for it; its message says what to do."""
    name, kind = OFFERED[case]
    model = models.MODELS[name]
    others = [each.name for each in type(model).intervals if each is not kind]
    if not others:
        return
    changed = models.fit(clone(model).set_params(interval=others[0]), *models.table()).set_params(interval=kind.name)
    if kind.on_request:
        with pytest.raises(ValueError, match="call fit again"):
            changed.predict_interval(new_rows())
    else:
        expected = fitted(case).predict_interval(new_rows())
        np.testing.assert_allclose(changed.predict_interval(new_rows()), expected, rtol=1e-12)
