"""Files as they are written today, with a correct digest and wrong contents: every part of a `Predictor` refuses what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import extranets
from extranets import ModelFileError
from extranets.model_file import save
from extranets.predictor.sources import Stack
from tests.model_file.attacks import CASES, parts_of
from tests.model_file.forging import all_of, array, drop, put, put_together, take_apart, with_value
from tests.model_file.write_samples import TODAY

EVERY = sorted(path.stem for path in TODAY.glob("*.xnet"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "forged.xnet"


def assert_refused(parts, message, path):
    path.write_bytes(put_together(parts))
    with pytest.raises(ModelFileError, match=message) as caught:
        extranets.load(path)
    assert str(path) in str(caught.value) and "nothing refers to" not in str(caught.value)


@pytest.mark.parametrize("name", EVERY)
def test_forging_without_a_change_gives_a_model(name, path):
    """So that the cases below fail for the reason they name."""
    path.write_bytes(put_together(parts_of(name)))
    assert extranets.load(path).n_features_in_ == 2


@pytest.mark.parametrize(("name", "change", "message"), CASES)
def test_contents_that_do_not_go_together_are_refused(name, change, message, path):
    parts = parts_of(name)
    change(parts)
    assert_refused(parts, message, path)


# -- a mixture of sources of any kind, in a file of its own ------------------------------------------------------------------


@pytest.fixture
def stack(path):
    """The parts of a file that holds a mixture alone."""
    networks = extranets.load(TODAY / "extra_nets_student.xnet").model_.source
    save(Stack([networks, replace(networks, restarts=networks.restarts + 1)], np.array([0.25, 0.75])), path)
    return take_apart(path.read_bytes())


def test_a_stack_comes_back(stack, path):
    path.write_bytes(put_together(stack))
    assert extranets.load(path).weights.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (array("weights", with_value(0.5)), "do not make one"),
        (array("weights", with_value(np.nan)), "do not make one"),
        (array("weights", with_value(np.inf)), "do not make one"),
        (array("weights", lambda a: np.array([-0.5, 1.5])), "do not make one"),
        (array("weights", lambda a: np.array([1.0])), "one weight for each"),
        (array("weights", lambda a: a[None]), "one weight for each"),
        (array("weights", lambda a: a.astype(np.float32)), "weights is a float32"),
        (all_of(put("sources", []), array("weights", lambda a: a[:0])), "one weight for each"),
        (put("sources.0", {"object": ["Total", {}]}), "sources is a list"),
        (put("sources.0", parts_of("pbp").get("model.noise")), "cannot be read"),
        (put("more", 1), "unknown entries"),
        (drop("weights"), "missing entries"),
    ],
)
def test_a_stack_that_does_not_go_together_is_refused(change, message, stack, path):
    change(stack)
    assert_refused(stack, message, path)


def test_a_stack_of_unlike_sources_is_refused(path):
    one = extranets.load(TODAY / "extra_nets_student.xnet").model_.source
    two = extranets.load(TODAY / "extra_nets.xnet").model_.source
    with pytest.raises(ValueError, match="do not go together"):
        save(Stack([one, two], np.array([0.5, 0.5])), path)


def test_a_stack_is_no_source_of_another_estimator(path):
    model = extranets.load(TODAY / "extra_nets_student.xnet")
    model.model_ = replace(model.model_, source=Stack([model.model_.source], np.ones(1)))
    with pytest.raises(ValueError, match="not those of this estimator"):
        model.save(path)
