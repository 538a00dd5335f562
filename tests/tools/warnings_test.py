"""Warnings are errors for developers (presets dev, asan and tsan), and not in builds by users."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
FOR_DEVELOPERS = {"dev", "asan", "tsan"}
# Excluded parts need more packages; the library and the program show the flags.
LEFT_OUT = [f"-DMILLPOND_BUILD_{what}=OFF" for what in ("TESTS", "BENCH", "FUZZ", "CALLGRIND")]


def presets():
    with open(os.path.join(ROOT, "CMakePresets.json"), encoding="utf-8") as file:
        all_presets = {preset["name"]: preset for preset in json.load(file)["configurePresets"]}

    def compiler(preset):
        own = preset.get("cacheVariables", {}).get("CMAKE_CXX_COMPILER")
        return own or compiler(all_presets[preset["inherits"]])

    return [name for name, preset in all_presets.items() if not preset.get("hidden") and shutil.which(compiler(preset))]


class WarningsAsErrors(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = folder.name

    def commands(self, *arguments):
        """The compile commands of our sources, as written by CMake."""
        command = ["cmake", "-B", self.build, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *arguments]
        run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout)
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
            made = [entry["command"].split() for entry in json.load(file)
                    if entry["file"].startswith(os.path.join(ROOT, "src") + os.sep)]
        self.assertTrue(made)
        return made

    def test_each_preset(self):
        names = presets()
        self.assertLessEqual({"dev", "tsan", "release", "package", "pgo", "bench"}, set(names))  # asan needs clang
        for name in names:
            with self.subTest(preset=name), tempfile.TemporaryDirectory() as self.build:
                for command in self.commands("--preset", name, *LEFT_OUT):
                    self.assertIn("-Wall", command)
                    self.assertEqual("-Werror" in command, name in FOR_DEVELOPERS, command)

    def test_a_build_without_a_preset(self):
        for command in self.commands("-DMILLPOND_BUILD_TESTS=OFF", "-DMILLPOND_BUILD_APPS=OFF"):
            self.assertNotIn("-Werror", command)

    def test_a_part_of_another_project_that_makes_its_own_warnings_errors(self):
        consumer = os.path.join(ROOT, "tests", "consumer", "app")
        for command in self.commands("-S", consumer, "-DWAY=subdirectory", f"-DMILLPOND_SOURCE={ROOT}",
                                     "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON", "-DMILLPOND_WARNINGS_AS_ERRORS=ON"):
            self.assertNotIn("-Werror", command)

    def test_no_other_file_of_the_build_asks_for_it(self):
        run = subprocess.run(["git", "grep", "-l", "-e", "-Werror", "--", "*CMakeLists.txt", "*.cmake", "*.json"],
                             cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(run.stdout.split(), ["CMakeLists.txt"])


if __name__ == "__main__":
    unittest.main()
