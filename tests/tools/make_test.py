"""The Makefile when a part of `make test` fails, with fake programs as tests."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))


class MakeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        shutil.copy(os.path.join(ROOT, "Makefile"), self.top)

    def program(self, name, code=0):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho {os.path.basename(os.path.dirname(name))}/{os.path.basename(name)} >>"{self.top}/ran"\n'
                       f"exit {code}\n")
        os.chmod(path, 0o755)

    def make(self, *goals, ctest=0, node=0, python=0, cmake=0):
        """The exit status, and the programs that ran."""
        for name, code in {"bin/cmake": cmake, "bin/ctest": ctest, "bin/npm": 0, "tools/install_packages": 0,
                           "node/run_tests": node, "python/run_tests": python}.items():
            self.program(name, code)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        environment["PATH"] = os.path.join(self.top, "bin") + ":" + environment["PATH"]
        done = subprocess.run(["make", *goals], cwd=self.top, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.output = done.stdout
        with open(os.path.join(self.top, "ran"), encoding="utf-8") as file:
            return done.returncode, set(file.read().split())

    def test_all_tests_run_and_pass(self):
        code, ran = self.make("test")
        self.assertEqual(code, 0, self.output)
        self.assertLessEqual({"bin/ctest", "node/run_tests", "python/run_tests"}, ran)

    def test_a_failure_of_one_part_does_not_keep_the_others_from_running(self):
        for part in ("ctest", "node", "python"):
            with self.subTest(part=part):
                code, ran = self.make("test", **{part: 1})
                self.assertEqual(code, 2)
                self.assertLessEqual({"bin/ctest", "node/run_tests", "python/run_tests"}, ran)
                os.remove(os.path.join(self.top, "ran"))

    def test_after_a_build_that_failed_no_test_runs(self):
        code, ran = self.make("test", cmake=1)
        self.assertEqual(code, 2)
        self.assertFalse({"bin/ctest", "node/run_tests", "python/run_tests"} & ran)

    def test_a_feed_that_cannot_be_read_is_named_before_the_build(self):
        with open(os.path.join(self.top, "ran"), "w", encoding="utf-8"):
            pass
        code, ran = self.make("demo", "FEED=/nonexistent.pcap")
        self.assertEqual((code, ran), (2, set()), self.output)
        self.assertIn("/nonexistent.pcap", self.output)


if __name__ == "__main__":
    unittest.main()
