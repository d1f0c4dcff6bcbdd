"""Files with a correct digest and wrong contents: refused before anything reaches the compiled engine.

The files here are from before fits made a `Predictor`; `test_hostile_parts` does the same with those of today.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import extranets
from extranets import ModelFileError
from extranets.model_file import container, read_info
from tests.model_file.forging import START, all_of, array, put, put_together, sign, take_apart, with_value
from tests.model_file.write_samples import OLD

NETWORKS = "learned._fitted.ensemble"
EVERY = sorted(path.stem for path in OLD.glob("*.xnet"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "forged.xnet"


def parts_of(name):
    return take_apart((OLD / f"{name}.xnet").read_bytes())


def field(way, name, tree):
    return put(f"learned.{way}.{name}", tree)


def learned(name, tree):
    return put(f"learned.{name}", tree)


def parameter(name, tree):
    return put(f"parameters.{name}", tree)


def both_architectures(**sizes):
    """Changes the architecture of the recipe and of the members alike, so that they still agree."""
    ways = ("_fitted.recipe.architecture", "_fitted.ensemble.members.architecture")
    return all_of(*(field(way, name, size) for way in ways for name, size in sizes.items()))


@pytest.mark.parametrize("name", EVERY)
def test_forging_without_a_change_gives_a_model(name, path):
    """So that the cases below fail for the reason they name."""
    path.write_bytes(put_together(parts_of(name)))
    assert extranets.load(path).n_features_in_ == 2


CASES = [
    # networks: the engine reads these without checks
    ("extra_nets", array(f"{NETWORKS}.parameters", lambda a: a[:-1]), "parameters do not fit"),
    ("extra_nets", array(f"{NETWORKS}.parameters", lambda a: a[None]), "parameters do not fit"),
    ("extra_nets", array(f"{NETWORKS}.parameters", lambda a: a.astype(np.float64)), "parameters is a float64 array"),
    ("extra_nets", array(f"{NETWORKS}.parameters", with_value(np.nan)), "not finite"),
    ("extra_nets", array(f"{NETWORKS}.parameters", with_value(np.inf)), "not finite"),
    ("extra_nets", array(f"{NETWORKS}.members.widths", lambda a: a + 1), "widths do not fit the masks"),
    ("extra_nets", array(f"{NETWORKS}.members.widths", lambda a: -a), "widths do not fit the masks"),
    ("extra_nets", array(f"{NETWORKS}.members.widths", lambda a: a.ravel()), "widths do not fit the architecture"),
    ("extra_nets", array(f"{NETWORKS}.members.widths", lambda a: a.astype(np.int64)), "widths is a int64 array"),
    ("extra_nets", array(f"{NETWORKS}.members.masks", lambda a: a[:, 1:]), "masks do not fit"),
    ("extra_nets", array(f"{NETWORKS}.members.masks", np.invert), "widths do not fit the masks"),
    ("extra_nets", array(f"{NETWORKS}.members.masks", lambda a: a.astype(np.uint8)), "masks is a uint8 array"),
    ("extra_nets", array(f"{NETWORKS}.members.ids", lambda a: a[:1]), "widths do not fit the architecture"),
    ("extra_nets", array(f"{NETWORKS}.members.ids", lambda a: a[:, None]), "one axis"),
    ("extra_nets", array(f"{NETWORKS}.members.ids", lambda a: a[0].reshape(())), "Members"),
    (
        "extra_nets",
        all_of(
            array(f"{NETWORKS}.members.widths", np.zeros_like), array(f"{NETWORKS}.members.masks", np.zeros_like)
        ),
        "without units",
    ),
    ("extra_nets", both_architectures(n_inputs=-2), "without units, or with too many"),
    ("extra_nets", both_architectures(n_inputs=2**31), "without units, or with too many"),
    ("extra_nets", both_architectures(n_inputs=3), "parameters do not fit"),
    ("extra_nets", both_architectures(n_inputs=2.0), "n_inputs is a float"),
    ("extra_nets", both_architectures(n_inputs={"scalar": ["I8", "02"]}), "must be plain integers"),
    ("extra_nets", both_architectures(n_outputs=2), "networks do not fit"),
    ("extra_nets", both_architectures(n_outputs=3), "neither n_outputs nor twice that"),  # heads beyond the row's end
    ("extra_nets", both_architectures(n_outputs=2**31 - 1), "neither n_outputs nor twice that"),
    ("extra_nets", both_architectures(hidden={"tuple": [3, 2, 0]}), "without units"),
    ("extra_nets", both_architectures(hidden={"tuple": [3, 2] + [1] * 62}), "more than 63"),
    ("extra_nets", both_architectures(hidden={"tuple": [2**31 - 1, 2]}), "masks do not fit"),
    ("extra_nets", both_architectures(hidden={"tuple": [{"scalar": ["I8", "7f"]}] * 4}), "widths do not fit"),
    ("extra_nets", field("_fitted.recipe.architecture", "n_inputs", 3), "two architectures"),
    # how they were trained
    ("extra_nets", field("_fitted.recipe", "seed", 2**63 * -1), "seed"),
    ("extra_nets", field("_fitted.recipe", "sampling", {"tuple": [[1]]}), "more than texts and numbers"),
    *[("extra_nets", field("_fitted.recipe", "sampling", {"tuple": [None, 0.8, "redraw", 0.0][:n]}), "sampling does not fit")
      for n in (0, 1, 4)],
    ("extra_nets", field("_fitted.recipe", "data", "text"), "data is a str"),
    ("extra_nets", field("_fitted", "n_members", 1), "more members"),
    ("extra_nets", array("learned._fitted.restarts", lambda a: a[:1]), "restarts do not fit"),
    ("extra_nets", array("learned._fitted.loss_curve", lambda a: a[0]), "loss_curve does not fit"),
    ("mc_dropout", field("_fitted.recipe.options", "dropout_keep", 0), "dropout_keep"),
    ("mc_dropout", field("_fitted.recipe.options", "dropout_keep", {"float": "nan"}), "dropout_keep"),
    ("mc_dropout", field("_fitted.recipe.options", "loss", "absolute"), "loss is a str"),
    ("mc_dropout", field("_fitted.recipe.options", "unknown", 1), "unknown entries"),
    # what all estimators learn
    ("extra_nets", learned("_learns_noise", False), "networks do not fit the noise"),
    ("extra_nets", learned("_y_is_vector", 1), "_y_is_vector is a int"),
    ("deep_ensemble", learned("_y_is_vector", True), "several outputs"),
    ("extra_nets", array("learned._x_scaling.centre", lambda a: a[:1]), "different shapes"),
    ("extra_nets", array("learned._x_scaling.centre", with_value(np.nan)), "not usable"),
    ("extra_nets", array("learned._x_scaling.scale", with_value(-1.0)), "not usable"),
    ("extra_nets", array("learned._x_scaling.scale", with_value(1e-300)), "not usable"),
    ("delta", put("n_features", 3), "not fit the features"),
    ("extra_nets", put("n_features", None), "what the fit was is missing"),
    ("extra_nets", put("fit_info", {"dict": [["n_rows", 3]]}), "missing entries"),
    ("extra_nets", put("feature_names", ["one"]), "names do not fit"),
    ("extra_nets", put("feature_names", ["one", 2]), "feature_names is a list"),
    ("extra_nets", put("predict", 1), "unknown entries"),
    ("extra_nets", learned("predict", 1), "unknown entries"),
    ("extra_nets", learned("__class__", 1), "unknown entries"),
    ("extra_nets", array("learned._noise", with_value(-1.0)), "noise is negative"),
    ("extra_nets", array("learned._noise", lambda a: np.tile(a, 2)), "noise has shape"),
    ("extra_nets", array("learned._factors", lambda a: a[0]), "calibration has shape"),
    ("mc_dropout", array("learned._conformal.scores", with_value(np.nan)), "scores are NaN"),
    ("mc_dropout", array("learned._conformal.scores", lambda a: a[:0]), "wrong shape"),
    ("mc_dropout", array("learned._conformal.scores", lambda a: a[:, None]), "do not fit the outputs"),
    ("mc_dropout", field("_conformal", "construction", {"dict": [["interval", "total"]]}), "another construction"),
    ("mc_dropout", field("_conformal", "construction", {"dict": [["interval", []]]}), "more than texts"),
    # what some estimators learn
    ("extra_nets_cv_plus", array("learned._cv_plus.fold_of_row", lambda a: a + 1), "folds that are not there"),
    ("extra_nets_cv_plus", array("learned._cv_plus.fold_of_row", lambda a: a - 1), "folds that are not there"),
    ("extra_nets_cv_plus", array("learned._cv_plus.fold_of_row", lambda a: a[1:]), "does not fit the residuals"),
    ("extra_nets_cv_plus", array("learned._cv_plus.residuals", with_value(-1.0)), "negative"),
    ("extra_nets_cv_plus", array("learned._cv_plus.residuals", lambda a: a[:, :1]), "do not fit the outputs"),
    ("extra_nets_cv_plus", field("_cv_plus", "ensembles", []), "folds that are not there"),
    ("extra_nets_cv_plus", learned("_factors", None), "folds without a calibration"),
    ("extra_nets_student", array("learned._dof", with_value(2.0)), "degrees of freedom are not above 2"),
    ("extra_nets_student", array("learned._dof", with_value(np.nan)), "degrees of freedom are not above 2"),
    ("extra_nets_student", array("learned._dof", lambda a: a[:1]), "degrees of freedom do not fit the outputs"),
    ("extra_nets_student", array("learned._dof", lambda a: a.astype(np.float32)), "_dof is a float32 array"),
    ("extra_nets_student", array("learned._expected.rmse", with_value(-1.0)), "rmse is negative"),
    ("extra_nets_student", array("learned._expected.coverage", lambda a: a[:0]), "coverage has shape"),
    ("extra_nets_student", learned("_expected", {"dict": []}), "missing entries"),
    ("extra_nets_student", learned("settings_", {"dict": [["n_jobs", 1]]}), "unknown entries"),
    ("extra_nets_student", learned("settings_", []), "settings_ is a list"),
    ("bootstrap", learned("_noises", {"dict": []}), "other constructions"),
    ("bootstrap", array("learned._out_of_bag", lambda a: a[:, [0, 0]]), "out-of-bag"),
    ("bootstrap_jackknife", array("learned._jackknife.in_bag", lambda a: a[:1]), "does not fit the networks"),
    ("bootstrap_jackknife", array("learned._jackknife.in_bag", lambda a: a[:, 1:]), "does not fit the residuals"),
    ("bootstrap_jackknife", array("learned._jackknife.in_bag", np.ones_like), "not finite"),
    ("bootstrap_jackknife", array("learned._jackknife.residuals", lambda a: a * np.nan), "not finite"),
    ("delta", learned("_curvatures", []), "one curvature for each output"),
    ("delta", array("learned._curvatures.0.root", lambda a: a[1:]), "square"),
    ("delta", array("learned._curvatures.0.root", lambda a: a[1:, 1:]), "does not fit the network"),
    ("delta", array("learned._curvatures.0.root", with_value(np.inf)), "not finite"),
    ("pbp", array("learned.posterior_.mean", lambda a: a[:, 1:]), "mean does not fit"),
    ("pbp", array("learned.posterior_.variance", lambda a: a[:1]), "variance does not fit"),
    ("pbp", array("learned.posterior_.variance", with_value(-1.0)), "variance is negative"),
    ("pbp", array("learned.posterior_.mean", with_value(np.nan)), "mean is not finite"),
    ("pbp", array("learned.posterior_.noise", lambda a: a[:, :1]), "two numbers"),
    ("pbp", field("posterior_.architecture", "n_inputs", 3), "mean does not fit"),
    ("pbp", field("posterior_.architecture", "n_heads", 2), "one output"),
    ("pbp", learned("_seed", -1), "seed"),
    ("pbp", learned("_learns_noise", True), "networks do not fit the noise"),
    ("variational", array("learned.posterior_.mean", lambda a: a[1:]), "do not fit the members"),
    ("variational", array("learned.posterior_.std", with_value(-1.0)), "std is negative"),
    ("variational", array("learned.posterior_.noise_variance", lambda a: a[0]), "noise_variance does not fit"),
    ("variational", field("posterior_.members.architecture", "n_heads", 2), "n_heads must be n_outputs"),
    ("variational", learned("_seed", 0.5), "_seed is a float"),
    # parameters, classes
    ("pbp", parameter("n_passes", 0), "n_passes"),
    ("pbp", parameter("n_passes", 2**31), "n_passes"),
    ("pbp", parameter("hidden_layer_sizes", {"tuple": [0]}), "hidden_layer_sizes"),
    ("pbp", parameter("random_state", "os.system"), "random_state"),
    ("pbp", parameter("interval", "total"), "unknown entries"),
    ("pbp", parameter("n_passes", {"float": "inf"}), "n_passes"),
    ("pbp", parameter("n_passes", 2.5), "n_passes"),
    ("pbp", parameter("n_passes", []), "n_passes"),
    ("extra_nets", parameter("interval", "wide"), "interval"),
    ("extra_nets", parameter("interval", []), "ExtraNetsRegressor"),
    ("extra_nets", parameter("keep_prob", []), "keep_prob"),
    ("extra_nets", parameter("keep_prob", 2), "keep_prob"),
    ("extra_nets", parameter("null_members", "keep"), "null_members"),
    ("extra_nets", parameter("n_starts", 1), "under two names"),
    ("deep_ensemble", parameter("adversarial_epsilon", -1), "adversarial_epsilon"),
    ("extra_nets", put("model", None), "unknown entries"),
    ("extra_nets", put("learned", None), "the model is missing"),
    ("pbp", lambda parts: parts.model.update({"class": "MCDropoutRegressor"}), "MCDropoutRegressor"),
    ("pbp", lambda parts: parts.model.update({"class": "os.system"}), "unknown class"),
    ("pbp", lambda parts: parts.model.update({"class": "extranets.PBPRegressor"}), "unknown class"),
    ("pbp", lambda parts: parts.model.update({"class": 1}), "no valid entry 'class'"),
    ("pbp", lambda parts: parts.model.update({"stored": []}), "no valid entry 'stored'"),
    ("pbp", lambda parts: parts.model.update({"code": "print()"}), "not that of a model"),
    ("pbp", lambda parts: parts.set_array("more", np.zeros(3)), "nothing refers to"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "message"), CASES)
def test_inconsistent_contents_are_refused(name, change, message, path):
    parts = parts_of(name)
    change(parts)
    path.write_bytes(put_together(parts))
    with pytest.raises(ModelFileError, match=message) as caught:
        extranets.load(path)
    assert str(path) in str(caught.value)


def test_a_missing_parameter_takes_its_default(path):
    """As in a file that was written before the parameter existed."""
    parts = parts_of("pbp")
    parts.stored["parameters"]["dict"] = [pair for pair in parts.stored["parameters"]["dict"] if pair[0] != "n_passes"]
    path.write_bytes(put_together(parts))
    assert extranets.load(path).n_passes == 100


def test_an_unfitted_estimator_comes_back_unfitted(path):
    parts = parts_of("pbp")
    parts.stored.update(dict.fromkeys(["n_features", "feature_names", "fit_info", "learned"]))
    parts.table, parts.body = {}, b""
    path.write_bytes(put_together(parts))
    assert not extranets.load(path).__sklearn_is_fitted__()


# -- memory ------------------------------------------------------------------------------------------------------------


def peak_of(action):
    """Peak memory of a call, in bytes."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def load_or_refuse(path):
    try:
        return extranets.load(path)
    except ModelFileError:
        return None


@pytest.mark.filterwarnings("ignore:.*collapse_r2")
def test_a_model_takes_little_more_memory_than_its_file(path):
    rng = np.random.default_rng(0)
    model = extranets.ExtraNetsRegressor(4, (400, 400), max_iter=1, n_jobs=1, random_state=0)
    model.fit(rng.normal(size=(30, 5)), rng.normal(size=30)).save(path)
    extranets.load(path)  # now late imports have been done
    size = path.stat().st_size
    assert size > 2e6 and peak_of(lambda: extranets.load(path)) < 2 * size
    assert peak_of(lambda: read_info(path)) < 300_000


VERSION = b'","version":"1","model":"'


@pytest.mark.parametrize(
    "header",
    [
        START + b"0" * 64 + VERSION + b'{}"},"a":{"dtype":"F64","shape":[1099511627776],"data_offsets":[0,8796093022208]}}',
        START + b"0" * 64 + VERSION + b'{}"},"a":{"dtype":"U8","shape":[0,1099511627776],"data_offsets":[0,0]}}',
        START + b"0" * 64 + VERSION + b"[" * 200_000 + b'"}}',
        START + b"0" * 64 + VERSION + b"[" + b"[]," * 300_000 + b'0]"}}',
        START + b"0" * 64 + VERSION + b"9" * 900_000 + b'"}}',
        START + b"0" * 64 + b'","version":"' + b"2" * 900_000 + b'"}}',
    ],
)  # fmt: skip
def test_bombs_take_memory_in_proportion_to_their_files(header, path):
    path.write_bytes(sign(header))
    assert load_or_refuse(path) is None
    assert peak_of(lambda: load_or_refuse(path)) < 100_000 + 30 * len(header)


def test_a_huge_sparse_file_is_refused(path):
    """It has the size of a terabyte and takes no room on the disk."""
    parts = parts_of("pbp")
    data = put_together(parts)
    path.write_bytes(data)
    with open(path, "r+b") as file:
        file.truncate(1 << 40)
    assert peak_of(lambda: load_or_refuse(path)) < 300_000
    with pytest.raises(ModelFileError, match="too long"):
        container.read(path)
