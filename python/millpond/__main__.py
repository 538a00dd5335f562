"""`python -m millpond export FILE FOLDER`: a journal, ITCH file or capture as files of tables."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from pathlib import Path

import numpy as np

from . import MillpondError, MillpondWarning, Scan, scan
from .scan import NO_DATE, no_instrument_text
from .tables import TABLES
from .whole_file import whole


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m millpond", description="Tables of journals, ITCH files and captures.")
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="write each table to a file of its own")
    export.add_argument("path", help="a journal's folder or segment, an ITCH file or a capture; also .gz and .zst")
    export.add_argument("folder", help="folder for the files; created if missing")
    export.add_argument("--format", choices=("parquet", "npy"), default="parquet", help="default: %(default)s")
    export.add_argument("--table", choices=TABLES, action="append", help="only this one; may be repeated")
    export.add_argument("--symbol", action="append", help="only this instrument; may be repeated")
    export.add_argument("--start", help="from this UTC time on, like 2026-11-20T14:30:00")
    export.add_argument("--end", help="before this UTC time")
    export.add_argument("--input-format", help="itch, quotes, bbo28, miax-tom, iex-tops, iex-deep or iex-deep-plus, if a capture does not show it")
    export.add_argument("--date", help="date at the exchange, like 2026-11-20")
    export.add_argument("--partition-by", action="append", help="parquet: folders by this column; may be repeated")
    export.add_argument("--prices", choices=("float64", "nanos"), default="float64", help="default: %(default)s")
    options = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MillpondWarning)  # the report says more
            return _export(options)
    except (MillpondError, OSError, ValueError, ImportError) as error:
        print(f"millpond: {error}", file=sys.stderr)
        return 1


def _export(options: argparse.Namespace) -> int:
    source = scan(
        options.path,
        format=options.input_format,
        symbols=options.symbol,
        start=options.start,
        end=options.end,
        date=options.date,
        prices=options.prices,
    )
    if source._kind == "itch" and source.report.date is None:
        print(f"millpond: {options.path}: {NO_DATE}; say the day with --date", file=sys.stderr)
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = options.table or ("quotes", "trades", "statuses")
    places = {name: folder / (name if options.partition_by else f"{name}.{options.format}") for name in names}
    if options.format == "parquet" and not options.partition_by:
        from .parquet import write_tables

        with source._following():
            write_tables(source, {name: str(place) for name, place in places.items()})
        code = _report(source, *places.values())
        _name_unknown(source)
        return code
    code = 0
    for name, place in places.items():
        table = getattr(source, name)
        if options.format == "npy":
            with whole(place) as part, open(part, "wb") as file:
                np.save(file, table.to_numpy())
        else:
            table.to_parquet(place, partition_by=options.partition_by)
        code |= _report(source, place)
    _name_unknown(source)
    return code


def _name_unknown(source: Scan) -> None:
    if unknown := source._unknown_symbols():
        print(f"millpond: {no_instrument_text(unknown)}", file=sys.stderr)


def _report(source: Scan, *places: Path) -> int:
    """Prints the report of the reading that wrote the files. Returns 1 if it has errors."""
    report = source.report
    for place in places:
        print(f"{place}: {report.error_count} errors, {report.counts.get('lost', 0)} lost")
    for error in report.errors:
        print(f"millpond: {error}", file=sys.stderr)
    return 0 if report.ok else 1


def _end(number: int, _: object) -> None:
    """Ends the process like Ctrl-C, so that incomplete files are removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    sys.exit(main())
