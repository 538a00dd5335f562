"""The documentation site, as Sphinx builds it: `make docs`."""

project = "millpond"
html_title = "millpond"
extensions = ["myst_parser"]
html_theme = "furo"
html_extra_path = ["static"]  # the C++ API by Doxygen and the npm package's by TypeDoc
exclude_patterns = ["static"]
myst_heading_anchors = 4
# A diagram or a wire layout in a block without a language is plain text.
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]
