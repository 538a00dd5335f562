"""The extension's stub, the reference page, and imports without circles."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import millpond


def test_the_stub_is_what_nanobind_generates(tmp_path: Path) -> None:
    """The stub is checked in, since the extension of a wheel that was built for another machine cannot be imported."""
    stub = Path(millpond.__file__).with_name("_core.pyi")
    generate = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "millpond._core", "-o"]
    subprocess.run([*generate, tmp_path / "_core.pyi"], check=True)
    assert stub.read_text() == (tmp_path / "_core.pyi").read_text(), f"run {' '.join(generate)} millpond/_core.pyi"
    assert stub.with_name("py.typed").exists()


def test_the_reference_page_has_every_public_name() -> None:
    page = (Path(__file__).resolve().parents[2] / "tools" / "docs" / "site" / "python.md").read_text()
    whole_modules = {"errors": millpond.errors}
    for name in millpond.__all__:
        found = getattr(millpond, name)
        listed = any(f".{name}\n" in line or f" {name}\n" in line for line in page.splitlines(keepends=True))
        module = getattr(found, "__module__", "").removeprefix("millpond.")
        assert listed or module in whole_modules or name == "fix", name
    assert "automodule:: millpond.errors" in page and "millpond.fix.scan" in page


def test_no_module_imports_one_that_imports_it() -> None:
    """Includes imports for type checkers and inside functions."""
    folder = Path(millpond.__file__).parent
    seen = {path.stem: _imports(path) for path in folder.glob("*.py") if path.stem not in ("__init__", "__main__")}
    while free := [name for name, needs in seen.items() if not needs & seen.keys()]:
        for name in free:
            del seen[name]
    assert not seen, "these import each other"


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for each in ast.walk(ast.parse(path.read_text())):
        if isinstance(each, ast.ImportFrom) and each.level == 1:
            found |= {each.module} if each.module else {alias.name for alias in each.names}
    return found
