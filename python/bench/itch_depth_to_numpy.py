"""Compares with itch-book. The tests' ring writer generates the file: build with MILLPOND_PYTHON_TESTS."""

from __future__ import annotations

from pathlib import Path

from harness import Bench, Goal, main
from itch_to_numpy import itch_book_batches, millpond_batches

BOOKS = 2_000


def generate_depth(folder: Path, messages: int) -> float:
    """Generates a file with this number of ITCH messages. In a large file each book has at least 260 live orders."""
    from millpond._ring_writer import write_itch_day

    write_itch_day(str(folder / "day.itch"), BOOKS, min(260, messages // BOOKS // 4), messages)
    return float(messages)


if __name__ == "__main__":
    main(
        Bench(
            name="itch-depth-to-numpy",
            question="What does an ITCH day cost in numpy when its books are deep and few messages change a best price?",
            unit="ns/message",
            measured="a file in the page cache, 2,000 symbols, 520,000 live orders, one message in 28 changes a best price; "
            "to batches of numpy arrays",
            not_measured="imports, generating the file",
            size=10_000_000,
            prepare=generate_depth,
            contenders={"millpond": millpond_batches, "itch-book": itch_book_batches},
            goals=[Goal("millpond", "itch-book", at_most=0.5)],
            needs={"itch-book": "itch_book"},
            needs_all="millpond._ring_writer",
        )
    )
