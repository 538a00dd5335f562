"""Rings with unique names, and the program `millpond`, for the tests."""

from __future__ import annotations

import glob
import importlib.util
import itertools
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

_numbers = itertools.count()

LONG = os.environ.get("MILLPOND_LONG_TESTS", "") not in ("", "0")
"""Full-size comparisons with other packages, some minutes each: `make check-all`."""

# A wheel has no ring writer.
if importlib.util.find_spec("millpond._ring_writer") is None:
    collect_ignore = ["test_ring.py", "test_examples.py"]


@pytest.fixture(autouse=True)
def ctrl_c_interrupts() -> Iterator[None]:
    """Restores SIGINT, which background jobs of a shell ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ring_name() -> Iterator[str]:
    name = f"test-python-{os.getpid()}-{next(_numbers)}"
    yield name
    for path in glob.glob(f"/dev/shm/millpond.{name}*"):
        os.unlink(path)


@pytest.fixture(scope="session")
def program() -> str:
    path = os.environ.get("MILLPOND_PROGRAM", "")
    if not path:
        pytest.skip("MILLPOND_PROGRAM names no program")
    return path


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real captures, if the machine has them."""
    folder = os.environ.get("MILLPOND_TEST_DATA", "")
    if not folder:
        pytest.skip("MILLPOND_TEST_DATA names no folder")
    return Path(folder)


class Gateway:
    """The program as a gateway with one quotes feed, and the log lines that name its ports."""

    def __init__(self, program: str, ring: str, *more: str, form: str = "quotes") -> None:
        self.ring = ring
        self.process = subprocess.Popen(
            [program, "gateway", "--ring", f"name={ring},huge_pages=none", "--feed",
             f"name=f,listen=127.0.0.1:0,format={form},stale_seconds=0", "--metrics", "off", *more],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.said = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if "Ctrl-C stops it." in line:
                return
        raise RuntimeError("the gateway did not start: " + self.said)

    def port_in(self, words: str) -> str:
        """The port in the first log line that contains these words."""
        line = next(line for line in self.said.splitlines() if words in line)
        return line.partition("127.0.0.1:")[2].split()[0].rstrip(",;/")

    @property
    def feed_port(self) -> str:
        return self.port_in("feed 'f'")

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate()
