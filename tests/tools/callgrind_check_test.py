"""bench/callgrind/check with made-up counts, records and compilers."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench", "callgrind", "check")


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("callgrind_check", CHECK)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("callgrind_check", loader))
    loader.exec_module(module)
    return module


check = load()


class Compare(unittest.TestCase):
    def test_three_percent_either_way_are_allowed(self):
        for counted in (97.0, 100.0, 103.0):
            self.assertTrue(check.compare({"a": 100.0}, {"a": counted})[1], counted)

    def test_more_is_a_failure_that_names_both_counts(self):
        lines, well = check.compare({"a": 100.0}, {"a": 103.1})
        self.assertFalse(well)
        self.assertEqual(lines, ["FAIL a: 103.10 instructions, recorded 100.00, +3.1%, more than 3% allow"])

    def test_less_is_a_failure_too_so_that_the_record_follows(self):
        self.assertFalse(check.compare({"a": 100.0}, {"a": 96.9})[1])

    def test_a_case_without_a_record_and_a_record_without_a_case_are_failures(self):
        self.assertFalse(check.compare({}, {"a": 1.0})[1])
        self.assertFalse(check.compare({"a": 1.0}, {})[1])


class Record(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "counts.txt")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_a_record_is_read_as_it_was_written(self):
        self.write(check.text_of("GNU 12.2.0", {"decode, a quote": 106.94, "json": 856.0}))
        self.assertEqual(check.read(self.path), ("GNU 12.2.0", {"decode, a quote": 106.94, "json": 856.0}))

    @unittest.skipIf(check.shutil.which("valgrind") is None, "valgrind is not installed")
    def test_another_compiler_is_a_visible_skip(self):
        self.write(check.text_of("GNU 11.1.0", {"a": 1.0}))
        run = subprocess.run([sys.executable, CHECK, "/bin/false", self.path, "--compiler", "GNU 12.2.0"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 77)
        self.assertIn("holds counts of GNU 11.1.0, this is GNU 12.2.0", run.stdout)

    @unittest.skipIf(check.shutil.which("valgrind") is None, "valgrind is not installed")
    def test_a_program_that_fails_leaves_the_record_alone(self):
        self.write(check.text_of("GNU 12.2.0", {"a": 1.0}))
        run = subprocess.run([sys.executable, CHECK, "/bin/false", self.path, "--compiler", "GNU 12.2.0", "--record"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(check.read(self.path)[1], {"a": 1.0})


if __name__ == "__main__":
    unittest.main()
