"""The documentation site, as Sphinx builds it: `make docs`."""

import pathlib
import re
import sys

# This file is copied to build/docs/pages.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))

project = "millpond"
html_title = "millpond"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_extra_path = ["static"]  # the C++ API by Doxygen, the npm package's by TypeDoc, and the benches' report
exclude_patterns = ["static"]
myst_heading_anchors = 4
# A diagram or wire layout in a block without a language is plain text.
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]

autodoc_mock_imports = ["millpond._core"]  # so that the site needs no build of the extension
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
autodoc_preserve_defaults = True


def docstring_as_rst(app, what, name, obj, options, lines):
    """Docstrings are plain text: `code`, and a line "name: meaning" for each argument."""
    text = []
    in_list = False
    for line in lines:
        argument = re.match(r"(\w+(?:, \w+)*): (.*)", line)
        if argument:
            names = ", ".join(f"``{each}``" for each in argument[1].split(", "))
            text += [] if in_list else [""]
            text.append(f"* {names}: {argument[2]}")
            in_list = True
            continue
        if in_list and not line.startswith(" "):
            in_list = False
            text.append("")
        text.append(("  " + line.strip()) if in_list else line)
    lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line) for line in text]


def setup(app):
    app.connect("autodoc-process-docstring", docstring_as_rst)
