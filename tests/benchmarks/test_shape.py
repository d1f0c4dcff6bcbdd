"""Classes and methods of an estimator, as they are counted."""

from __future__ import annotations

from functools import cached_property

from benchmarks import shape
from extranets.estimators import METHODS, ExtraNetsRegressor
from extranets.estimators.base import NetsRegressor


class Example:
    attribute = 1

    def __repr__(self):
        return "example"

    def method(self):
        return 1

    @property
    def _quantity(self):
        return 2

    @cached_property
    def kept(self):
        return 3

    @classmethod
    def from_text(cls):
        return cls()

    @staticmethod
    def helper():
        return 4


class Child(Example):
    def method(self):
        return 5


Example.__module__ = Child.__module__ = "extranets.example"


def test_functions_and_properties_are_methods():
    assert shape.methods(Example) == {"method", "_quantity", "kept", "from_text", "helper"}


def test_definitions_are_counted_over_the_classes_of_the_package():
    assert shape.project_classes(Child) == [Child, Example]
    assert shape.definitions(Child) == {"method": 2, "_quantity": 1, "kept": 1, "from_text": 1, "helper": 1}
    assert shape.row(Child) == ("Child", 2, 5, 1, 2)


def test_classes_of_other_packages_do_not_count():
    found = shape.project_classes(ExtraNetsRegressor)
    assert found[0] is ExtraNetsRegressor and found[-1] is NetsRegressor


def test_there_is_a_row_for_every_estimator(capsys):
    shape.main()
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.split()[:3] == ["estimator", "classes", "methods"]
    assert [row.split()[0] for row in rows] == [cls.__name__ for cls in METHODS.values()]
