"""Runs bench/run with scripts as benches that succeed, refuse or hang."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

RUN = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench", "run")

# A small bench with the options --results FOLDER and --quick of the harness.
WORKS = """#!{python}
import json, os, sys
name = os.path.basename(sys.argv[0])
folder = sys.argv[sys.argv.index("--results") + 1]
estimate = {{"median": 1, "low": 1, "high": 1, "count": 9}}
machine = dict.fromkeys(("cpu", "cores", "kernel", "compiler", "flags", "commit", "date", "load"), "x")
machine["command"] = sys.argv[0]
contender = {{"name": "a", "value": estimate, "min": 1, "max": 1, "ratio": None, "discarded": 0, "samples": [1]}}
result = {{"name": name, "question": name + "?", "unit": "ns", "measured": "", "not_measured": "", "machine": machine,
          "rounds": 9, "quick": "--quick" in sys.argv, "ratio_to": "a", "probabilities": [], "contenders": [contender],
          "goals": []}}
json.dump(result, open(os.path.join(folder, name + ".json"), "w"))
"""
REFUSES = "#!/bin/sh\nexit 1\n"
HANGS = "#!/bin/sh\nexec sleep 60\n"


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.results = os.path.join(self.folder.name, "results")

    def run_benches(self, benches, *options):
        os.makedirs(os.path.join(self.folder.name, "bench"), exist_ok=True)
        with open(os.path.join(self.folder.name, "bench", "benches.txt"), "w", encoding="utf-8") as index:
            for name, text in benches.items():
                path = os.path.join(self.folder.name, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.format(python=sys.executable))
                os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
                index.write(f"component {path}\n")
        command = [sys.executable, RUN, "--build", self.folder.name, "--results", self.results, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def written(self):
        return sorted(name for name in os.listdir(self.results))

    def test_every_bench_runs_and_one_report_is_made(self):
        run = self.run_benches({"a_bench": WORKS, "b_bench": WORKS})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.written(), ["a_bench.json", "b_bench.json", "report.html"])
        self.assertIn("2 of 2 benches", run.stdout)

    def test_quick_is_passed_on(self):
        self.run_benches({"a_bench": WORKS}, "--quick")
        with open(os.path.join(self.results, "a_bench.json"), encoding="utf-8") as file:
            self.assertTrue(json.load(file)["quick"])

    def test_the_command_in_a_result_holds_no_path_of_the_machine(self):
        self.run_benches({"a_bench": WORKS})
        with open(os.path.join(self.results, "a_bench.json"), encoding="utf-8") as file:
            self.assertFalse(os.path.isabs(json.load(file)["machine"]["command"]))

    def test_only_those_asked_for_run(self):
        self.run_benches({"a_bench": WORKS, "b_bench": WORKS}, "--only", "b*")
        self.assertEqual(self.written(), ["b_bench.json", "report.html"])

    def test_a_bench_that_refuses_is_named_and_the_others_stand(self):
        run = self.run_benches({"a_bench": REFUSES, "b_bench": WORKS})
        self.assertEqual(run.returncode, 1)
        self.assertIn("failed: a_bench: exit status 1", run.stdout)
        self.assertEqual(self.written(), ["b_bench.json", "report.html"])

    def test_a_bench_that_hangs_is_ended_at_its_budget(self):
        run = self.run_benches({"a_bench": HANGS, "b_bench": WORKS}, "--budget", "3")
        self.assertEqual(run.returncode, 1)
        self.assertIn("failed: a_bench: not done after 3.0 s", run.stdout)

    def test_a_build_without_benches_is_an_error_that_names_the_command(self):
        run = subprocess.run([sys.executable, RUN, "--build", self.folder.name], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("cmake --preset bench", run.stderr)


if __name__ == "__main__":
    unittest.main()
