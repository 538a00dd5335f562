"""The output of bench/machine_name for this processor."""

import os
import re
import subprocess
import unittest

MACHINE_NAME = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench", "machine_name")


def said(*options):
    return subprocess.run([MACHINE_NAME, *options], capture_output=True, text=True, check=True).stdout.strip()


class MachineName(unittest.TestCase):
    def test_the_name_is_one_of_a_folder(self):
        self.assertRegex(said(), r"^[a-z0-9]+(-[a-z0-9]+)*$")

    def test_the_processor_is_told_apart_from_others_of_its_model(self):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            text = file.read()
        known = dict(re.findall(r"^([^\t\n]+)\t*: (.*)$", text, re.M))
        if "cpu family" not in known:
            self.skipTest("the kernel names no family of this processor")
        processor = said("--processor")
        for part in (known["model name"], f"family {known['cpu family']}", f"model {known['model']}"):
            self.assertIn(part, processor)
        self.assertEqual("avx2" in processor, " avx2 " in known["flags"])


if __name__ == "__main__":
    unittest.main()
