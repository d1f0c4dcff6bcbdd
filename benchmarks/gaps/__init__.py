"""Intervals where there are no training rows: in gaps of a column, and beyond its ends.

``splits`` says which rows are left out of which tables, ``methods`` what is fitted, ``scores`` what a record holds, ``show`` what is
printed, and ``command`` runs it all: ``python -m benchmarks.accuracy gaps``.
"""
