"""Tables in time order: coverage later on, with rows left out at random and with ``time=``, without and with updates.

Each table is fitted once with rows left out at random and once with ``time=``, both times with all that ``StackedNetsRegressor`` does by
default. Then its later rows are predicted: by the fit as it is; and block by block, each block of about twenty rows (whole times) by
a model that was updated with the blocks before it, as ``extranets update`` does.

``tables.csv`` holds tables for choosing; of these, only inner splits are used. Those in benchmarks/ordinary that are split by time
are for judging: their last quarter is predicted, and every run that sees it leaves a line in the file of records.
"""
