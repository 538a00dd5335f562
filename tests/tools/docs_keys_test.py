"""The pages of configuration keys: every line of a help becomes a row, and a page that differs is reported."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/docs/keys"
HELP = """Receive feeds.
Usage: millpond gateway [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  --config FILE               configuration in TOML; flags override it
  --log-level debug|info|warning|error
                              Least severe messages to log. (default: info)
  --strict                    Refuse to start for warnings.
  --feed KEY=VALUE,... ...    a feed, as [[feed]] in the file; keys:
                                listen           ADDRESS:PORT: Address to receive on.
                                reorder_datagrams N: Maximum number of datagrams that wait. (default: 512)
  --drop-copy KEY=VALUE,... ...
                              messages to copy, as [[drop_copy]]; keys:
                                version          FIX.4.0 to FIX.5.0SP2|FIX.Latest: Version of the messages.
                                types            MSGTYPE+...: Types to copy. (default: 8)
                                queue            BYTES: Size of the queue. (default: 1GiB)
  --standby KEY=VALUE,... ... a standby, as [standby]; keys:
                                allow            ADDRESS/BITS+...: Addresses that may connect; all if unset.

Examples:
  millpond gateway --feed listen=127.0.0.1:9000
"""


def loaded():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("keys", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("keys", loader))
    loader.exec_module(module)
    return module


class Keys(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.keys = loaded()
        self.keys.REFERENCE = pathlib.Path(self.folder.name)

    def program(self, text):
        path = pathlib.Path(self.folder.name, "program")
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def page(self, text):
        return self.keys.page_of(self.program(text), ["gateway"], "Gateway keys", "`millpond gateway`", "guide.md", "--tcp")

    def test_each_key_is_a_row_below_its_table(self):
        rows = [line for line in self.page(HELP).splitlines() if line.startswith(("## ", "| `"))]
        self.assertEqual([row.split(" | ")[0] for row in rows], [
            "## Top level", "| `log_level`", "| `strict`", "## [[feed]]", "| `listen`", "| `reorder_datagrams`",
            "## [[drop_copy]]", "| `version`", "| `types`", "| `queue`", "## [standby]", "| `allow`"])

    def test_a_row_has_the_default_apart_from_the_meaning(self):
        row = next(line for line in self.page(HELP).splitlines() if line.startswith("| `log_level`"))
        self.assertIn("| Least severe messages to log. |", row)
        self.assertTrue(row.endswith(' | `"debug"`, `"info"`, `"warning"`, `"error"` | `"info"` |'), row)

    def test_a_value_is_what_the_file_has(self):
        values = {row.split("`")[1]: row.split(" | ")[2:] for row in self.page(HELP).splitlines() if row.startswith("| `")}
        self.assertEqual(values["allow"], ['`["ADDRESS/BITS", ...]`', " |"])
        self.assertEqual(values["types"], ['`["MSGTYPE", ...]`', '`["8"]` |'])
        self.assertEqual(values["reorder_datagrams"], ["`N`", "`512` |"])
        self.assertEqual(values["queue"], ["`BYTES`", '`"1GiB"` |'])
        self.assertEqual(values["strict"], ["`true`, `false`", " |"])

    def test_a_line_that_is_no_option_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "cannot read a line of millpond gateway --help:.*unreadable"):
            self.page(HELP.replace("  --strict ", "  unreadable "))

    def test_a_page_that_differs_is_reported(self):
        def run(*arguments):
            sys.argv = ["keys", self.program(text), *arguments]
            return self.keys.main()

        text = HELP
        self.assertEqual(run(), 0)
        self.assertEqual(run("--check"), 0)
        text = HELP.replace("(default: 512)", "(default: 64)")
        self.assertEqual(run("--check"), 1)


if __name__ == "__main__":
    unittest.main()
