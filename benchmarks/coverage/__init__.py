"""Coverage of the defaults where the truth is known: as a whole, in each tail, by width and by group.

``processes`` draws the tables, ``scores`` says what a record holds, ``show`` what is printed, and ``command`` runs it all:
``python -m benchmarks.accuracy coverage``.
"""
