"""One object to a file and back, and what the file says about itself."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

from extranets.model_file import container, registry, strict_json
from extranets.model_file.codec import Decoder, Encoder
from extranets.model_file.container import Header
from extranets.model_file.errors import ModelFileError

SHOWN = ("parameters", "feature_names", "fit_info", "schema")  # entries of an object that `read_info` gives
KEYS = {"class", "stored", "provenance", "about"}
# Read once, on import: looking a version up opens files, and a save must not need more of those than its own.
_SOFTWARE = {name: version(name) for name in ("extranets", "numpy", "scikit-learn")} | {
    "python": platform.python_version()
}

Path = str | os.PathLike[str]


def save(value: Any, path: Path, *, about: dict[str, Any] | None = None) -> None:
    """Write a storable object to a file. A failure leaves the old file as it was.

    Parameters
    ----------
    value : object of a storable class
    path : path of the file, usually ``*.xnet``; an existing file is replaced
    about : dict, optional
        Anything else worth knowing, in JSON's types: texts, finite numbers, truth values, None, lists, and dicts with
        text keys.
    """
    parts = registry.take_apart(value)
    if parts is None:
        raise TypeError(f"{type(value)} cannot be saved to a model file.")
    name, fields = parts
    encoder = Encoder()
    model = {
        "class": name,
        "stored": encoder.fields(fields, ""),
        "provenance": _provenance(),
        "about": _checked_about(about),
    }
    container.write(path, strict_json.dumps(model), encoder.arrays)


def load(path: Path) -> Any:
    """Load a model that ``save`` wrote.

    No code from the file is run. Every size is compared with the size of the file before memory is taken, a digest finds every
    flipped bit, and every shape is checked before the model is made.

    Parameters
    ----------
    path : path of a model file

    Returns
    -------
    estimator
        Fitted, with the class and the parameters of the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or was written by a newer version of the format.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import extranets, os, tempfile
    >>> from extranets.data import linear_process
    >>> X_train, y_train, X_test, y_test = linear_process(300, random_state=0).split(200)
    >>> model = extranets.ExtraNetsRegressor(n_estimators=5, max_iter=40, random_state=0).fit(X_train, y_train)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.xnet")
    ...     model.save(path)
    ...     again = extranets.load(path)
    >>> bool((again.predict_interval(X_test) == model.predict_interval(X_test)).all())
    True
    """
    with _named(path):
        header, arrays = container.read(path)
        model = _parse(header)
        decoder = Decoder(arrays, registry.rebuild)
        value = registry.rebuild(model["class"], decoder.fields(model["stored"]))
        if decoder.used != arrays.keys():
            raise ModelFileError(f"it holds arrays that nothing refers to: {sorted(arrays.keys() - decoder.used)[:3]}")
        return value


def read_info(path: Path) -> dict[str, Any]:
    """What a model file says about itself. Its arrays are not read, so flipped bits go unnoticed.

    Parameters
    ----------
    path : path of a model file

    Returns
    -------
    dict
        ``format_version``; ``class``; ``parameters``, ``feature_names``, ``fit_info`` and ``schema``, None where there is no
        such thing; ``arrays`` (by name: dtype, shape and bytes); ``provenance`` (versions, platform, time of saving);
        ``about`` (what the caller of ``save`` added).

    Raises
    ------
    ModelFileError
        As for :func:`load`.

    Examples
    --------
    >>> import extranets, os, tempfile
    >>> from extranets.data import linear_process
    >>> X, y, _, _ = linear_process(300, random_state=0).split(200)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.xnet")
    ...     extranets.PBPRegressor(max_iter=5, random_state=0).fit(X, y).save(path, about={"table": "simulated"})
    ...     info = extranets.model_file.read_info(path)
    >>> info["class"], info["parameters"]["max_iter"], info["fit_info"]["n_rows"], info["about"]
    ('PBPRegressor', 5, 200, {'table': 'simulated'})
    """
    with _named(path):
        header = container.read_header(path)
        model = _parse(header)
        described = {
            name: {"dtype": str(place.dtype), "shape": place.shape, "bytes": place.n_bytes}
            for name, place in header.places.items()
        }
        decoder = Decoder(described, lambda name, fields: {"class": name, **fields})
        stored = {name: decoder.decode(tree) for name, tree in model["stored"].items() if name in SHOWN}
        return {
            "format_version": header.version,
            "class": model["class"],
            **{name: stored.get(name) for name in SHOWN},
            "arrays": described,
            "provenance": model["provenance"],
            "about": model["about"],
        }


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Messages begin with the name of the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be read as a model: {str(error).rstrip('.')}.") from error


def _parse(header: Header) -> dict[str, Any]:
    model = strict_json.loads(header.model)
    if not isinstance(model, dict) or model.keys() != KEYS:
        raise ModelFileError("its header is not that of a model")
    kinds = {"class": str, "stored": dict, "provenance": dict, "about": dict}
    for key, kind in kinds.items():
        if not isinstance(model[key], kind):
            raise ModelFileError(f"its header has no valid entry {key!r}")
    return model


def _provenance() -> dict[str, str]:
    return {
        **_SOFTWARE,
        "platform": f"{platform.system()} {platform.machine()}",
        "saved": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _checked_about(about: dict[str, Any] | None) -> dict[str, Any]:
    about = {} if about is None else about
    try:
        same = strict_json.loads(strict_json.dumps(about)) == about
    except (TypeError, ValueError) as error:
        raise ValueError(f"about cannot be written as JSON: {error}") from None
    if not same or not isinstance(about, dict):
        raise ValueError("about must be a dict that JSON gives back as it is: keys that are texts, no tuples.")
    return about
