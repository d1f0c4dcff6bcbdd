"""Options and arguments that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer


def _delimiter(given: str | None) -> str | None:
    from extranets.tables.delimiters import check_delimiter

    sign = "\t" if given in ("tab", "\\t") else given
    try:
        return None if sign is None else check_delimiter(sign)
    except ValueError as error:
        raise typer.BadParameter(f"{error} A tab can also be written as tab or as \\t.") from None


def _encoding(given: str | None) -> str | None:
    from extranets.tables.streams import text_codec

    try:
        if given is not None:
            text_codec(given)
    except LookupError as error:
        raise typer.BadParameter(str(error)) from None
    return given


def _jobs(given: int | None) -> int | None:
    if given == 0:
        raise typer.BadParameter("--jobs 0 has no meaning; -1 takes all cores.")
    return given


TableFile = Annotated[str, typer.Argument(help="CSV, Parquet, Feather or Excel file; - reads CSV from standard input.")]
ModelFile = Annotated[str, typer.Argument(help="Model file, as `extranets fit` writes it.")]
Target = Annotated[str, typer.Option("--target", "-t", help="Column to predict.")]
OptionalTarget = Annotated[
    str | None, typer.Option("--target", "-t", help="Column with the known targets. Default: the target of the fit.")
]
Coverage = Annotated[float, typer.Option(help="Coverage of the intervals, between 0 and 1.")]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to predict from; default: all. Separate them by commas, or repeat the option (as you must for a name "
        "with a comma in it)."
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", help="Column that names the rows. It is not a feature; `predict` writes it beside predictions."
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        help="Column that names the group of each row (a person, a school), where new rows will be of other groups. Whole groups are "
        "left out when intervals are learned and in the cross-validation. It is no feature unless --features names it."
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        help="Column of dates or numbers, where new rows will be later. Intervals are learned from, and the cross-validation "
        "judges, rows later than those that networks saw. It stays a feature."
    ),
]
JudgedGroup = Annotated[
    str | None, typer.Option("--group", help="Show coverage by group: the column. Default: that of the fit.")
]
JudgedTime = Annotated[
    str | None,
    typer.Option("--time", help="Show coverage over time: a column of dates or numbers. Default: that of the fit."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        help="What a column is, where the guess is wrong: COLUMN=number, boolean, date, category or ignore; or how it is "
        "written, such as COLUMN=date:%d/%m/%Y or COLUMN=number:1.234,5. Repeatable.",
    ),
]
MaxCategories = Annotated[
    int,
    typer.Option(
        "--max-categories",
        metavar="N",
        min=1,
        max=10_000,
        help="A column of up to N categories has an input for each of them. In a column with more, each category is given as a "
        "few numbers that are learned from the target.",
    ),
]
Missing = Annotated[
    list[str] | None, typer.Option("--na", help="Text that stands for a missing value, such as -999. Repeatable.")
]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing-target", help="Leave out rows whose target is missing, instead of refusing the table."
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        callback=_delimiter, help="Delimiter of a CSV file, such as ; or tab. Default: found out from the file."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(callback=_encoding, help="Encoding of a CSV file, such as cp1252. Default: found out from the file."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all randomness.")]
Jobs = Annotated[int | None, typer.Option(callback=_jobs, help="Number of threads; -1 for all cores, as by default.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
