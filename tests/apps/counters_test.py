"""Checks that each counter of /metrics has a finding and an alert, or a reason for having none, in
docs/reference/counters.md.

    counters_test.py PROGRAM [--write]    PROGRAM: millpond; --write: write the page, then compare
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/reference/counters.md"
PROGRAM = sys.argv[1]

GATEWAY = """
state = "{folder}/state"
metrics = "127.0.0.1:0"
capture = "{folder}/capture"
[[ring]]
name = "{ring}"
[[feed]]
name = "itch"
listen = "127.0.0.1:{port[0]}"
line_b = "127.0.0.1:{port[1]}"
format = "itch"
rerequest = "127.0.0.1:{port[2]}"
rebuild = true
glimpse = "127.0.0.1:{port[7]}"
user = "U"
password_file = "{folder}/password"
[[feed]]
name = "soupbin"
connect = "127.0.0.1:{port[7]}"
format = "itch"
user = "U"
password_file = "{folder}/password"
[[feed]]
name = "miax"
listen = "127.0.0.1:{port[3]}"
format = "miax-tom"
[[feed]]
name = "quotes"
listen = "127.0.0.1:{port[4]}"
format = "quotes"
[[feed]]
name = "bbo"
listen = "127.0.0.1:{port[5]}"
format = "bbo28"
[[feed]]
name = "deep"
listen = "127.0.0.1:{port[8]}"
format = "iex-deep"
rerequest = "127.0.0.1:{port[2]}"
rerequest_tcp = "127.0.0.1:{port[2]}"
snap = "127.0.0.1:{port[7]}"
snap_token_file = "{folder}/password"
[[tcp]]
listen = "127.0.0.1:0"
[[web]]
listen = "127.0.0.1:0"
[[csv]]
path = "{folder}/quotes.csv"
[[udp]]
to = "127.0.0.1:{port[6]}"
[[journal]]
folder = "{folder}/journal"
segment_bytes = "1MiB"
[[mqtt]]
broker = "127.0.0.1:{port[7]}"
[[kafka]]
brokers = ["127.0.0.1:{port[7]}"]
"""

ENGINE = """
metrics = "127.0.0.1:0"
state = "{folder}/{name}"
raw_log = "{folder}/{name}.log"
{top}
[[acceptor]]
listen = "127.0.0.1:0"
[[session]]
sender = "HOUSE"
target = "A"
{session}
[[session]]
sender = "HOUSE"
target = "COPY"
[[session]]
sender = "B"
target = "VENUE"
hosts = ["127.0.0.1:{port[7]}"]
[[drop_copy]]
sources = ["FIX.4.4:HOUSE->A"]
target = "FIX.4.4:HOUSE->COPY"
"""

STANDBY = """
[standby]
listen = "127.0.0.1:0"
tls_certificate = "{folder}/pem"
tls_key = "{folder}/key"
token_file = "{folder}/token"
"""

OF_STANDBY = """
[session.standby]
address = "127.0.0.1:{port[7]}"
tls_authorities = "{folder}/pem"
token_file = "{folder}/token"
"""


def free_ports(count):
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Counters(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="millpond-counters-")
        self.addCleanup(self.folder.cleanup)
        self.values = {"folder": self.folder.name, "port": free_ports(9), "ring": "counters-" + str(free_ports(1)[0])}

    def metrics_of(self, name, text, *command):
        """Starts a daemon with this configuration and returns the path of a file with its /metrics page."""
        folder = pathlib.Path(self.folder.name)
        (folder / f"{name}.toml").write_text(text)
        process = subprocess.Popen([PROGRAM, *command, "--config", str(folder / f"{name}.toml")], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**os.environ, "XDG_STATE_HOME": self.folder.name})
        try:
            output = ""
            for line in process.stdout:
                output += line
                address = re.search(r"metrics.*http://(\S+?)/metrics", line)
                if address:
                    page = urllib.request.urlopen(f"http://{address[1]}/metrics", timeout=60).read()
                    (folder / f"{name}.metrics").write_bytes(page)
                    return str(folder / f"{name}.metrics")
            if "this build has no" in output:
                self.skipTest(output)
            raise AssertionError(output)
        finally:
            process.kill()
            process.communicate()

    def pages(self):
        folder = pathlib.Path(self.folder.name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=x", "-keyout", folder / "key", "-out", folder / "pem"],
                       check=True, capture_output=True)
        (folder / "token").write_text("a-token-that-both-know\n")
        (folder / "password").write_text("secret\n")
        for secret in ("key", "token", "password"):
            (folder / secret).chmod(0o600)

        def engine(name, top="", session=""):
            return self.metrics_of(name, ENGINE.format(name=name, top=top, session=session, **self.values), "fix",
                                   "acceptor")

        return [self.metrics_of("gateway", GATEWAY.format(**self.values), "gateway"),
                engine("primary", session=OF_STANDBY.format(**self.values)),
                engine("standby", top=STANDBY.format(**self.values))]

    def counters(self, pages):
        return subprocess.run([ROOT / "tools/counters", *pages], capture_output=True, text=True)

    def test_each_has_a_finding_and_an_alert_or_a_reason(self):
        pages = self.pages()
        made = self.counters(pages)
        self.assertEqual(made.stderr, "")
        if "--write" in sys.argv:
            PAGE.write_text(made.stdout)
        self.assertEqual(PAGE.read_text(), made.stdout, "run counters_test.py PROGRAM --write")
        # Adds a counter that counters.txt does not list.
        gateway = pathlib.Path(pages[0])
        gateway.write_text(gateway.read_text() + "# HELP millpond_new_lost_total Lost.\n"
                           "# TYPE millpond_new_lost_total counter\nmillpond_new_lost_total 0\n")
        added = self.counters(pages)
        self.assertEqual(added.returncode, 1)
        self.assertEqual(added.stderr, "counters: millpond_new_lost_total has no line in counters.txt\n")


if __name__ == "__main__":
    unittest.main(argv=["counters_test.py"])
