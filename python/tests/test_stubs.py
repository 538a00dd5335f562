"""The stub of the extension says what the extension has."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import millpond
from millpond import _core


def _stub() -> ast.Module:
    folder = Path(millpond.__file__).parent
    assert (folder / "py.typed").exists()
    return ast.parse((folder / "_core.pyi").read_text())


def _arguments(stubbed: ast.FunctionDef) -> list[tuple[str, bool]]:
    """Names, and whether None is taken."""
    return [
        (each.arg, "None" in ast.unparse(each.annotation))
        for each in stubbed.args.args
        if each.annotation is not None
    ]


def _signature(found: Any) -> ast.FunctionDef:
    (signature, *_), *more = found.__nb_signature__
    assert not more, "one form only"
    made = ast.parse(signature.splitlines()[-1] + ": ...").body[0]
    assert isinstance(made, ast.FunctionDef)
    return made


def test_the_stub_names_what_the_extension_has() -> None:
    stubbed = {each.name for each in _stub().body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    assert stubbed == {name for name in dir(_core) if not name.startswith("_")}


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
    """Imports for type checkers and those inside functions count, too."""
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


def test_functions_take_what_the_stub_says() -> None:
    checked = 0
    for each in _stub().body:
        if isinstance(each, ast.FunctionDef):
            assert _arguments(_signature(getattr(_core, each.name))) == _arguments(each), each.name
            checked += 1
        if not isinstance(each, ast.ClassDef):
            continue
        found = getattr(_core, each.name)
        methods = {part.name: part for part in each.body if isinstance(part, ast.FunctionDef)}
        if issubclass(found, Exception):
            continue
        has = {name for name in vars(found) if name[0] != "_" or name.startswith("__arrow_c_")}
        assert methods.keys() - {"__init__"} == has, each.name
        for name, method in methods.items():
            if method.decorator_list:
                assert isinstance(vars(found)[name], property), name
            else:
                assert _arguments(_signature(getattr(found, name))) == _arguments(method), (each.name, name)
                checked += 1
    assert checked > 15
