"""How much code an estimator is made of: its classes and methods, and how often one method is defined.

``python -m benchmarks.shape`` prints a row for each estimator: classes of this package, methods, how many of them are defined more
than once, and the largest number of definitions of one method.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from types import FunctionType

from extranets.estimators import METHODS

KINDS = (FunctionType, property, cached_property, classmethod, staticmethod)
COLUMNS = ("estimator", "classes", "methods", "more than once", "most often")


def project_classes(estimator: type) -> list[type]:
    """Those of this package that it is made of, itself among them."""
    return [cls for cls in estimator.__mro__ if cls.__module__.split(".")[0] == "extranets"]


def methods(cls: type) -> set[str]:
    """Functions and properties that a class itself defines, but not Python's own such as ``__init__``."""
    return {name for name, value in vars(cls).items() if isinstance(value, KINDS) and not name.startswith("__")}


def definitions(estimator: type) -> Counter[str]:
    """In how many classes of this package each of its methods is defined."""
    return Counter(name for cls in project_classes(estimator) for name in methods(cls))


def row(estimator: type) -> tuple[str, int, int, int, int]:
    """What the columns say about one estimator."""
    counts = definitions(estimator)
    repeated = sum(count > 1 for count in counts.values())
    return estimator.__name__, len(project_classes(estimator)), len(counts), repeated, max(counts.values())


def main() -> None:
    print("{:24}{:>9}{:>9}{:>16}{:>12}".format(*COLUMNS))
    for estimator in METHODS.values():
        print("{:24}{:9}{:9}{:16}{:12}".format(*row(estimator)))


if __name__ == "__main__":
    main()
