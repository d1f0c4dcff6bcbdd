"""What may be wrong with a file as it is written today, part by part: (sample, change, what the refusal says)."""

from __future__ import annotations

import numpy as np

from tests.model_file.forging import all_of, array, drop, graft, put, take_apart, with_value
from tests.model_file.write_samples import TODAY

NAN, INFINITE = {"float": "nan"}, {"float": "inf"}
HUGE = 2**62


def parts_of(name):
    return take_apart((TODAY / f"{name}.xnet").read_bytes())


def of(name, way):
    """A part of another sample."""
    return graft(parts_of(name), way)


def both_architectures(source="model.source", **sizes):
    """Of the recipe and of the members, so that they still agree."""
    ways = (f"{source}.recipe.architecture", f"{source}.ensemble.members.architecture")
    return all_of(*(put(f"{way}.{name}", size) for way in ways for name, size in sizes.items()))


def shapes(name, way, *, other, dtype, negative=True):
    """What no array of numbers may be."""
    return [
        (name, array(way, lambda a: a[:-1]), other),
        (name, array(way, lambda a: a[None]), other),
        (name, array(way, lambda a: a[:0]), other),
        (name, array(way, lambda a: a.astype(np.float32 if a.dtype == np.float64 else np.float64)), dtype),
        (name, array(way, with_value(np.nan)), "not finite"),
        (name, array(way, with_value(np.inf)), "not finite"),
        *([(name, array(way, with_value(-1.0)), "negative")] if negative else []),
    ]


def missing_and_unknown(name, *ways):
    """A part with an entry more, and one without its first entry."""
    for way in ways:
        fields = list(parts_of(name).get(way)["object"][1])
        yield name, put(f"{way}.predict", 1), "unknown entries"
        if fields:
            yield name, drop(f"{way}.{fields[0]}"), "missing entries"


NETWORKS = "model.source.ensemble"
INSIDE = "model.source.networks"
CV_PLUS = "model.intervals.cv+"
STRATA = "model.conformal.strata"
SEPARATE = {"tails": "separate", "group_of_row": None, "names": None, "weights": None}
JACKKNIFE = "model.intervals.jackknife+"
NOISE = "model.noise.model"
CURVATURE = "model.source.curvatures.0"
POSTERIOR = "model.source.posterior"
FOLDS = "model.source.sources.1"  # of a stack
MODELS = "extras.settings_.models"

CASES = [
    # the estimator's own entries
    *[("extra_nets", drop(name), "missing entries") for name in ("parameters", "n_features", "feature_names", "fit_info")],
    *[("extra_nets", drop(name), "missing entries") for name in ("model", "extras")],
    ("extra_nets", put("predict", 1), "unknown entries"),
    ("extra_nets", put("learned", None), "unknown entries"),
    ("extra_nets", put("model", None), "the model is missing"),
    ("extra_nets", all_of(put("model", None), put("fit_info", None), put("n_features", None)), "the model is missing"),
    ("extra_nets", put("model", {"dict": []}), "model is a dict"),
    ("extra_nets", put("n_features", 3), "not fit the features"),
    ("extra_nets", put("n_features", None), "what the fit was is missing"),
    ("extra_nets", put("n_features", 2.0), "n_features is a float"),
    ("extra_nets", put("fit_info", None), "what the fit was is missing"),
    ("extra_nets", put("fit_info", {"dict": [["n_rows", 3]]}), "missing entries"),
    ("extra_nets", put("fit_info.n_rows", "many"), "n_rows is a str"),
    ("extra_nets", put("fit_info.n_features", 3), "not fit the features"),
    ("extra_nets", put("fit_info.more", 3), "unknown entries"),
    ("extra_nets", put("fit_info.n_rows", 0), "what the fit was cannot be"),
    *[("extra_nets", put("fit_info.seconds", value), "what the fit was cannot be") for value in (-1, NAN, INFINITE)],
    ("extra_nets", put("feature_names", ["one"]), "names do not fit"),
    ("extra_nets", put("feature_names", ["one", 2]), "feature_names is a list"),
    ("extra_nets", put("feature_names", []), "names do not fit"),
    ("extra_nets", put("extras", None), "extras is a NoneType"),
    ("extra_nets", put("extras", {"dict": []}), "missing entries"),
    ("extra_nets", put("extras.predict", 1), "unknown entries"),
    ("extra_nets", put("extras.settings_", []), "settings_ is a list"),
    ("extra_nets", put("extras.settings_.n_jobs", 1), "unknown entries"),
    ("extra_nets", put("extras.settings_.batch_size", "many"), "batch_size is a str"),
    ("extra_nets", put("extras.settings_.hidden_layer_sizes", "auto"), "hidden_layer_sizes is a str"),
    ("extra_nets", drop("extras.settings_.alpha"), "missing entries"),
    ("bootstrap", put("extras.oob_score_", None), "oob_score_ is a NoneType"),
    ("bootstrap", array("extras._out_of_bag", lambda a: a[:, [0, 0]]), "out-of-bag"),
    ("bootstrap", array("extras._out_of_bag", lambda a: a[:, 0]), "out-of-bag"),
    ("bootstrap", array("extras._out_of_bag", lambda a: a[:-1]), "fewer rows than the fit had"),
    ("bootstrap", array("extras._out_of_bag", lambda a: a.astype(np.float32)), "_out_of_bag is a float32 array"),
    ("mc_dropout", put("extras.keep_prob_scores_", {"dict": [["a", 1.0]]}), "keep_prob_scores_ is a dict"),
    ("pbp", put("extras.n_iter_", 1.5), "n_iter_ is a float"),
    ("delta", put("extras.damping_", 1.5), "unknown entries"),
    ("pbp", put("parameters.n_passes", 0), "n_passes"),
    ("pbp", put("parameters.n_passes", 2**31), "n_passes"),
    ("pbp", put("parameters.n_passes", INFINITE), "n_passes"),
    *[(name, put("parameters.n_passes", 10_001), "n_passes") for name in ("mc_dropout", "variational", "pbp")],
    *[(name, put("model.source.n_passes", 10_001), "n_passes") for name in ("mc_dropout", "variational", "pbp")],
    ("pbp", put("parameters.interval", "total"), "unknown entries"),
    ("extra_nets", put("parameters.interval", "wide"), "interval"),
    ("extra_nets", put("parameters.n_restarts", 1), "unknown entries"),
    ("extra_nets", put("parameters.n_starts", 0), "n_starts"),
    *[("extra_nets", lambda parts, to=to: parts.model.update({"class": to}), to)
      for to in ("MCDropoutRegressor", "BootstrapNetsRegressor", "PBPRegressor", "DeltaMethodRegressor", "VariationalRegressor",
                 "MeanVarianceRegressor", "DeepEnsembleRegressor", "TableRegressor", "Predictor")],
    ("deep_ensemble", lambda parts: parts.model.update({"class": "MeanVarianceRegressor"}), "MeanVarianceRegressor"),
    # the list of parts
    *missing_and_unknown("extra_nets_cv_plus", "model", "model.units", "model.units.x", "model.source", "model.source.recipe",
                         NETWORKS, f"{NETWORKS}.members", f"{NETWORKS}.members.architecture", "model.noise", CV_PLUS,
                         "model.intervals.calibrated", "model.intervals.paper", "model.distribution"),
    *missing_and_unknown("bootstrap_jackknife", "model.source", "model.noise", JACKKNIFE, "model.intervals.averaged"),
    *missing_and_unknown("extra_nets_noise", "model.noise", NOISE),
    *missing_and_unknown("mc_dropout", "model.source", "model.conformal"),
    *missing_and_unknown("delta", "model.source", CURVATURE, "model.noise", "model.intervals.delta", "model.distribution"),
    *missing_and_unknown("pbp", "model.source", POSTERIOR),
    *missing_and_unknown("variational", "model.source", POSTERIOR),
    *missing_and_unknown("mean_variance", "model.noise"),
    ("extra_nets_cv_plus", put("model.interval", "wide"), "not one of those that were learned"),
    ("extra_nets_cv_plus", put("model.interval", 1), "interval is a int"),
    ("extra_nets_cv_plus", put("model.intervals", {"dict": []}), "not one of those that were learned"),
    ("extra_nets_cv_plus", put("model.intervals.total", {"object": ["Paper", {}]}), "under another name"),
    ("extra_nets_cv_plus", put("model.intervals.mine", {"object": ["Paper", {}]}), "under another name"),
    ("extra_nets_cv_plus", put("model.intervals.total", {"object": ["Normal", {}]}), "intervals is a dict"),
    ("extra_nets_cv_plus", put("model.intervals.delta", {"object": ["Delta", {}]}), "that this estimator does not have"),
    ("extra_nets_cv_plus", put("model.intervals.normal", {"object": ["BootstrapNormal", {}]}), "that this estimator does not have"),
    ("pbp", put("model.intervals.paper", {"object": ["Paper", {}]}), "that this estimator does not have"),
    ("extra_nets_cv_plus", put("model.distribution", {"object": ["Total", {}]}), "distribution is a Total"),
    ("extra_nets_cv_plus", put("model.noise", {"object": ["Total", {}]}), "noise is a Total"),
    ("extra_nets_cv_plus", put("model.source", {"object": ["Total", {}]}), "source is a Total"),
    ("extra_nets_cv_plus", put("model.units", None), "units is a NoneType"),
    ("extra_nets_cv_plus", put("model.units", {"object": ["Units of old", {}]}), "unknown class"),
    # parts of other estimators
    *[(name, of(other, "model.source"), "networks are not those|networks do not fit|not fit the features|another construction|no leverage")
      for name, other in [("bootstrap", "pbp"), ("bootstrap", "mc_dropout"), ("extra_nets_student", "pbp"), ("delta", "mc_dropout"),
                          ("mc_dropout", "delta"), ("variational", "pbp"), ("pbp", "variational"), ("mean_variance", "variational")]],
    *[(name, of(other, "model.noise"), "networks|noise that this estimator does not have")
      for name, other in [("extra_nets_encoded", "delta"), ("extra_nets_encoded", "bootstrap"), ("extra_nets_encoded", "mean_variance"),
                          ("bootstrap", "delta"), ("bootstrap", "variational"), ("bootstrap", "mean_variance"), ("delta", "variational"),
                          ("delta", "bootstrap"), ("mean_variance", "variational"), ("mean_variance", "bootstrap"),
                          ("variational", "extra_nets_noise"), ("mc_dropout", "extra_nets_noise"), ("mc_dropout", "delta"),
                          ("mc_dropout", "mean_variance"), ("extra_nets", "extra_nets_noise"), ("mean_variance", "extra_nets_noise")]],
    *[(name, of("extra_nets_encoded", "model.distribution"), "a distribution that this estimator does not have")
      for name in ("bootstrap", "mc_dropout", "delta", "variational", "mean_variance")],
    *[(name, of("extra_nets_encoded", "model.expected"), "expected scores, which this estimator")
      for name in ("bootstrap", "mc_dropout", "delta", "variational", "mean_variance")],
    ("bootstrap", of("extra_nets_cv_plus", CV_PLUS), "folds are kept of networks that predict in another way"),
    ("extra_nets_student", of("bootstrap_jackknife", JACKKNIFE), "does not fit the networks"),
    # units
    *shapes("extra_nets", "model.units.x.scale", other="different shapes", dtype="scale is a float32", negative=False)[:4],
    *[("extra_nets", array(f"model.units.{axis}.{what}", with_value(value)), "not usable")
      for axis in "xy" for what in ("centre", "scale") for value in (np.nan, np.inf, -np.inf)],
    ("extra_nets", array("model.units.x.scale", with_value(-1.0)), "not usable"),
    ("extra_nets", array("model.units.x.scale", with_value(1e-300)), "not usable"),
    ("extra_nets", array("model.units.x.scale", with_value(1e300)), "not usable"),
    *[("extra_nets", all_of(*(array(f"model.units.{axis}.{what}", lambda a: np.tile(a, 2)) for what in ("centre", "scale"))), message)
      for axis, message in (("x", "networks do not fit the features"), ("y", "several outputs"))],
    ("extra_nets", all_of(put("model.units.y_is_vector", False), array("model.units.y.centre", lambda a: np.tile(a, 2)),
                          array("model.units.y.scale", lambda a: np.tile(a, 2))), "networks do not fit the outputs"),
    ("deep_ensemble", put("model.units.y_is_vector", True), "several outputs"),
    ("extra_nets", put("model.units.y_is_vector", 1), "y_is_vector is a int"),
    # trained networks
    *shapes("extra_nets", f"{NETWORKS}.parameters", other="parameters do not fit", dtype="parameters is a float64", negative=False),
    ("extra_nets", array(f"{NETWORKS}.members.widths", lambda a: a + 1), "widths do not fit the masks"),
    ("extra_nets", array(f"{NETWORKS}.members.widths", lambda a: a.astype(np.int64)), "widths is a int64 array"),
    ("extra_nets", array(f"{NETWORKS}.members.masks", np.invert), "widths do not fit the masks"),
    ("extra_nets", array(f"{NETWORKS}.members.masks", lambda a: a[:, 1:]), "masks do not fit"),
    ("extra_nets", array(f"{NETWORKS}.members.ids", lambda a: a[::-1]), "ids are not those"),
    ("extra_nets", array(f"{NETWORKS}.members.ids", lambda a: a * 0), "ids are not those"),
    ("extra_nets", array(f"{NETWORKS}.members.ids", lambda a: a + 1), "ids are not those"),
    ("extra_nets", array(f"{NETWORKS}.members.ids", lambda a: a[0].reshape(())), "Members"),
    ("extra_nets", both_architectures(n_inputs=-2), "without units, or with too many"),
    ("extra_nets", both_architectures(n_inputs=3), "parameters do not fit"),
    ("extra_nets", both_architectures(n_outputs=2), "networks do not fit"),
    ("extra_nets", both_architectures(n_outputs=3), "neither n_outputs nor twice that"),
    ("extra_nets", both_architectures(hidden={"tuple": [2**31 - 1, 2]}), "masks do not fit"),
    ("extra_nets", put("model.source.recipe.architecture.n_inputs", 3), "two architectures"),
    ("extra_nets", put("model.source.recipe.architecture", None), "architecture is a NoneType"),
    ("extra_nets", put("model.source.recipe.seed", -1), "seed"),
    ("extra_nets", put("model.source.recipe.seed", 0.5), "seed is a float"),
    ("extra_nets", put("model.source.recipe.sampling", {"tuple": [[1]]}), "more than texts and numbers"),
    ("extra_nets", put("model.source.recipe.data", "text"), "data is a str"),
    ("extra_nets", put("model.source.n_drawn", 1), "more members"),
    ("extra_nets", array("model.source.restarts", lambda a: a[:1]), "restarts do not fit"),
    ("extra_nets", array("model.source.restarts", lambda a: a - 1), "restarts are negative"),
    ("extra_nets", array("model.source.loss_curve", lambda a: a[0]), "loss_curve does not fit"),
    ("extra_nets", array("model.source.loss_curve", lambda a: a[:1]), "loss_curve does not fit"),
    # encodings
    ("extra_nets_encoded", array("model.source.recipe.architecture.encoding.edges", lambda a: a[::-1]), "must increase"),
    ("extra_nets_encoded", array("model.source.recipe.architecture.encoding.edges", with_value(np.nan)), "must increase"),
    ("extra_nets_encoded", array("model.source.recipe.architecture.encoding.edges", lambda a: a[1:]), "offsets do not fit"),
    ("extra_nets_encoded", array("model.source.recipe.architecture.encoding.columns", lambda a: a + 1), "not there"),
    ("extra_nets_encoded", array("model.source.recipe.architecture.encoding.columns", lambda a: a - 1), "increasing and not negative"),
    ("extra_nets_periodic", array("model.source.recipe.architecture.encoding.frequencies", with_value(np.nan)), "finite"),
    ("extra_nets_periodic", array("model.source.recipe.architecture.encoding.frequencies", lambda a: a[:0]), "at least one"),
    # passes
    *[(name, put("model.source.n_passes", value), "n_passes")
      for name in ("mc_dropout", "variational", "pbp") for value in (0, -1, HUGE, 2.5, NAN, None, "many")],
    ("mc_dropout", put(f"{INSIDE}.recipe.options.dropout_keep", 0), "dropout_keep"),
    ("mc_dropout", put(f"{INSIDE}.recipe.options.dropout_keep", NAN), "dropout_keep"),
    ("mc_dropout", put(f"{INSIDE}.recipe.options.input_keep", 2.0), "input_keep"),
    ("mc_dropout", put(f"{INSIDE}.recipe.options.loss", "absolute"), "loss is a str"),
    ("mc_dropout", put(f"{INSIDE}.recipe.options.unknown", 1), "unknown entries"),
    ("mc_dropout", of("bootstrap", INSIDE), "not one network|networks do not fit|two architectures"),
    # the bootstrap
    ("bootstrap", of("delta", INSIDE), "not those of a bootstrap"),
    ("bootstrap", of("mc_dropout_calibrated", INSIDE), "not those of a bootstrap"),
    ("bootstrap", put("model.source.centre", "middle"), "no such centre"),
    ("bootstrap", put("model.source.centre", 1), "centre is a int"),
    ("bootstrap", put("model.noise.centre", "middle"), "other centres"),
    ("bootstrap", put("model.noise.variances", {"dict": []}), "other centres"),
    ("bootstrap", drop("model.noise.variances.full"), "other centres"),
    ("bootstrap", put("model.noise.variances.full", 1.0), "variances is a dict"),
    *shapes("bootstrap", "model.noise.variances.full", other="noise of 'full' has shape", dtype="variances is a dict"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.in_bag", lambda a: a[:1]), "does not fit the networks"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.in_bag", lambda a: a[:, 1:]), "does not fit the residuals"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.in_bag", lambda a: a[0]), "two axes"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.in_bag", np.ones_like), "not finite"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.in_bag", lambda a: a.astype(np.uint8)), "in_bag is a uint8"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.residuals", lambda a: a * np.nan), "not finite"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.residuals", lambda a: a[:, 0]), "two axes"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.residuals", lambda a: a[:, [0, 0]]), "does not fit the networks"),
    ("bootstrap_jackknife", array(f"{JACKKNIFE}.residuals", lambda a: a.astype(np.float32)), "residuals is a float32"),
    # noise
    *shapes("extra_nets_student", "model.noise.factor", other="noise has shape", dtype="factor is a float32"),
    *shapes("extra_nets", "model.noise.factor", other="noise has shape", dtype="factor is a float32"),
    *shapes("delta", "model.noise.factor", other="noise has shape", dtype="factor is a float32"),
    *shapes("extra_nets_noise", "model.noise.factor", other="noise has shape", dtype="factor is a float32"),
    *[case for name in ("intercept", "slope")
      for case in shapes("extra_nets_noise", f"{NOISE}.{name}", other=f"{name} does not fit", dtype=f"{name} is a float32",
                         negative=False)],
    ("extra_nets_noise", array(f"{NOISE}.intercept", with_value(900.0)), "too large"),
    ("extra_nets_noise", array(f"{NOISE}.slope", with_value(-900.0)), "too large"),
    ("extra_nets_noise", array(f"{NOISE}.lowest", with_value(900.0)), "a range is empty"),
    ("extra_nets_noise", array(f"{NOISE}.lowest", with_value(np.nan)), "a range"),
    ("extra_nets_noise", array(f"{NOISE}.highest", lambda a: np.tile(a, 2)), "a range does not fit"),
    ("extra_nets_noise", put(f"{NOISE}.ensemble", None), "ensemble is a NoneType"),
    ("extra_nets_noise", graft(parts_of("mc_dropout_calibrated"), f"{INSIDE}.ensemble", to=f"{NOISE}.ensemble"), "variance themselves"),
    ("mean_variance", of("deep_ensemble", "model"), "more than one network"),
    *shapes("extra_nets_noise", f"{NOISE}.ensemble.parameters", other="parameters do not fit", dtype="parameters is a float64",
            negative=False),
    # intervals that keep something
    *shapes("extra_nets_student", "model.intervals.calibrated.factors", other="calibration has shape", dtype="factors is a float32"),
    *shapes("extra_nets_cv_plus", f"{CV_PLUS}.calibrated.factors", other="calibration has shape", dtype="factors is a float32"),
    ("extra_nets_cv_plus", put(f"{CV_PLUS}.calibrated", {"object": ["Paper", {}]}), "calibrated is a Paper"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.fold_of_row", lambda a: a + 1), "folds that are not there"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.fold_of_row", lambda a: a - 1), "folds that are not there"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.fold_of_row", lambda a: a[1:]), "does not fit the residuals"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.fold_of_row", lambda a: a.astype(np.int32)), "fold_of_row is a int32"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.residuals", with_value(-1.0)), "negative"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.residuals", with_value(np.inf)), "not finite"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.residuals", lambda a: a[:, :1]), "do not fit the outputs"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.residuals", lambda a: a[:, 0]), "wrong shape"),
    ("extra_nets_cv_plus", array(f"{CV_PLUS}.residuals", lambda a: a[:0]), "wrong shape"),
    ("extra_nets_cv_plus", put(f"{CV_PLUS}.ensembles", []), "folds that are not there"),
    ("extra_nets_cv_plus", put(f"{CV_PLUS}.ensembles", {"tuple": []}), "ensembles is a tuple"),
    ("extra_nets_cv_plus", put(f"{CV_PLUS}.ensembles.1", None), "ensembles is a list"),
    ("extra_nets_cv_plus", lambda parts: parts.put(f"{CV_PLUS}.ensembles.0", _one_input_more(parts)), "another architecture"),
    # distribution, expected scores, conformal scores
    ("extra_nets_student", array("model.distribution.degrees", with_value(2.0)), "not above 2"),
    ("extra_nets_student", array("model.distribution.degrees", with_value(np.nan)), "not above 2"),
    ("extra_nets_student", array("model.distribution.degrees", with_value(np.inf)), "not above 2"),
    ("extra_nets_student", array("model.distribution.degrees", with_value(-3.0)), "not above 2"),
    ("extra_nets_student", array("model.distribution.degrees", lambda a: a[:1]), "do not fit the outputs"),
    ("extra_nets_student", array("model.distribution.degrees", lambda a: a[:, None]), "do not fit the outputs"),
    ("extra_nets_student", array("model.distribution.degrees", lambda a: a.astype(np.float32)), "degrees is a float32"),
    ("extra_nets_empirical", array("model.distribution.degrees", with_value(2.0)), "not above 2"),
    ("extra_nets_empirical", array("model.distribution.degrees", lambda a: a[:1]), "wrong shape"),
    ("extra_nets_empirical", array("model.distribution.values", with_value(np.nan)), "not finite"),
    ("extra_nets_empirical", array("model.distribution.values", with_value(1e300)), "do not ascend|mean and variance"),
    ("extra_nets_empirical", array("model.distribution.values", lambda a: a[:, ::-1]), "do not ascend"),
    ("extra_nets_empirical", array("model.distribution.values", lambda a: a + 0.1), "mean and variance are not 0 and 1"),
    ("extra_nets_empirical", array("model.distribution.values", lambda a: a[:, :50]), "wrong shape"),
    *shapes("extra_nets_student", "model.expected.rmse", other="rmse has shape", dtype="expected is a dict"),
    ("extra_nets_student", drop("model.expected.coverage"), "missing entries"),
    ("extra_nets_student", array("model.expected.coverage", with_value(1.5)), "coverage is above 1"),
    ("extra_nets_student", put("model.expected.r2", 1.0), "unknown entries|expected is a dict"),
    ("mc_dropout", array("model.conformal.scores", with_value(np.nan)), "scores are NaN"),
    ("mc_dropout", array("model.conformal.scores", lambda a: a[:0]), "wrong shape"),
    ("mc_dropout", array("model.conformal.scores", lambda a: a[:, None, None]), "wrong shape"),
    ("mc_dropout", array("model.conformal.scores", lambda a: a[:, None]), "do not fit the outputs"),
    ("bootstrap_two", array("model.conformal.scores", lambda a: a[:, 0]), "do not fit the outputs"),
    ("mc_dropout", array("model.conformal.scores", lambda a: a.astype(np.float32)), "scores is a float32"),
    ("mc_dropout", drop("model.conformal.construction.n_passes"), "another construction"),
    ("mc_dropout", put("model.conformal.construction.interval", []), "more than texts"),
    ("mc_dropout", put("model.conformal.construction.interval", 1), "interval is of another kind"),
    ("mc_dropout", put("model.conformal.construction.interval", "wide"), "unknown interval"),
    ("mc_dropout", put("model.conformal.construction.n_passes", "many"), "n_passes is of another kind"),
    *[("mc_dropout", put("model.conformal.construction.n_passes", value), "more than texts") for value in (0, NAN, True, 2.5)],
    ("delta", of("mc_dropout", "model.conformal"), "another construction"),
    # groups, weights and tails of conformal scores
    ("mc_dropout_strata", put(f"{STRATA}.tails", "both"), "tails of an unknown kind"),
    ("mc_dropout_strata", put(f"{STRATA}.names", None), "groups without names"),
    ("mc_dropout_strata", put(f"{STRATA}.group_of_row", None), "names without groups"),
    ("mc_dropout_strata", put(f"{STRATA}.names", [1, 2]), "names is a list"),
    ("mc_dropout_strata", put(f"{STRATA}.names", ["a", "a"]), "not unique"),
    ("mc_dropout_strata", put(f"{STRATA}.names", ["a"]), "groups that are not there"),
    ("mc_dropout_strata", put(f"{STRATA}.names", []), "missing or not unique"),
    ("mc_dropout_strata", array(f"{STRATA}.group_of_row", with_value(-1)), "groups that are not there"),
    ("mc_dropout_strata", array(f"{STRATA}.group_of_row", lambda a: a[1:]), "does not fit the rows"),
    ("mc_dropout_strata", array(f"{STRATA}.group_of_row", lambda a: a[None]), "wrong shape"),
    ("mc_dropout_strata", array(f"{STRATA}.weights", with_value(-1.0)), "not negative"),
    ("mc_dropout_strata", array(f"{STRATA}.weights", with_value(np.nan)), "finite"),
    ("mc_dropout_strata", array(f"{STRATA}.weights", lambda a: 0 * a), "all zero"),
    ("mc_dropout_strata", array(f"{STRATA}.weights", lambda a: a[1:]), "does not fit the rows"),
    ("mc_dropout_strata", array(f"{STRATA}.weights", lambda a: a[:, None]), "one column"),
    ("extra_nets_cv_plus", put(f"{CV_PLUS}.strata", {"object": ["Strata", SEPARATE]}), "without signs of residuals"),
    ("table", put("beside", {"dict": [["time", "day"]]}), "mean nothing"),
    # the delta method
    ("delta", put("model.source.curvatures", []), "one curvature for each output"),
    ("delta_two", lambda parts: parts.get("model.source.curvatures").pop(), "one curvature for each output"),
    ("delta", array(f"{CURVATURE}.root", lambda a: a[1:]), "square"),
    ("delta", array(f"{CURVATURE}.root", lambda a: a[0]), "square"),
    ("delta", array(f"{CURVATURE}.root", lambda a: a[1:, 1:]), "does not fit the network"),
    ("delta", array(f"{CURVATURE}.root", with_value(np.inf)), "not finite"),
    *[("delta", put(f"{CURVATURE}.{name}", value), name)
      for name in ("damping", "n_weak", "n_effective") for value in (-1, NAN, INFINITE, None)],
    ("delta", of("bootstrap", INSIDE), "not one network"),
    ("delta", of("mc_dropout_calibrated", INSIDE), "not one network"),
    # Gaussian weights
    *shapes("pbp", f"{POSTERIOR}.variance", other="variance does not fit", dtype="variance is a float32"),
    ("pbp", array(f"{POSTERIOR}.mean", lambda a: a[:, 1:]), "mean does not fit"),
    ("pbp", array(f"{POSTERIOR}.mean", with_value(np.nan)), "mean is not finite"),
    ("pbp", array(f"{POSTERIOR}.noise", lambda a: a[:, :1]), "two numbers"),
    ("pbp", put(f"{POSTERIOR}.architecture.n_inputs", 3), "mean does not fit"),
    ("pbp", put(f"{POSTERIOR}.architecture.n_heads", 2), "one output"),
    ("pbp", put(f"{POSTERIOR}.architecture.encoding", {"object": ["Periodic", {"columns": {"array": "c"}, "frequencies": {"array": "f"}}]}),
     "cannot be read"),
    ("pbp", lambda parts: _encode_nothing(parts, f"{POSTERIOR}.architecture"), "with an encoding"),
    ("variational", lambda parts: _encode_nothing(parts, f"{POSTERIOR}.members.architecture"), "with an encoding"),
    ("delta", lambda parts: (_encode_nothing(parts, f"{INSIDE}.recipe.architecture"),
                             _encode_nothing(parts, f"{INSIDE}.ensemble.members.architecture")), "with an encoding"),
    *[(name, put("model.source.seed", seed), "seed") for name in ("pbp", "variational") for seed in (-1, 0.5, None)],
    *shapes("variational", f"{POSTERIOR}.std", other="do not fit the members", dtype="std is a float64"),
    ("variational", array(f"{POSTERIOR}.noise_variance", lambda a: a[0]), "noise_variance does not fit"),
    ("variational", array(f"{POSTERIOR}.prior_variance", with_value(-1.0)), "prior_variance is negative"),
    ("variational", put(f"{POSTERIOR}.members.architecture.n_heads", 2), "n_heads must be n_outputs"),
    # stacks: what was trained
    ("stacked", put("extras.settings_", {"dict": []}), "missing entries"),
    *[("stacked", put("extras.settings_.n_folds", value), "so many folds cannot be") for value in (-1, 0, HUGE)],
    *[("stacked", put("extras.settings_.n_folds", value), "n_folds is a") for value in (2.5, NAN, True, None)],
    ("stacked", put("extras.settings_.noise_model", 1), "noise_model is a int"),
    ("stacked", put("extras.settings_.distribution", 1), "distribution is a int"),
    ("stacked", put("extras.settings_.distribution", "cauchy"), "there is no such distribution"),
    ("stacked", put("extras.settings_.more", 1), "unknown entries"),
    *[("stacked", put(MODELS, value), "models is a") for value in (None, 1, "ridge", {"dict": []}, {"tuple": []}, [1], [[]])],
    ("stacked", put(MODELS, []), "weights do not make one"),
    ("stacked", put(f"{MODELS}.0", {"dict": []}), "missing entries"),
    *[("stacked", drop(f"{MODELS}.1.{name}"), "missing entries") for name in ("hidden_layer_sizes", "weight", "r2")],
    ("stacked", put(f"{MODELS}.1.n_jobs", 1), "unknown entries"),
    *[("stacked", put(f"{MODELS}.1.{name}", value), f"{name} is a") for name in ("weight", "r2", "alpha", "learning_rate_init")
      for value in (None, "much", [], True)],
    *[("stacked", put(f"{MODELS}.1.{name}", value), f"{name} is a") for name in ("batch_size", "max_iter", "n_bins")
      for value in ("many", 1.5, NAN)],
    *[("stacked", put(f"{MODELS}.1.{name}", value), "negative or not finite") for name in ("weight", "alpha", "learning_rate_init")
      for value in (-1, NAN, INFINITE)],
    ("stacked", put(f"{MODELS}.1.batch_size", -1), "negative or not finite"),
    *[("stacked", put(f"{MODELS}.1.r2", value), "r2 cannot be") for value in (NAN, INFINITE, {"float": "-inf"}, 1.5)],
    ("stacked", put(f"{MODELS}.1.weight", 2), "weights do not make one"),
    *[("stacked", put(f"{MODELS}.1.hidden_layer_sizes", value), "hidden_layer_sizes is a") for value in (5, [5], {"tuple": ["5"]}, "auto")],
    ("stacked", put(f"{MODELS}.1.numeric_encoding", 1), "numeric_encoding is a int"),
    # and the stack
    *missing_and_unknown("stacked", "model.source", FOLDS, f"{FOLDS}.ensemble", f"{FOLDS}.ensemble.members.architecture"),
    *shapes("stacked", "model.source.weights", other="one weight for each", dtype="weights is a float32", negative=False)[:4],
    *[("stacked", array("model.source.weights", with_value(value)), "do not make one") for value in (np.nan, np.inf, -1.0, 0.0)],
    *shapes("stacked", f"{FOLDS}.ensemble.parameters", other="parameters do not fit", dtype="parameters is a float64", negative=False),
    ("stacked", array(f"{FOLDS}.ensemble.members.masks", np.invert), "widths do not fit the masks"),
    ("stacked", put(f"{FOLDS}.ensemble.members.architecture.n_outputs", 2), "neither n_outputs nor twice that|do not fit"),
    ("stacked", all_of(put("model.source.sources.0.ensemble.members.architecture.n_heads", 2),
                       array("model.source.sources.0.ensemble.parameters", lambda a: np.tile(a, 2))), "not networks of means"),
    *[("stacked", put(f"{FOLDS}.limit", value), "limit") for value in (0, -3.0, 1e7, NAN, INFINITE, "far", True)],
    ("stacked", put("model.source.sources", []), "one weight for each"),
    ("stacked", put(FOLDS, None), "sources is a list"),
    ("stacked", graft(parts_of("extra_nets_encoded"), "model.source", FOLDS), "not those of folds"),
    ("stacked", graft(parts_of("deep_ensemble"), "model.source", FOLDS), "do not go together"),
    ("stacked", graft(parts_of("delta"), "model.source", FOLDS), "not those of folds"),
    *[("stacked", of(name, "model.source"), "networks are not those|noise|do not fit") for name in ("extra_nets_encoded", "pbp", "delta")],
    *[(name, of("stacked", "model.source"), "networks are not those|another construction|networks do not fit")
      for name in ("extra_nets_encoded", "bootstrap", "mc_dropout", "variational", "pbp")],
    ("extra_nets_encoded", graft(parts_of("stacked"), FOLDS, "model.source"), "networks are not those"),
    ("stacked", lambda parts: parts.model.update({"class": "ExtraNetsRegressor"}), "ExtraNetsRegressor"),
    ("extra_nets_encoded", lambda parts: parts.model.update({"class": "StackedNetsRegressor"}), "StackedNetsRegressor"),
    # a table's regressor inside
    ("table", put("regressor.n_features", 3), "not fit the features"),
    ("table", put("regressor.feature_names", ["width", "depth"]), "the networks take another table"),
    ("table", put("schema.columns.0.name", "depth"), "the networks take another table"),
    ("table", put("feature_names", ["width", "depth"]), "the kinds are those of other columns"),
    ("table", put("regressor.model", None), "the model is missing"),
    ("table", put("regressor", None), "regressor is a NoneType"),
    ("table", array("regressor.model.noise.factor", with_value(-1.0)), "noise is negative"),
]  # fmt: skip


def _one_input_more(parts):
    """A fold's networks with another architecture, in which everything else fits."""
    fold = parts.get(f"{CV_PLUS}.ensembles.0")
    members = fold["object"][1]["members"]["object"][1]
    members["architecture"]["object"][1]["n_inputs"] += 1
    parameters = fold["object"][1]["parameters"]["array"]
    more = members_of(parts, members) * 3  # units of the hidden layer, if none is masked
    kept = int(parts.array(members["widths"]["array"]).sum())
    assert kept <= more
    parts.set_array(parameters, np.resize(parts.array(parameters), len(parts.array(parameters)) + kept))
    return fold


def members_of(parts, members):
    return len(parts.array(members["ids"]["array"]))


def _encode_nothing(parts, way):
    """An encoding of no column, with which all sizes still fit."""
    parts.set_array("empty", np.empty(0, np.int32))
    parts.set_array("frequency", np.ones(1, np.float32))
    fields = {"columns": {"array": "empty"}, "frequencies": {"array": "frequency"}}
    parts.put(f"{way}.encoding", {"object": ["Periodic", fields]})
