"""The files that tools/lint checks again: a small tree, a fake clang-tidy that reports the word BAD, and g++ as clang.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools", "lint")
TIDY = """#!/bin/sh
if [ "$1" = --version ]; then echo "${TIDY_VERSION:-1}"; exit; fi
for word; do case $word in *.cpp) source=$word ;; esac; done
echo "${source##*/}" >>"$LOOKED_AT"
grep -q BAD "$source" || exit 0
echo "$source:1:1: error: it is bad"
exit 1
"""
RUNNER = """#!/usr/bin/env python3
import json, subprocess, sys
words = sys.argv
with open(words[words.index("-p") + 1] + "/compile_commands.json") as file:
    sources = {entry["file"] for entry in json.load(file)}
sys.exit(max(subprocess.call([words[words.index("-clang-tidy-binary") + 1], source]) for source in sources))
"""


class Lint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.looked_at = os.path.join(self.folder, "looked_at")
        self.version = "1"
        self.put("bin/clang-tidy-19", TIDY, mode=0o755)
        self.put("bin/run-clang-tidy-19", RUNNER, mode=0o755)
        self.put("bin/clang++-19", '#!/bin/sh\nexec g++ "$@"\n', mode=0o755)
        self.tree = self.make_tree("tree")

    def put(self, path, text, mode=0o644):
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(full, mode)

    def make_tree(self, name, flags="-DONE"):
        """A checkout: src/a.cpp includes core/low.hpp by way of core/high.hpp, src/b.cpp nothing."""
        self.put(f"{name}/.clang-tidy", "Checks: '*'")
        self.put(f"{name}/include/millpond/core/low.hpp", "int low();\n")
        self.put(f"{name}/include/millpond/core/high.hpp", "#include <millpond/core/low.hpp>\n")
        self.put(f"{name}/src/a.cpp", "#include <millpond/core/high.hpp>\n")
        self.put(f"{name}/src/b.cpp", "int b();\n")
        tree = os.path.join(self.folder, name)
        self.write_commands(tree, flags)
        os.makedirs(os.path.join(tree, "tools"))
        shutil.copy(TOOL, os.path.join(tree, "tools", "lint"))
        for command in (["init", "-q"], ["add", "src"]):
            subprocess.run(["git", *command], cwd=tree, check=True)
        return tree

    def write_commands(self, tree, flags):
        sources = [os.path.join(tree, "src", name) for name in ("a.cpp", "b.cpp")]
        entries = [{"directory": tree, "file": source, "command": f"/usr/bin/g++ {flags} -I{tree}/include -o x.o -c {source}"}
                   for source in sources]
        os.makedirs(os.path.join(tree, "build/dev"), exist_ok=True)
        with open(os.path.join(tree, "build/dev/compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(entries, file)

    def lint(self, tree=None, *arguments):
        """(exit code, names of the files that clang-tidy looked at, standard output)."""
        if os.path.exists(self.looked_at):
            os.unlink(self.looked_at)
        environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "LOOKED_AT": self.looked_at,
                       "XDG_CACHE_HOME": f"{self.folder}/cache", "TIDY_VERSION": self.version}
        run = subprocess.run([sys.executable, os.path.join(tree or self.tree, "tools/lint"), *arguments],
                             env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        looked_at = []
        if os.path.exists(self.looked_at):
            with open(self.looked_at, encoding="utf-8") as lines:
                looked_at = sorted(line.strip() for line in lines)
        return run.returncode, looked_at, run.stdout

    def test_what_had_no_findings_is_passed_over_until_it_changes(self):
        self.assertEqual(self.lint()[:2], (0, ["a.cpp", "b.cpp", "include_core.cpp"]))
        self.assertEqual(self.lint()[:2], (0, []))
        self.put("tree/src/b.cpp", "int changed();\n")
        self.assertEqual(self.lint()[:2], (0, ["b.cpp"]))

    def test_files_that_are_compiled_together_are_looked_at_one_by_one_as_if_they_were_not(self):
        self.lint()
        together = os.path.join(self.tree, "build/dev/src/fix_together_1.cpp")
        self.put("tree/build/dev/src/fix_together_1.cpp", '#include "src/a.cpp"\n#include "src/b.cpp"\n')
        database = os.path.join(self.tree, "build/dev/compile_commands.json")
        apart = ("src/CMakeFiles/fix.dir/a.cpp.o", os.path.join(self.tree, "src/a.cpp"))
        flags = f"/usr/bin/g++ -DTWO -I{self.tree}/include"
        entry = {"directory": self.tree, "file": apart[1], "command": f"{flags} -o {apart[0]} -c {apart[1]}"}
        with open(database, "w", encoding="utf-8") as file:
            json.dump([entry], file)
        self.assertEqual(self.lint()[1], ["a.cpp", "b.cpp"])  # b.cpp no longer has a command
        entry = {"directory": self.tree, "file": together,
                 "command": f"{flags} -Wno-shadow -o src/CMakeFiles/fix.dir/fix_together_1.cpp.o -c {together}"}
        with open(database, "w", encoding="utf-8") as file:
            json.dump([entry], file)
        self.assertEqual(self.lint()[1], ["b.cpp"])  # the command of a.cpp is the former one
        self.put("tree/src/a.cpp", "int BAD();\n")
        self.assertEqual(self.lint()[:2], (1, ["a.cpp"]))

    def test_a_changed_header_concerns_all_that_include_it(self):
        self.lint()
        self.put("tree/include/millpond/core/low.hpp", "int changed();\n")
        self.assertEqual(self.lint()[:2], (0, ["a.cpp", "include_core.cpp"]))
        self.put("tree/include/millpond/core/low.hpp", "int low();\n")
        self.assertEqual(self.lint()[:2], (0, []))

    def test_a_header_that_a_header_newly_includes_counts_from_then_on(self):
        self.lint()
        self.put("tree/include/millpond/core/low.hpp", "#include <millpond/core/lowest.hpp>\n")
        self.put("tree/include/millpond/core/lowest.hpp", "int lowest();\n")
        self.lint()
        self.put("tree/include/millpond/core/lowest.hpp", "int changed();\n")
        self.assertEqual(self.lint()[:2], (0, ["a.cpp", "include_core.cpp"]))

    def test_a_removed_header_is_noticed(self):
        self.lint()
        os.unlink(os.path.join(self.tree, "include/millpond/core/low.hpp"))
        self.assertIn("a.cpp", self.lint()[1])

    def test_findings_are_printed_each_time_until_they_are_gone(self):
        self.put("tree/src/b.cpp", "int BAD();\n")
        for looked_at in (["a.cpp", "b.cpp", "include_core.cpp"], ["b.cpp"]):
            code, files, out = self.lint()
            self.assertEqual((code, files), (1, looked_at))
            self.assertIn("src/b.cpp:1:1: error: it is bad", out)
        self.put("tree/src/b.cpp", "int good();\n")
        self.assertEqual(self.lint()[:2], (0, ["b.cpp"]))

    def test_settings_commands_and_another_clang_tidy_count(self):
        self.lint()
        self.put("tree/.clang-tidy", "Checks: 'bugprone-*'")
        self.assertEqual(len(self.lint()[1]), 3)
        self.version = "2"
        self.assertEqual(len(self.lint()[1]), 3)
        self.write_commands(self.tree, "-DTWO")
        self.assertEqual(self.lint()[1], ["a.cpp", "b.cpp"])

    def test_another_checkout_with_the_same_files_is_passed_over(self):
        self.lint()
        self.assertEqual(self.lint(self.make_tree("other"))[:2], (0, []))

    def test_a_pattern_chooses_among_the_files(self):
        self.assertEqual(self.lint(None, "build/dev", "src/b")[:2], (0, ["b.cpp"]))

    def test_without_a_database_it_says_what_to_run(self):
        shutil.rmtree(os.path.join(self.tree, "build"))
        self.assertEqual(self.lint()[0], 2)


if __name__ == "__main__":
    unittest.main()
