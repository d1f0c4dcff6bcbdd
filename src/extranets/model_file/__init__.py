"""Model files (`.xnet`): versioned, checked before anything is believed, and free of code.

A model file is a safetensors file. Its ``__metadata__`` names the format and its version, holds a SHA-256 digest of the whole
file and, as one JSON string, the model: a tree of plain values in which arrays are named and objects are written as a class
name with fields. ``container`` knows bytes, ``codec`` trees, ``registry`` classes, ``model`` what a file says about itself.
Nothing here knows an estimator.

How a class becomes storable
----------------------------
Put ``@storable("Name")`` above it. The name is what files hold; it must never change. Two kinds of classes can be stored:

- A dataclass: its fields are stored. On loading the names and the annotated types of the fields are checked, then the object is
  made by its constructor, then its method ``_check_stored()``, if there is one, looks at what a type cannot say, such as shapes
  that belong together. It refuses by ``ValueError``; :func:`require` is a short way. The same checks run on saving, so that a
  file that was written can be read. A field that is added later needs a default, which the files written before then take.
- Any other class, or a dataclass that is to be stored in another way: ``_to_stored()`` returns a dict of storable values,
  by name, and the class method ``_from_stored(stored)`` makes the object from such a dict. It must treat every entry as
  hostile, and refuse by ``ValueError`` or ``TypeError``.

Objects nest. A class whose module ``import extranets`` does not load stands in ``registry.LATE``, so that :func:`load` finds
it: a file can name classes, never modules.

:func:`save` writes one object, :func:`load` gives it back. :func:`read_info` shows those of the object's entries that are called
``parameters``, ``feature_names``, ``fit_info`` and ``schema``.
"""

import numpy as np

from extranets.model_file.errors import ModelFileError, require
from extranets.model_file.model import load, read_info, save
from extranets.model_file.random_state import STORED
from extranets.model_file.registry import checked, register, storable

register(np.random.RandomState, STORED)

__all__ = ["ModelFileError", "checked", "load", "read_info", "require", "save", "storable"]
