"""Tables that memory cannot hold, block by block: what one pass learns of them, a scratch file of their rows, and how memory is
shared out.

``numbers`` gives blocks of arrays, mapped files and Dask's collections; ``tables`` gives those of files with mixed columns.
"""

from extranets.blocks.learning import Drawn, Moments, rank_error
from extranets.blocks.memory import Budget, as_bytes
from extranets.blocks.numbers import as_rows, is_dask, is_lazy, number_blocks, partitions_of
from extranets.blocks.scratch import Scratch, ScratchError
from extranets.blocks.table import AllRows, NumberBlocks, TakenIn, block_rows, moments_of_targets, take_in

__all__ = [
    "AllRows",
    "Budget",
    "Drawn",
    "Moments",
    "NumberBlocks",
    "Scratch",
    "ScratchError",
    "TakenIn",
    "as_bytes",
    "as_rows",
    "block_rows",
    "is_dask",
    "is_lazy",
    "moments_of_targets",
    "number_blocks",
    "partitions_of",
    "rank_error",
    "take_in",
]
