"""`tools/release/index` and `sign`: the lists of a release's files, and a signature that finds changes."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = {
    "millpond-0.1.0~git1.ab-linux-x86_64.tar.gz": ("archive", "x86_64"),
    "millpond-0.1.0~git1.ab-library.tar.gz": ("library", ""),
    "millpond_0.1.0~git1.ab_amd64.deb": ("deb", "amd64"),
    "millpond-shm-linux-arm64-0.1.0-git1.gab.tgz": ("npm", "arm64"),
    "millpond-0.1.0.dev1+gab.tar.gz": ("sdist", ""),
    "millpond-0.1.0.dev1+gab-cp311-cp311-manylinux_2_28_aarch64.whl": ("wheel", "aarch64"),
}


class ReleaseIndex(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "files")
        self.folder.mkdir()
        for name in KINDS:
            (self.folder / name).write_text(name)

    def run_in(self, *command, **variables):
        done = subprocess.run(command, cwd=self.folder, env={**os.environ, **variables}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.output = done.stdout
        return done.returncode

    def index(self):
        return self.run_in(ROOT / "tools/release/index", ".", "0.1.0~git1.ab")

    def test_every_file_is_listed_with_its_kind_and_sum(self):
        self.assertEqual(self.index(), 0, self.output)
        listed = json.loads((self.folder / "files.json").read_text())
        self.assertEqual({file["name"]: (file["kind"], file["architecture"]) for file in listed}, KINDS)
        self.assertEqual(self.run_in("sha256sum", "--check", "SHA256SUMS"), 0, self.output)
        (self.folder / "CHANGES.md").write_text("other\n")
        self.assertEqual(self.run_in("sha256sum", "--check", "SHA256SUMS"), 1, self.output)

    def test_a_file_of_no_known_kind_is_refused(self):
        (self.folder / "core.dump").write_text("")
        self.assertEqual(self.index(), 1)
        self.assertIn("core.dump is of no known kind", self.output)

    @unittest.skipUnless(shutil.which("gpg"), "gnupg is not installed")
    def test_the_signature_finds_other_sums_and_another_key(self):
        self.assertEqual(self.index(), 0, self.output)
        # The agent's socket has a path of at most 108 characters, and the agent ends with the folder.
        with tempfile.TemporaryDirectory(dir="/tmp") as home, tempfile.TemporaryDirectory(dir="/tmp") as other:
            for where, name in ((home, "release@example.invalid"), (other, "other@example.invalid")):
                self.assertEqual(self.run_in("gpg", "--batch", "--passphrase", "", "--quick-generate-key", name, "ed25519",
                                             "sign", GNUPGHOME=where), 0, self.output)
            sign = (ROOT / "tools/release/sign", ".", "release@example.invalid")
            verify = ("gpg", "--batch", "--verify", "SHA256SUMS.asc", "SHA256SUMS")
            self.assertEqual(self.run_in(*sign, GNUPGHOME=home), 0, self.output)
            self.assertEqual(self.run_in(*verify, GNUPGHOME=home), 0, self.output)
            self.assertEqual(self.run_in(*verify, GNUPGHOME=other), 2, self.output)
            self.assertNotEqual(self.run_in(*sign, GNUPGHOME=other), 0)
            with (self.folder / "SHA256SUMS").open("a") as sums:
                sums.write("0" * 64 + "  added\n")
            self.assertEqual(self.run_in(*verify, GNUPGHOME=home), 1, self.output)
            self.assertIn("BAD signature", self.output)


unittest.main()
