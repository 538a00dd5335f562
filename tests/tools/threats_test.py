"""Checks that the tests of docs/guides/security.md exist, and that its services have the exposure that it states."""

import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guides/security.md").read_text(encoding="utf-8")


def tests():
    for path in (ROOT / "tests").rglob("*_test.cpp"):
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s+(\w+)\)", path.read_text(encoding="utf-8"), re.M):
            yield f"{suite}.{name}"


class Threats(unittest.TestCase):
    def test_each_attack_names_a_test_that_exists(self):
        rows = re.search(r"^## Threats$(.*?)^## ", PAGE, re.M | re.S)[1].strip().splitlines()
        rows = [row for row in rows if row.startswith("|")][2:]
        self.assertGreater(len(rows), 20)
        known = set(tests())
        for row in rows:
            named = re.findall(r"`(\w+\.\w+)`", row.split("|")[4])
            self.assertTrue(named or "make release" in row, row)
            self.assertEqual([name for name in named if name not in known], [], row)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
    def test_the_services_have_the_stated_exposure(self):
        stated = re.search(r"exposure of ([0-9.]+)", PAGE)[1]
        for unit in sorted((ROOT / "deploy/systemd").glob("*.service")):
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", unit], capture_output=True, text=True)
            self.assertIn(f"exposure level for {unit.name}: {stated} ", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
