"""What the extension refuses: whatever would lead a kernel out of its arrays, by the name of the argument."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from extranets.engine import _native
from tests.engine import native_calls as calls

F32, I32, I64 = np.float32, np.int32, np.int64
WORKING = {
    "train": ("train", calls.train()),
    "train, Gaussian": ("train", calls.train(calls.bins(), loss=1, warm_up_epochs=1, validation_fraction=0.3)),
    "train, a part": ("train", calls.stretch(calls.bins())),
    "train_all": ("train_all", calls.train_all()),
    "train_variational": ("train_variational", calls.train_variational()),
    "gradient": ("gradient", calls.gradient(calls.waves())),
    "pbp_train": ("pbp_train", calls.pbp_train()),
    "pbp_moments": ("pbp_moments", calls.pbp_moments()),
    "forward": ("forward", calls.forward(calls.bins())),
    "forward, thinned": ("forward", calls.forward(None, calls.passes())),
    "moments": ("moments", calls.moments(calls.waves())),
    "jacobian": ("jacobian", calls.jacobian(calls.bins())),
    "random_words": ("random_words", calls.random_words()),
    "random_normals": ("random_normals", calls.random_normals()),
}


@pytest.mark.parametrize(("name", "arguments"), WORKING.values(), ids=WORKING.keys())
def test_what_the_others_spoil_works(name, arguments):
    calls.call(_native, name, arguments)


def refuses(name, arguments, message, error=ValueError):
    with pytest.raises(error, match=message):
        calls.call(_native, name, arguments)


# -- training ----------------------------------------------------------------------------------------------------------

OFFSETS = calls.train()["offsets"]
SIZE = int(OFFSETS[-1])
COUNTS = calls.train()["counts"]
TRAINING = {
    "offsets before the array": ({"offsets": OFFSETS - 5}, "offsets must start at 0"),
    "offsets behind the array": ({"offsets": OFFSETS * np.array([1, 1, 2])}, "parameters is too small"),
    "offsets that fall": ({"offsets": np.array([0, SIZE, SIZE - 1])}, "offsets must increase"),
    "offsets of another network": ({"offsets": OFFSETS + np.array([0, 1, 0])}, "offsets do not fit widths"),
    "few offsets": ({"offsets": OFFSETS[:2]}, "offsets one number more"),
    "few parameters": ({"parameters": np.empty(SIZE - 1, F32)}, "parameters is too small"),
    "a unit less": ({"widths": calls.WIDTHS - 1}, "offsets do not fit widths"),
    "a layer without units": ({"widths": calls.WIDTHS * 0}, "widths: every hidden layer needs a unit"),
    "negative units": ({"widths": -calls.WIDTHS}, "widths: every hidden layer needs a unit"),
    "units beyond 32 bits": ({"widths": np.full((2, 2), 2**31 - 1, I32)}, "widths: a network has more than 2\\^28"),
    "too deep": ({"widths": np.ones((2, 64), I32)}, "widths: too many hidden layers"),
    "members without widths": (
        {"members": np.zeros(3, np.uint32), "counts": None},
        "widths needs one row per member",
    ),
    "a column more": ({"X": np.zeros((13, 4), F32), "adversarial": None}, "offsets do not fit"),
    "an output less": ({"y": np.zeros((13, 1), F32)}, "offsets do not fit"),
    "no outputs": ({"y": np.zeros((13, 0), F32)}, "y: a network needs an output"),
    "no columns": ({"X": np.zeros((13, 0), F32), "adversarial": None}, "X: a network needs an input"),
    "no rows": ({"X": np.zeros((0, 3), F32), "y": np.zeros((0, 2), F32)}, "X: between one row and"),
    "rows of y": ({"y": np.zeros((12, 2), F32)}, "same number of rows"),
    "few weights": ({"weight": np.ones(12, F32)}, "weight must have one entry per row"),
    "few steps": ({"adversarial": np.ones(2, F32)}, "adversarial must have one step per column"),
    "counts of other rows": ({"counts": COUNTS[:, :12].copy()}, "counts has the wrong shape"),
    "counts without count_rows": ({"count_rows": None}, "counts has the wrong shape"),
    "a sample behind counts": ({"count_rows": np.array([2, -1], I32)}, "count_rows points outside counts"),
    "a sample before counts": ({"count_rows": np.array([-2, -1], I32)}, "count_rows points outside counts"),
    "an empty sample": ({"counts": COUNTS * np.uint16(0)}, "counts: a sample without rows"),
    "few epochs of losses": ({"loss_curve": np.empty((2, 2), F32)}, "loss_curve: one row per member"),
    "few scalars": ({"scalars": np.empty((2, 2))}, "scalars: one row per member"),
    "few integers": ({"integers": np.empty((1, 3), I32)}, "integers: one row per member"),
    "no threads": ({"n_threads": 0}, "n_threads must be positive"),
    "negative threads": ({"n_threads": -1}, "n_threads must be positive"),
}


@pytest.mark.parametrize(("changes", "message"), TRAINING.values(), ids=TRAINING.keys())
def test_training_refuses(changes, message):
    refuses("train", calls.train() | changes, message)


STRETCHES = calls.stretch()["stretches"]
STRETCH = {
    "few moments": ({"first": np.zeros(SIZE - 1, F32)}, "first or second is too small"),
    "few second moments": ({"second": np.zeros(SIZE - 1, F32)}, "first or second is too small"),
    "no second moments": ({"second": None}, "are given together"),
    "moments alone": ({"stretches": None}, "are given together"),
    "stretches of one member": ({"stretches": STRETCHES[:1]}, "stretches: four numbers for each member"),
    "three numbers": ({"stretches": STRETCHES[:, :3].copy()}, "stretches: four numbers for each member"),
    "a negative step": ({"stretches": STRETCHES - np.array([0, 0, 6, 0])}, "stretches: the step must be"),
    "after the last step": ({"stretches": STRETCHES + np.array([0, 0, 15, 0])}, "stretches: the step must be"),
    "many attempts": ({"stretches": STRETCHES + np.array([2**24, 0, 0, 0])}, "stretches: an attempt must be"),
    "a negative number": ({"stretches": STRETCHES - np.array([0, 3, 0, 0])}, "stretches: a number must be"),
    "two epochs": ({"options": calls.OPTIONS | {"n_epochs": 2}, "loss_curve": np.empty((2, 2), F32)}, "is one epoch"),
    "two starts": ({"options": calls.OPTIONS | {"n_epochs": 1, "n_starts": 2}}, "is one epoch of one start"),
    "validation": ({"options": calls.OPTIONS | {"n_epochs": 1, "validation_fraction": 0.5}}, "without validation"),
}


@pytest.mark.parametrize(("changes", "message"), STRETCH.values(), ids=STRETCH.keys())
def test_a_part_of_a_training_refuses(changes, message):
    refuses("train", calls.stretch() | changes, message)


def shares(output, other):
    """Changes the second training: its output lies in the memory of an array of the first one."""

    def change(plain, bins):
        array = plain[other]
        size = bins[output].nbytes
        bins[output] = array.reshape(-1).view(np.uint8)[:size].view(bins[output].dtype).reshape(bins[output].shape)

    return change


SEVERAL = {
    "outputs of two trainings": (shares("scalars", "scalars"), "scalars and scalars share memory"),
    "an output and another's input": (shares("integers", "counts"), "integers and counts share memory"),
    "one that is wrong": (lambda plain, bins: bins.update(offsets=OFFSETS), "offsets do not fit widths"),
    "one without epochs": (lambda plain, bins: bins["options"].update(n_epochs=0), "n_epochs and n_starts must be"),
    "a column less": (lambda plain, bins: bins["encoding"].update(columns=np.array([0, 3], I32)), "is not in X"),
}


@pytest.mark.parametrize(("change", "message"), SEVERAL.values(), ids=SEVERAL.keys())
def test_several_trainings_refuse(change, message):
    arguments = copy.deepcopy(calls.train_all())
    plain, bins, *_ = arguments["trainings"].values()
    change(plain, bins)
    before = plain["parameters"].copy()
    refuses("train_all", arguments, message)
    np.testing.assert_array_equal(plain["parameters"], before)  # nothing was trained


@pytest.mark.parametrize("trainings", [None, 5, [None], [5], ["training"]])
def test_what_is_no_training_is_refused(trainings):
    with pytest.raises(TypeError, match="incompatible"):
        _native.train_all(trainings, 1, None)


def test_arrays_are_checked_when_they_are_used():
    """What was fine when the training was made may have changed since."""
    arguments = calls.training()
    training = calls.call(_native, "Training", arguments)
    arguments["offsets"][:] = [0, 10**9, 2 * 10**9]
    with pytest.raises(ValueError, match="parameters is too small for offsets"):
        _native.train_all([training], 1, None)


def test_trainings_may_go_while_they_run():
    """The callback is Python's and may do anything, so the call keeps what it needs."""
    n_epochs, seen = 50_000, []
    arguments = calls.training(calls.bins(), n_epochs=n_epochs) | {"loss_curve": np.empty((2, n_epochs), F32)}
    trainings = [calls.call(_native, "Training", arguments)]

    def clear(done):
        trainings.clear()
        arguments.clear()
        seen.append(done)

    _native.train_all(trainings, 2, clear)
    assert seen[0] < 1


VARIATIONAL = {
    "offsets before the array": ({"offsets": OFFSETS - 5}, "offsets must start at 0"),
    "small mean": ({"mean": np.empty(SIZE - 1, F32)}, "mean or std is too small"),
    "small std": ({"std": np.empty(0, F32)}, "mean or std is too small"),
    "noise of other outputs": ({"noise_variance": np.empty((2, 3), F32)}, "noise_variance: one row per member"),
    "few priors": ({"prior_variance": np.empty(1, F32)}, "prior_variance, outcomes"),
    "few outcomes": ({"outcomes": np.empty(1, I32)}, "prior_variance, outcomes"),
}


@pytest.mark.parametrize(("changes", "message"), VARIATIONAL.values(), ids=VARIATIONAL.keys())
def test_variational_inference_refuses(changes, message):
    refuses("train_variational", calls.train_variational() | changes, message)


INF, NAN = float("inf"), float("nan")
OPTIONS = [
    ("loss", 2, "loss: no such code"),
    ("loss", -1, "loss: no such code"),
    ("schedule", 3, "schedule: no such code"),
    ("n_epochs", 0, "n_epochs and n_starts must be positive"),
    ("n_epochs", 2**31 - 1, "loss_curve"),
    ("batch_size", -4, "batch_size, n_epochs and n_starts must be positive"),
    ("n_starts", 0, "must be positive"),
    ("n_starts", 2**31 - 1, "n_starts and max_restarts must be at most"),
    ("max_restarts", 2**31 - 1, "n_starts and max_restarts must be at most"),
    ("max_restarts", -1, "must not be negative"),
    ("warm_up_epochs", -1, "must not be negative"),
    ("patience", -1, "must not be negative"),
    ("learning_rate", NAN, "learning_rate must be finite"),
    ("learning_rate", -0.1, "learning_rate must be finite"),
    ("learning_rate", 1e300, "learning_rate must be finite"),
    ("epsilon", INF, "epsilon must be finite"),
    ("weight_decay", -1.0, "weight_decay must be finite"),
    ("beta1", 1.0, "beta1 and beta2"),
    ("beta2", NAN, "beta1 and beta2"),
    ("max_grad_norm", NAN, "max_grad_norm must not be negative"),
    ("dropout_keep", 0.0, "dropout_keep and input_keep"),
    ("input_keep", NAN, "dropout_keep and input_keep"),
    ("input_keep", 1.5, "dropout_keep and input_keep"),
    ("validation_fraction", 1e30, "validation_fraction must be at least 0"),
    ("validation_fraction", NAN, "validation_fraction must be at least 0"),
    ("validation_fraction", -0.1, "validation_fraction must be at least 0"),
    ("tolerance", NAN, "tolerance and collapse_r2"),
    ("collapse_r2", NAN, "tolerance and collapse_r2"),
]


@pytest.mark.parametrize(("name", "value", "message"), OPTIONS)
def test_options_refuse(name, value, message):
    refuses("train", calls.train() | {"options": calls.OPTIONS | {name: value}}, message)


@pytest.mark.parametrize(("name", "value"), [("seed", -1), ("seed", 2**64), ("n_epochs", 2**31), ("patience", "5")])
def test_options_of_another_type_are_refused(name, value):
    refuses("train", calls.train() | {"options": calls.OPTIONS | {name: value}}, name, TypeError)


def test_a_sample_of_2_to_the_32_rows_is_refused():
    """Places in the sample are numbers of 32 bits. 2^16 + 2 rows, each counted 2^16 - 1 times, are just too many."""
    n = 2**16 + 2
    X, y = np.zeros((n, 3), F32), np.zeros((n, 2), F32)
    counts = np.full((1, n), 2**16 - 1, np.uint16)
    table = {"X": X, "y": y, "weight": None, "counts": counts, "count_rows": np.array([-1, 0], I32)}
    for name in ("train", "train_variational", "pbp_train"):
        refuses(name, getattr(calls, name)() | table, "counts: a sample has 2\\^32 rows or more")


def test_a_batch_of_2_to_the_31_predictions_is_refused():
    """2^16 rows counted 2^15 times, with adversarial ones beside them, would make one batch of 2^32 rows."""
    n = 2**16
    table = {"X": np.zeros((n, 3), F32), "y": np.zeros((n, 2), F32), "weight": None}
    samples = {"counts": np.full((1, n), 2**15, np.uint16), "count_rows": np.zeros(2, I32)}
    refuses("train", calls.train(batch_size=2**31 - 1) | table | samples, "batch_size: a batch has 2\\^31 predictions")


# -- arrays ------------------------------------------------------------------------------------------------------------


def shifted(a):
    """The same numbers one byte further in memory than their type allows."""
    out = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


ARRAYS = {
    "another type": ("parameters", lambda a: a.astype(np.float64), TypeError, "incompatible"),
    "an input of another type": ("X", lambda a: a.astype(np.float64), TypeError, "incompatible"),
    "ids that would wrap": ("members", lambda a: a.astype(I64) - 1, TypeError, "incompatible"),
    "the other byte order": ("X", lambda a: a.astype(">f4"), TypeError, "incompatible"),
    "every second number": ("parameters", lambda a: np.repeat(a, 2)[::2], TypeError, "incompatible"),
    "columns first": ("loss_curve", lambda a: np.asfortranarray(a), TypeError, "incompatible"),
    "one axis less": ("scalars", lambda a: a.ravel(), TypeError, "incompatible"),
    "a list": ("X", lambda a: a.tolist(), TypeError, "incompatible"),
    "None": ("X", lambda a: None, TypeError, "incompatible"),
    "read-only output": ("integers", read_only, TypeError, "incompatible"),
    "numbers between their places": ("y", shifted, ValueError, "y: its numbers are not aligned"),
    "output between its places": ("scalars", shifted, ValueError, "scalars: its numbers are not aligned"),
}


@pytest.mark.parametrize(("name", "change", "error", "message"), ARRAYS.values(), ids=ARRAYS.keys())
def test_arrays_are_taken_as_they_are_or_refused(name, change, error, message):
    """A converted output would be filled and thrown away, so nothing is converted."""
    arguments = calls.train()
    refuses("train", arguments | {name: change(arguments[name])}, message, error)


def test_read_only_inputs_are_fine():
    arguments = calls.train()
    inputs = {name: read_only(arguments[name]) for name in ("X", "y", "weight", "counts", "offsets", "widths")}
    calls.call(_native, "train", arguments | inputs)
    writable = calls.train()
    calls.call(_native, "train", writable)
    np.testing.assert_array_equal(arguments["parameters"], writable["parameters"])


def overlapping(shape, other, dtype):
    """An array in the last bytes of another."""
    n = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return other.reshape(-1).view(np.uint8)[-n:].view(dtype).reshape(shape)


OVERLAPS = {
    "two outputs": (
        "train",
        lambda a: {"loss_curve": overlapping((2, 3), a["parameters"], F32)},
        "loss_curve and parameters",
    ),
    "an output and an input": ("train", lambda a: {"integers": overlapping((2, 3), a["X"], I32)}, "integers and X"),
    "mean and std": ("train_variational", lambda a: {"std": a["mean"]}, "std and mean"),
    "the gradient and its network": ("gradient", lambda a: {"out": a["parameters"]}, "out and parameters"),
    "both gamma distributions": ("pbp_train", lambda a: {"prior": a["noise"]}, "prior and noise"),
    "both moments": ("pbp_moments", lambda a: {"variance": a["mean"]}, "variance and mean"),
    "a posterior and its moments": (
        "pbp_moments",
        lambda a: {"mean": overlapping((2, 13), a["weight_mean"], float)},
        "mean and weight_mean",
    ),
    "moments of an ensemble": ("moments", lambda a: {"mean_variance": a["mean"]}, "mean_variance and mean"),
}


@pytest.mark.parametrize(("name", "change", "message"), OVERLAPS.values(), ids=OVERLAPS.keys())
def test_outputs_share_no_memory(name, change, message):
    arguments = getattr(calls, name)()
    refuses(name, arguments | change(arguments), f"{message} share memory")


# -- encodings ---------------------------------------------------------------------------------------------------------

ENCODINGS = {
    "kind": ({"kind": 2}, "kind: unknown encoding"),
    "a negative kind": ({"kind": -1}, "kind: unknown encoding"),
    "no columns": ({"columns": np.empty(0, I32), "first": np.zeros(1, I32)}, "needs columns"),
    "a late start": ({"first": np.array([1, 3, 6], I32)}, "needs columns"),
    "few starts": ({"first": np.array([0, 5], I32)}, "needs columns"),
    "no bins": ({"first": np.array([0, 0, 5], I32)}, "too few or too many"),
    "starts that fall": ({"first": np.array([0, 5, 2], I32)}, "too few or too many"),
    "starts that overflow": ({"first": np.array([0, 2, -(2**31)], I32)}, "too few or too many"),
    "more bins than a byte counts": ({"first": np.array([0, 2, 258], I32)}, "too few or too many"),
    "a column twice": ({"columns": np.array([1, 1], I32)}, "columns must increase"),
    "a negative column": ({"columns": np.array([-1, 1], I32)}, "columns: a column is not in X"),
    "a column behind X": ({"columns": np.array([0, 3], I32)}, "encoding: an encoded column is not in X"),
    "few edges": ({"numbers": np.arange(6, dtype=F32)}, "numbers: a column needs one edge more"),
    "equal edges": ({"numbers": np.array([0, 1, 1, 0, 1, 2, 3], F32)}, "edges must increase"),
    "NaN": ({"numbers": np.array([0, 1, 2, 0, 1, np.nan, 3], F32)}, "edges must increase"),
}


@pytest.mark.parametrize(("changes", "message"), ENCODINGS.values(), ids=ENCODINGS.keys())
def test_encodings_refuse(changes, message):
    refuses("train", calls.train(calls.bins()) | {"encoding": calls.bins() | changes}, message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first": np.array([0, 3, 6], I32)}, "too few or too many"),  # a sine without its cosine
        ({"numbers": np.empty(0, F32)}, "too few or too many"),
        ({"numbers": np.array([0.5, np.inf], F32)}, "frequencies must be finite"),
    ],
)
def test_periodic_encodings_refuse(changes, message):
    refuses("gradient", calls.gradient(calls.waves()) | {"encoding": calls.waves() | changes}, message)


def test_nan_and_infinity_in_encoded_columns_stay_in_bounds():
    """Whatever comes out: bins and places are those of the table's edges."""
    for encoding in (calls.bins(), calls.waves()):
        arguments = calls.train(encoding)
        arguments["X"][:3] = [[np.nan] * 3, [np.inf] * 3, [-np.inf] * 3]
        calls.call(_native, "train", arguments)
        assert set(arguments["integers"][:, 2]) == {2}  # not finite, and said so


def test_an_encoding_and_an_ensemble_keep_their_own_numbers():
    """The caller may change its arrays afterwards."""
    parts = calls.bins()
    ensemble = calls.packed(calls.bins())
    ensemble["encoding"] = _native.Encoding(**parts)
    packed = _native.Packed(**ensemble)
    X, before, after = calls.forward()["X"], *(np.empty((2, 13, 2), F32) for _ in range(2))
    packed.forward(X, before, 1)
    for array in (parts["columns"], parts["first"], ensemble["widths"]):
        array[:] = 2**31 - 1
    parts["numbers"][:] = np.nan
    ensemble["parameters"][:] = np.nan
    packed.forward(X, after, 1)
    np.testing.assert_array_equal(after, before)


# -- forward passes ----------------------------------------------------------------------------------------------------

PACKED = {
    "more outputs than heads": ({"n_outputs": 5, "n_heads": 1}, "n_heads must be n_outputs or twice that"),
    "heads between": ({"n_heads": 3}, "n_heads must be n_outputs or twice that"),
    "heads that overflow": ({"n_outputs": 2**30 + 1, "n_heads": -(2**31) + 2}, "n_heads must be"),
    "no outputs": ({"n_outputs": 0, "n_heads": 0}, "n_inputs and n_outputs must be positive"),
    "negative inputs": ({"n_inputs": -3}, "n_inputs and n_outputs must be positive"),
    "inputs beyond 32 bits": ({"n_inputs": 2**31 - 1}, "more than 2\\^28"),
    "too many heads": ({"n_outputs": 2**25, "n_heads": 2**25}, "too many outputs"),
    "no members": ({"widths": np.empty((0, 2), I32)}, "widths: an ensemble needs a member"),
    "members of no size": ({"widths": np.empty((2**40, 0), I32)}, "widths: too many members"),
    "many members of no size": ({"widths": np.empty((2**30, 0), I32)}, "parameters do not fit widths"),
    "a parameter less": ({"parameters": np.zeros(10, F32)}, "parameters do not fit widths"),
}


@pytest.mark.parametrize(("changes", "message"), PACKED.values(), ids=PACKED.keys())
def test_ensembles_refuse(changes, message):
    refuses("Packed", calls.packed() | changes, message)


PASSES = {
    "no passes": ({"pass_ids": []}, "pass_ids: at least one pass"),
    "keep 0": ({"dropout_keep": 0.0}, "dropout_keep must be above 0"),
    "keep NaN": ({"input_keep": NAN}, "input_keep must be above 0"),
    "keep 2": ({"dropout_keep": 2.0}, "dropout_keep must be above 0"),
}


@pytest.mark.parametrize(("changes", "message"), PASSES.values(), ids=PASSES.keys())
def test_passes_refuse(changes, message):
    refuses("forward", calls.forward(None, calls.passes() | changes), message)


PREDICTIONS = [
    ("forward", {"X": np.zeros((13, 2), F32)}, "X has the wrong number of columns"),
    ("forward", {"out": np.empty((3, 13, 2), F32)}, "out has the wrong shape"),
    ("forward", {"out": np.empty((2, 12, 2), F32)}, "out has the wrong shape"),
    ("forward", {"n_threads": 0}, "n_threads must be positive"),
    ("moments", {"mean": np.empty((13, 1))}, "mean or variance has the wrong shape"),
    ("moments", {"mean_variance": np.empty((12, 2))}, "mean_variance has the wrong shape"),
    ("moments", {"packed": calls.packed()}, "the networks predict no variance"),
    ("jacobian", {"head": 2}, "head: one member and one of its heads"),
    ("jacobian", {"head": -1}, "head: one member and one of its heads"),
    ("jacobian", {"packed": calls.packed()}, "head: one member and one of its heads"),
    ("jacobian", {"out": np.empty((13, 5), F32)}, "out has the wrong shape"),
    ("gradient", {"out": np.empty(5, F32)}, "parameters or out do not fit widths"),
    ("gradient", {"widths": np.full(63, 2**31 - 1, I32)}, "widths: a network has more than"),
    ("pbp_moments", {"X": np.zeros((13, 2), F32)}, "X has the wrong number of columns"),
    ("pbp_moments", {"hidden": np.array([5, 0], I32)}, "hidden: every hidden layer needs a unit"),
    ("pbp_moments", {"weight_variance": np.zeros((2, 3))}, "weight_variance must have the shape"),
    ("pbp_moments", {"mean": np.empty((2, 12))}, "mean, variance: the wrong shape"),
    ("pbp_moments", {"n_threads": -7}, "n_threads must be positive"),
    ("pbp_train", {"targets": np.array([0, 2], I32)}, "targets points outside y"),
    ("pbp_train", {"targets": np.array([0, -1], I32)}, "targets points outside y"),
    ("pbp_train", {"n_passes": 0}, "n_passes must be positive"),
    ("pbp_train", {"noise": np.ones((2, 3))}, "noise, prior: one row per member"),
    ("pbp_train", {"weight": np.full(13, np.nan, F32)}, "counts, weight: a sample without rows"),
    ("random_words", {"attempt": 2**24}, "attempt must be below"),
    ("random_normals", {"purpose": 256}, "purpose must be below"),
]


@pytest.mark.parametrize(("name", "changes", "message"), PREDICTIONS)
def test_other_functions_refuse(name, changes, message):
    refuses(name, getattr(calls, name)() | changes, message)


@pytest.mark.parametrize("seconds", [NAN, float("inf"), -1.0])
def test_the_yardstick_ends(seconds):
    with pytest.raises(ValueError, match="seconds must lie between"):
        _native.fma_peak(seconds)


def test_memory_that_no_machine_has_is_a_memory_error():
    """A mini-batch of 2^20 rows with 2^26 units needs 2^49 bytes, more than a process can address."""
    n, width = 2**20, 2**26 - 1
    arguments = calls.train(batch_size=n) | {
        "X": np.zeros((n, 1), F32),
        "y": np.zeros((n, 1), F32),
        "weight": None,
        "adversarial": None,
        "counts": None,
        "members": np.zeros(1, np.uint32),
        "widths": np.array([[width]], I32),
        "offsets": np.array([0, 3 * width + 1], I64),
        "parameters": np.empty(3 * width + 1, F32),
        "loss_curve": np.empty((1, 3), F32),
        "scalars": np.empty((1, 3)),
        "integers": np.empty((1, 3), I32),
    }
    refuses("train", arguments, None, MemoryError)


def test_more_threads_than_any_machine_has_are_fine():
    calls.call(_native, "train", calls.train() | {"n_threads": 2**31 - 1})
    X, out = np.zeros((100_000, 3), F32), np.empty((2, 100_000, 2), F32)
    calls.call(_native, "forward", calls.forward() | {"X": X, "out": out, "n_threads": 2**31 - 1})
    assert np.ptp(out, axis=1).max() == 0


def test_objects_that_were_never_made_are_refused():
    with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
        _native.Packed.__new__(_native.Packed).forward(calls.forward()["X"], calls.forward()["out"], 1)
