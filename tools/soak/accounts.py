"""Checks that every account of a gateway adds up, and that its consumers have received what it delivered."""

import re
import subprocess

from brokers import Kafka
from gateway import count_lines
from waiting import wait_for


class Accounts:
    """Read when nothing is queued in the gateway; `faults` lists errors."""

    def __init__(self, gateway, sent):
        self.gateway, self.sent = gateway, sent
        self.faults, self.lines = [], []
        self.sinks = {sink["name"]: sink for sink in gateway.health()["sinks"]}
        self.delivered = {name: sink["delivered"] + sink["snapshot"] for name, sink in self.sinks.items()}
        self.removed = gateway.metric("millpond_journal_removed_segments_total")

    def same(self, what, left, right):
        if left != right:
            self.faults.append(f"{what}: {left} and {right}")

    def say(self, line):
        self.lines.append(line)
        print(line, flush=True)

    def check(self):
        """Checks that need a running gateway and its brokers."""
        self.check_feed()
        for name, sink in self.sinks.items():
            parts = sink["delivered"] + sink["filtered"] + sink["conflated"] + sink["missed"] + sink["queued"]
            self.same(f"account of sink '{name}' (published; sum of its parts)", sink["published"], parts)
            self.say(f"sink {name:8} published {sink['published']:>11} delivered {sink['delivered']:>11} "
                     f"filtered {sink['filtered']:>5} conflated {sink['conflated']:>9} missed {sink['missed']}")
        for client in self.gateway.clients:
            self.check_client(client)
        self.check_udp()
        self.say(f"lost anywhere: {self.gateway.losses()}")
        for broker in self.gateway.brokers:
            if isinstance(broker, Kafka):
                self.check_kafka(broker)

    def check_feed(self):
        came = self.gateway.came()
        missing = self.gateway.metric("millpond_feed_sequence_missing_total")
        drops = self.gateway.health()["feeds"][0]["kernel_drops"]
        self.say(f"feed: {self.sent} sent, {came} received, {missing} missing")
        # The number of datagrams lost after the last received one is unknown.
        if came + missing > self.sent or (drops == 0 and came + missing != self.sent):
            self.faults.append(f"feed: {self.sent} sent, {came} received, {missing} missing, {drops} dropped by the kernel")

    def check_client(self, client):
        account = client.account()
        parts = sum(account[part] for part in ("delivered", "filtered", "conflated", "missed", "queued"))
        self.same(f"account of the {client.NAME} (published; sum of its parts)", account["published"], parts)
        self.say(f"{client.NAME}: delivered {account['delivered']}, conflated {account['conflated']}, "
                 f"missed {account['missed']}")

    def check_udp(self):
        udp = self.gateway.udp
        wait_for(lambda: udp.quotes + udp.missing >= self.delivered["udp"], "the udp receiver")
        delivered = self.delivered["udp"]
        # Among the missing entries may be repeated ones, which nobody counts as delivered.
        if not udp.quotes <= delivered <= udp.quotes + udp.missing:
            self.faults.append(f"udp: {delivered} delivered, {udp.quotes} received, {udp.missing} missing")
        self.say(f"udp receiver: {udp.quotes} quotes, {udp.missing} missing")

    def check_kafka(self, broker):
        """Checks that every journal record is in a topic, or reported there as lost."""
        messages, told = broker.messages(), self.gateway.metric("millpond_kafka_messages_total")
        lost, sink = self.gateway.metric("millpond_kafka_lost_total"), self.sinks["kafka"]
        self.say(f"kafka: {messages} messages in its topics, {told} acknowledged, {lost} records lost")
        self.same("kafka (messages in the topics; acknowledged)", messages, told)
        self.same("kafka (records lost; missed)", lost, sink["missed"])
        if lost == 0:
            self.same("kafka (messages in the topics; delivered)", messages, self.delivered["kafka"])
        if lost == self.sinks["journal"]["missed"] == 0:
            self.same("kafka (delivered; events in the journal)", self.delivered["kafka"], self.delivered["journal"])

    def check_files(self):
        """Checks of the files of a stopped gateway."""
        gateway = self.gateway
        gateway.count_rows(keep=0)
        self.same("csv (rows; delivered)", gateway.rows + count_lines(gateway.folder / "quotes.csv") - 1,
                  self.delivered["csv"])
        verified = subprocess.run([gateway.program, "journal", "verify", str(gateway.folder / "journal")],
                                  capture_output=True, text=True, check=False)
        self.say(verified.stdout.strip())
        if verified.returncode != 0:
            self.faults.append("journal: not good")
            return
        self.check_journal(verified.stdout)

    def check_journal(self, verified):
        """verified: the output of `millpond journal verify` for its folder."""
        events = sum(int(n) for n in re.findall(r"(?:quotes|trades|statuses|gaps|clears) (\d+)", verified))
        if self.removed == 0:
            self.same("journal (events; delivered)", events, self.delivered["journal"])
            return
        self.say(f"journal: retention has removed {self.removed} segments; {events} events remain")
        # The number of names among the removed records is unknown.
        if not 0 < events < self.delivered["journal"]:
            self.faults.append(f"journal: {events} of {self.delivered['journal']} events remain")
