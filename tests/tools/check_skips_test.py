"""tools/check_skips with made-up test results."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools", "check_skips")
RESULTS = """<testsuite>
<testcase name="core.A.Passes" status="run"/>
<testcase name="core.B.Fails" status="fail"><failure/></testcase>
<testcase name="net.C.Skips" status="notrun"><skipped/></testcase>
</testsuite>"""


class CheckSkips(unittest.TestCase):
    def check(self, expected, *arguments):
        """(exit code, lines of standard output)."""
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name) for name in ("expected", "results.xml")]
            cpu = os.path.join(folder, "cpuinfo")
            names.append(cpu)
            for name, text in zip(names, (expected, RESULTS, "flags\t\t: sse4_2 avx2 avx512bw\n")):
                with open(name, "w", encoding="utf-8") as file:
                    file.write(text)
            run = subprocess.run([sys.executable, TOOL, *arguments, "--cpu", cpu, *names[:2]], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True, check=False)
        return run.returncode, run.stdout.splitlines()

    def test_a_skip_on_the_list_is_counted(self):
        self.assertEqual(self.check("net.C.*  # why\n"), (0, ["1 passed, 1 failed, 1 skipped"]))

    def test_a_skip_that_is_not_on_the_list_is_named(self):
        code, lines = self.check("core.*\n")
        self.assertEqual(code, 1)
        self.assertIn("net.C.Skips", lines[0])
        self.assertEqual(lines[-1], "1 passed, 1 failed, 1 skipped")

    def test_what_needs_a_flag_may_be_skipped_only_where_the_processor_lacks_it(self):
        self.assertEqual(self.check("net.C.*  [without amx_bf16]  # why\n")[0], 0)
        for flag in ("avx2", "avx512bw"):
            self.assertEqual(self.check(f"net.C.*  [without {flag}]\n")[0], 1)

    def test_counts_of_another_run_are_added(self):
        self.assertEqual(self.check("net.*\n", "--add", "1400 passed, 0 failed, 20 skipped"),
                         (0, ["1401 passed, 1 failed, 21 skipped"]))

    def test_counts_that_are_none_are_refused(self):
        self.assertEqual(self.check("net.*\n", "--add", ""), (2, []))


if __name__ == "__main__":
    unittest.main()
