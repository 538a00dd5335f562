"""Every place that has the version has the same one, and the changelog describes it."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = {
    "python/pyproject.toml": r'^version = "(.+)"$',
    "web/openapi.yaml": r"^  version: (.+)$",
    "docs/guides/operate.md": r"/millpond_(\d[\d.]*)_amd64\.deb",
    "docs/start/node.md": r"/millpond-(?:shm-linux-x64-)?(\d[\d.]*)\.tgz",
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


class Release(unittest.TestCase):
    """`tools/release/version`, in a small repository with the files that it reads."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("CMakeLists.txt", "docs/reference/layouts.md", "tools/release/version"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "tests/golden").mkdir(parents=True)
        for golden in (ROOT / "tests/golden").iterdir():
            (self.root / "tests/golden" / golden.name).write_text("golden\n")
        self.version = re.search(r"^project\(millpond VERSION ([\d.]+) ", text_of("CMakeLists.txt"), re.MULTILINE)[1]
        (self.root / "CHANGELOG.md").write_text(f"## [{self.version}] - 2026-01-02\n")
        (self.root / "SECURITY.md").write_text("Write to security@publisher.example.\n")
        self.git("init", "-q")
        self.commit()

    def git(self, *arguments):
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
        return subprocess.run(["git", "-C", self.root, *identity, *arguments], check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "all", "--allow-empty")

    def run_version(self, *arguments):
        done = subprocess.run([self.root / "tools/release/version", *arguments], capture_output=True, text=True, check=False)
        return done.returncode, (done.stdout or done.stderr).strip()

    def assert_refused(self, text):
        code, found = self.run_version(self.version)
        self.assertEqual(code, 2, found)
        self.assertIn(text, found)

    def test_a_checkout_that_is_ready_has_its_version(self):
        self.assertEqual(self.run_version(self.version), (0, self.version))

    def test_between_releases_count_and_hash_are_in_it(self):
        hash_of_head = self.git("rev-parse", "--short=10", "HEAD").strip()
        self.assertEqual(self.run_version(), (0, f"{self.version}~git1.{hash_of_head}"))
        self.git("tag", f"v{self.version}")
        self.assertEqual(self.run_version(), (0, self.version))

    def test_what_is_not_ready_is_refused(self):
        (self.root / "new").write_text("")
        self.assert_refused("the checkout has changes")
        (self.root / "new").unlink()
        code, text = self.run_version("9.9.9")
        self.assertEqual((code, "CMakeLists.txt has version" in text), (2, True), text)
        (self.root / "SECURITY.md").write_text("Write to security@example.invalid.\n")
        self.commit()
        self.assert_refused("SECURITY.md has no address")
        (self.root / "CHANGELOG.md").write_text("## [Unreleased]\n")
        self.commit()
        self.assert_refused(f"CHANGELOG.md has no section [{self.version}]")

    def test_a_layout_without_a_golden_file_is_refused(self):
        # journal_v5_books is a second one of its layout.
        goldens = [path for path in (self.root / "tests/golden").iterdir() if re.match(r"(ring|journal|position)_v(?!\d+_books)", path.name)]
        self.assertEqual(len(goldens), 3)
        for golden in goldens:
            golden.unlink()
            self.commit()
            self.assert_refused(f"tests/golden has no {golden.name}")
            golden.write_text("")
            self.commit()
        page = self.root / "docs/reference/layouts.md"
        page.write_text(re.sub(r"(?m)^(\| message store[^|]*\| )\d+", r"\g<1>99", page.read_text()))
        self.commit()
        self.assert_refused("tests/golden has no store_v99")


unittest.main()
