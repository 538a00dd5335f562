"""Every place that has the version has the same one, and the changelog describes it."""

import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = {
    "python/pyproject.toml": r'^version = "(.+)"$',
    "web/openapi.yaml": r"^  version: (.+)$",
    "docs/guides/operate.md": r"/millpond_(\d[\d.]*)_amd64\.deb",
    "docs/start/node.md": r"/millpond-(\d[\d.]*)\.tgz",
}


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


class Version(unittest.TestCase):
    def setUp(self):
        self.version = re.search(r"^project\(millpond VERSION ([\d.]+) ", text_of("CMakeLists.txt"), re.MULTILINE)[1]

    def test_texts_have_it(self):
        for name, pattern in PLACES.items():
            found = re.findall(pattern, text_of(name), re.MULTILINE)
            self.assertEqual(set(found), {self.version}, name)

    def test_npm_packages_have_it(self):
        package = json.loads(text_of("node/package.json"))
        shm = json.loads(text_of("node/shm/package.json"))
        lock = json.loads(text_of("node/package-lock.json"))
        versions = [package["version"], package["peerDependencies"][shm["name"]], shm["version"], lock["version"],
                    lock["packages"][""]["version"], lock["packages"][""]["peerDependencies"][shm["name"]]]
        self.assertEqual(set(versions), {self.version})

    def test_the_changelog_s_newest_release_is_it(self):
        releases = re.findall(r"^## \[(\d[\d.]*)\] - \d{4}-\d\d-\d\d$", text_of("CHANGELOG.md"), re.MULTILINE)
        self.assertEqual(releases[0], self.version)


unittest.main()
