"""The failed tests that .ci/repeat_failed repeats, and its output."""

import os
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
GOOD = "exit 0"
BAD = "echo wrong value 7; exit 1"
SKIPPED = "exit 77"
FLAKY = "test -e {state} || { touch {state}; echo wrong value 8; exit 1; }"
REPORTED = FLAKY.replace("wrong value 8", "==7==ERROR: AddressSanitizer: heap-use-after-free")
THEN_SKIPPED = "test -e {state} && exit 77; touch {state}; exit 1"


class RepeatFailed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        for part in (".ci", "build"):
            os.mkdir(os.path.join(self.top, part))
        self.tool = shutil.copy(os.path.join(ROOT, ".ci", "repeat_failed"), os.path.join(self.top, ".ci"))

    def write(self, name, text):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_tool(self, *command, cwd=None):
        done = subprocess.run([self.tool, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=cwd, check=False)
        self.output = done.stdout
        return done.returncode

    def ctest(self, **tests):
        lines = []
        for name, script in tests.items():
            path = self.write(f"{name}.sh", script.replace("{state}", os.path.join(self.top, f"{name}.state")))
            lines.append(f'add_test({name} "/bin/sh" "{path}")\n'
                         f'set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)\n')
        self.write("build/CTestTestfile.cmake", "".join(lines))
        self.xml = os.path.join(self.top, "build", "tests.xml")
        return self.run_tool("ctest", "--test-dir", os.path.join(self.top, "build"), "--output-on-failure",
                             "--output-junit", self.xml)

    def statuses(self):
        return {case.get("name"): case.get("status") for case in ElementTree.parse(self.xml).iter("testcase")}

    def flaky(self):
        path = os.path.join(self.top, "build", "flaky")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_a_flaky_test_is_named_with_its_output_and_counts_as_passed(self):
        self.assertEqual(self.ctest(good=GOOD, shaky=FLAKY, skipped=SKIPPED), 0)
        self.assertIn("flaky: shaky failed, then passed; the output of its failure:\n    wrong value 8\n", self.output)
        self.assertEqual(self.flaky(), ["shaky"])
        self.assertEqual(self.statuses(), {"good": "run", "shaky": "run", "skipped": "notrun"})

    def test_a_test_that_fails_twice_fails(self):
        self.assertEqual(self.ctest(bad=BAD, shaky=FLAKY), 8)
        self.assertIn("flaky: shaky", self.output)
        self.assertEqual(self.flaky(), ["shaky"])
        self.assertEqual(self.statuses(), {"bad": "fail", "shaky": "run"})

    def test_a_test_that_is_skipped_when_repeated_has_not_passed(self):
        self.assertEqual(self.ctest(bad=THEN_SKIPPED), 8)
        self.assertEqual(self.flaky(), [])
        self.assertEqual(self.statuses(), {"bad": "fail"})

    def test_a_sanitizer_s_report_is_not_repeated(self):
        self.assertEqual(self.ctest(reported=REPORTED, shaky=FLAKY), 8)
        self.assertIn("because of a sanitizer's report: reported", self.output)
        self.assertEqual(self.flaky(), [])

    def test_a_sanitizer_s_report_after_much_output_is_seen(self):
        much = "if test ! -e {state}; then yes 'a long line of output that fills the log' | head -n 40000; fi; " + REPORTED
        self.assertEqual(self.ctest(reported=much), 8)

    def test_three_flaky_tests_pass_and_a_fourth_in_a_later_run_fails(self):
        self.assertEqual(self.ctest(a=FLAKY, b=FLAKY, c=FLAKY), 0)
        self.assertEqual(self.ctest(d=FLAKY), 8)
        self.assertIn("3 were flaky before", self.output)

    def test_four_flaky_tests_fail(self):
        self.assertEqual(self.ctest(a=FLAKY, b=FLAKY, c=FLAKY, d=FLAKY), 8)

    def test_good_tests_run_once(self):
        self.assertEqual(self.ctest(good="test ! -e {state} && touch {state}"), 0)
        self.assertEqual(self.flaky(), [])

    def test_a_command_that_is_no_test_runner_is_refused(self):
        self.assertEqual(self.run_tool("make", "test"), 2)

    def node(self, **tests):
        run_tests = [shutil.copy(os.path.join(ROOT, "node", "tools", name), self.write(f"node/tools/{name}", ""))
                     for name in ("run-tests.mjs", "failed-tests.mjs")][0]
        for name, body in tests.items():
            self.write(f"node/build/test/{name}.test.js", 'import assert from "node:assert"; import fs from "node:fs";'
                       f'import {{ describe, it }} from "node:test"; {body}')
        self.write("node/package.json", '{"type": "module"}')
        found = subprocess.run([os.path.join(ROOT, "tools", "find_node")], stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode != 0:
            self.skipTest("there is no Node")
        return self.run_tool(os.path.join(found.stdout.strip(), "node"), run_tests, cwd=os.path.join(self.top, "node"))

    NODE_FLAKY = ('describe("a group", () => { it("is shaky", () => { if (!fs.existsSync("state")) {'
                  ' fs.writeFileSync("state", ""); assert.equal(7, 8); } }); });')
    NODE_GOOD = ('it("is good", () => { assert.ok(!fs.existsSync("ran")); fs.writeFileSync("ran", ""); });'
                 'it("is to be done", { todo: true }, () => { assert.equal(1, 2); });')

    def test_of_node_only_the_failed_files_are_repeated(self):
        self.assertEqual(self.node(good=self.NODE_GOOD, shaky=self.NODE_FLAKY), 0, self.output)
        self.assertEqual(self.flaky(), ["shaky.test.js:1 is shaky"])
        self.assertIn("AssertionError", self.output.partition("flaky: shaky.test.js:1 is shaky failed")[2])

    def test_a_file_of_node_that_fails_twice_fails(self):
        self.assertEqual(self.node(bad="process.exit(3);", shaky=self.NODE_FLAKY), 1)
        self.assertEqual(self.flaky(), ["shaky.test.js:1 is shaky"])


if __name__ == "__main__":
    unittest.main()
