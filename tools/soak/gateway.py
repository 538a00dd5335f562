"""A gateway with all its sinks, its consumers and its reports."""

import json
import pathlib
import re
import subprocess
import urllib.request

from clients import MIB, TcpClient, UdpReceiver, WebClient
from waiting import Failed, wait_for, wait_while_it_falls


CLIENTS = {"tcp": (TcpClient, r"tcp sink 'tcp': listens on \S+:(\d+)"),
           "web": (WebClient, r"web sink 'web': http://[^:]+:(\d+)/")}
SINKS = ("tcp", "web", "csv", "udp", "journal")  # the sinks without a broker


class Gateway:
    """Runs in its own folder, which must exist."""

    def __init__(self, program, folder, brokers=(), sinks=SINKS, pack=4):
        self.program, self.folder, self.brokers, self.sinks, self.pack = program, folder, brokers, sinks, pack
        self.ring = f"soak-{folder.name}"
        self.rows = 0  # in csv files that were removed
        self.udp = UdpReceiver()
        self.clients = []
        self.log = open(folder / "gateway.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(self.command(), stdout=self.log, stderr=subprocess.STDOUT)
        try:
            wait_for(lambda: "receive time by" in self.said() or self.process.poll() is not None, "the gateway")
            self.look_alive()
            self.feed = re.search(r"feed 'f': listens on ([^ ,]+)", self.said()).group(1)
            self.url = re.search(r"metrics: (http://[^/]+)/", self.said()).group(1)
            for kind, words in (CLIENTS[sink] for sink in sinks if sink in CLIENTS):
                self.clients.append(kind(int(re.search(words, self.said()).group(1))))
        except Failed:
            self.process.kill()
            raise

    def command(self):
        options = {
            "tcp": "listen=127.0.0.1:0,backlog=262144", "web": "listen=127.0.0.1:0",
            "csv": f"path={self.folder}/quotes.csv,rotate_bytes=64MiB", "udp": f"to=127.0.0.1:{self.udp.port}",
            "journal": f"folder={self.folder}/journal,segment_bytes=64MiB,keep_bytes=8GiB"}
        words = [
            self.program, "gateway", "--quiet", "--ring", f"name={self.ring},capacity=262144",
            "--feed", "name=f,listen=127.0.0.1:0,format=quotes,receive_buffer=32MiB", "--metrics", "127.0.0.1:0"]
        words += [word for sink in self.sinks for word in (f"--{sink}", options[sink])]
        return words + [word for broker in self.brokers for word in broker.sink()]

    def said(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")

    def look_alive(self):
        if self.process.poll() is not None:
            raise Failed("the gateway exited: " + self.said()[-2000:])

    def page(self, path):
        self.look_alive()
        with urllib.request.urlopen(self.url + path, timeout=30) as page:
            return page.read().decode()

    def health(self):
        return json.loads(self.page("/api/health"))

    def metric(self, name):
        return int(sum(float(v) for v in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", self.page("/metrics"), re.M)))

    def came(self):
        return self.metric("millpond_feed_quotes_total")

    def anonymous_memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"RssAnon:\s+(\d+)", text).group(1)) * 1024

    def count_rows(self, keep):
        """Counts the rows of full csv files and removes these, all but the newest `keep`."""
        full = sorted(self.folder.glob("quotes.csv.*"), key=lambda path: int(path.suffix[1:]))
        for path in full[:len(full) - keep] if keep else full:
            self.rows += count_lines(path) - 1
            path.unlink()

    def send(self, rate, seconds):
        return subprocess.Popen([self.program, "generate", "--format", "quotes", "--rate", str(rate), "--duration",
                                 str(seconds), "--symbols", "500", "--pack", str(self.pack), "--to", self.feed, "--quiet",
                                 "--live"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def losses_by_part(self):
        """Losses of the feed, of every sink and of the consumers, by name."""
        health = self.health()
        lost = {"receive": sum(feed["kernel_drops"] + feed["missing"] for feed in health["feeds"])}
        lost |= {f"{sink['name']} sink": sink["missed"] for sink in health["sinks"]}
        lost |= {client.NAME: client.account()["missed"] for client in self.clients}
        return lost | {"udp receiver": self.udp.missing}

    def losses(self):
        return sum(self.losses_by_part().values())

    def queued(self):
        return sum(sink["queued"] for sink in self.health()["sinks"])

    def settle(self):
        wait_while_it_falls(self.queued, "events queued in the sinks")

    def stop(self):
        for client in (*self.clients, self.udp):
            client.stopping = True
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired as late:
                self.process.kill()
                raise Failed("the gateway did not stop within 60 s") from late


def count_lines(path):
    lines = 0
    with open(path, "rb") as file:
        while part := file.read(MIB):
            lines += part.count(b"\n")
    return lines
