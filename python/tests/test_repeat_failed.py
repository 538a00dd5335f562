"""CI repeats failed tests of pytest; tests/tools/repeat_failed_test.py tests the tool that does it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pathlib
import pytest

def once(name):
    if not pathlib.Path(name).exists():
        pathlib.Path(name).touch()
        raise ValueError(f"not yet {name}")

class TestGroup:
    @pytest.mark.parametrize("value", ["a[1]", "b::c d"])
    def test_in_a_class(self, value):
        if value.startswith("b"):
            once("class")

@pytest.fixture
def shaky():
    once("fixture")

def test_fixture(shaky):
    assert not pathlib.Path("ran").exists()

def test_good():
    assert not pathlib.Path("good").exists()
    pathlib.Path("good").touch()
"""


def test_only_failed_tests_are_repeated(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / "build").mkdir()
    tool = shutil.copy(ROOT / ".ci" / "repeat_failed", tmp_path / ".ci")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_shaky.py").write_text(TESTS)
    results = tmp_path / "tests.xml"
    pytest_program = Path(sys.executable).with_name("pytest")
    command = [tool, pytest_program, "-q", "-p", "no:cacheprovider", f"--junit-xml={results}"]
    done = subprocess.run(command, cwd=tmp_path / "tests", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert sorted((tmp_path / "build" / "flaky").read_text().splitlines()) == [
        "test_shaky.py::TestGroup::test_in_a_class[b::c d]",
        "test_shaky.py::test_fixture",
    ]
    assert "not yet class" in done.stdout.partition("flaky: ")[2]
    cases = list(ElementTree.parse(results).iter("testcase"))
    assert len(cases) == 4
    assert not any(case.find(bad) is not None for case in cases for bad in ("failure", "error", "skipped"))
