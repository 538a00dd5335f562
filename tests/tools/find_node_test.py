"""The Node that tools/find_node selects, on a made-up system whose programs, including npm, are in PATH."""

import os
import subprocess
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools", "find_node")
NODE = "#!/bin/sh\necho {}\n"
# Makes the package like `npm install --prefix FOLDER ... node-PLATFORM@VERSION`, and counts its runs.
NPM = """#!/bin/bash
echo run >>"$RUNS"
[ "$1 $2" = "install --prefix" ] || exit 3
package=${!#}
bin=$3/node_modules/${package%@*}/bin
mkdir -p "$bin"
printf '#!/bin/sh\\necho v%s\\n' "${package#*@}" >"$bin/node"
chmod +x "$bin/node"
"""


class FindNode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = os.path.join(folder.name, "bin")
        self.runs = os.path.join(folder.name, "runs")
        self.cache = os.path.join(folder.name, "cache")
        os.mkdir(self.bin)
        for tool in ("bash", "sh", "sed", "dirname", "uname", "mkdir", "flock", "touch", "chmod"):
            place = next(f"{place}/{tool}" for place in ("/usr/bin", "/bin") if os.path.exists(f"{place}/{tool}"))
            os.symlink(place, os.path.join(self.bin, tool))

    def install(self, name, text):
        with open(os.path.join(self.bin, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o755)

    def start(self, *arguments):
        environment = {"PATH": self.bin, "RUNS": self.runs, "XDG_CACHE_HOME": self.cache, "HOME": "/nonexistent"}
        return subprocess.Popen([TOOL, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def find(self, *arguments):
        """(exit code, folder, output of the Node in it, standard error)."""
        run = self.start(*arguments)
        out, err = run.communicate()
        folder = out.rstrip("\n")
        version = ""
        if run.returncode == 0:
            version = subprocess.run([f"{folder}/node", "--version"], capture_output=True, text=True, check=True).stdout
        return run.returncode, folder, version.strip(), err

    def npm_runs(self):
        if not os.path.exists(self.runs):
            return 0
        with open(self.runs, encoding="utf-8") as lines:
            return len(lines.readlines())

    def test_a_system_node_that_is_new_enough_is_used(self):
        self.install("npm", NPM)
        for version in ("v20.0.0", "v22.1.0", "v100.0.0"):
            self.install("node", NODE.format(version))
            self.assertEqual(self.find()[:3], (0, self.bin, version))
        self.assertEqual(self.npm_runs(), 0)

    def test_an_older_node_is_replaced_by_one_from_npm(self):
        self.install("npm", NPM)
        self.install("node", NODE.format("v18.20.4"))
        code, folder, version, _ = self.find()
        self.assertEqual(code, 0)
        self.assertTrue(folder.startswith(self.cache), folder)
        self.assertGreaterEqual(int(version[1:].split(".")[0]), 20)

    def test_a_missing_node_is_replaced_by_one_from_npm(self):
        self.install("npm", NPM)
        code, folder, _, _ = self.find()
        self.assertEqual(code, 0)
        self.assertTrue(folder.startswith(self.cache), folder)

    def test_an_exact_version_is_fetched_although_the_system_has_a_newer_one(self):
        self.install("npm", NPM)
        self.install("node", NODE.format("v24.0.0"))
        self.assertEqual(self.find("20.20.2")[2], "v20.20.2")

    def test_a_version_is_fetched_once_by_any_number_of_callers(self):
        self.install("npm", NPM)
        callers = [self.start() for _ in range(4)]
        folders = {caller.communicate()[0] for caller in callers}
        self.assertEqual([caller.returncode for caller in callers], [0] * 4)
        self.assertEqual(len(folders), 1)
        self.assertEqual(self.npm_runs(), 1)

    def test_a_download_that_failed_is_tried_again(self):
        self.install("npm", "#!/bin/bash\nexit 1\n")
        self.assertEqual(self.find()[0], 1)
        self.install("npm", NPM)
        self.assertEqual(self.find()[0], 0)

    def test_without_npm_the_message_names_the_command_that_installs_it(self):
        code, _, _, err = self.find()
        self.assertEqual(code, 1)
        self.assertIn("npm is missing; run: tools/install_packages node", err)


if __name__ == "__main__":
    unittest.main()
