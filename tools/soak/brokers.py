"""Local brokers for a gateway: mosquitto and a Kafka of one node, if installed."""

import contextlib
import os
import pathlib
import shutil
import socket
import struct
import subprocess

from waiting import Failed, wait_for

TOOLS = pathlib.Path(__file__).resolve().parent.parent
PARTITIONS = 3  # of a topic, as in tools/kafka_broker


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


class Broker:
    """A process that listens on `port`."""

    def __init__(self, command, port):
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: answers(port) or self.process.poll() is not None, command[0])
            if self.process.poll() is not None:
                raise Failed(f"{command[0]} exited with status {self.process.returncode}")
        except Failed:
            self.stop()
            raise

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Mosquitto(Broker):
    LIBRARY = "mqtt"

    @staticmethod
    def missing():
        """The reason why it is not available, or None."""
        return None if Mosquitto.program() else "mosquitto is not installed"

    @staticmethod
    def program():
        return shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")

    def __init__(self, _folder):
        port = free_port()
        super().__init__([self.program(), "-p", str(port)], port)

    def sink(self):
        return ["--mqtt", f"broker=127.0.0.1:{self.port}"]


class Kafka(Broker):
    LIBRARY = "kafka"

    @staticmethod
    def missing():
        jars = os.environ.get("MILLPOND_KAFKA_JARS")
        if not jars:
            return "MILLPOND_KAFKA_JARS does not name a folder (tools/fetch_kafka)"
        return None if shutil.which("java") else "java is not installed"

    def __init__(self, folder):
        port, controller = free_port(), free_port()
        # Deletes old messages; the numbers of the others, which are compared, do not change.
        super().__init__([str(TOOLS / "kafka_broker"), str(folder / "kafka"), "127.0.0.1", str(port), str(controller),
                          "log.segment.bytes=67108864", "log.retention.bytes=268435456",
                          "log.retention.check.interval.ms=10000"], port)

    def sink(self):
        return ["--kafka", f"brokers=127.0.0.1:{self.port}"]

    def messages(self):
        """The number of messages in all default topics of the sink."""
        return sum(self.end(topic, partition) for topic in ("bbo", "millpond.events")
                   for partition in range(PARTITIONS))

    def end(self, topic, partition):
        """The number after the newest message. Source: Kafka protocol guide, ListOffsets version 1."""
        name = topic.encode()
        words = (struct.pack(">hhih", 2, 1, 1, -1) + struct.pack(">ii", -1, 1) + struct.pack(">h", len(name)) + name +
                 struct.pack(">iiq", 1, partition, -1))
        with socket.create_connection(("127.0.0.1", self.port), 10) as link, link.makefile("rb") as answer:
            link.sendall(struct.pack(">i", len(words)) + words)
            body = answer.read(struct.unpack(">i", answer.read(4))[0])
        error, _, offset = struct.unpack(">hqq", body[-18:])
        if error == 3:  # the topic does not exist: no message was sent to it
            return 0
        if error != 0:
            raise Failed(f"Kafka did not return the number of messages in {topic}: error {error}")
        return offset


def built_with(program, library, folder):
    """The error with which the program refuses such a sink, or None."""
    file = folder / f"{library}.toml"
    file.write_text(f'[[ring]]\nname = "x"\n[[feed]]\nlisten = "127.0.0.1:0"\n[[journal]]\nfolder = "{folder}"\n'
                    f'[[{library}]]\n')
    check = subprocess.run([program, "config", "check", str(file)], capture_output=True, text=True, check=False)
    return None if check.returncode == 0 else check.stderr.strip()


def start(program, folder):
    """The available brokers; prints the missing ones, and why."""
    with contextlib.ExitStack() as stop_if_one_fails:
        brokers = []
        for kind in (Mosquitto, Kafka):
            reason = kind.missing() or built_with(program, kind.LIBRARY, folder)
            if reason:
                print(f"sink '{kind.LIBRARY}' is left out: {reason}", flush=True)
            else:
                brokers.append(kind(folder))
                stop_if_one_fails.callback(brokers[-1].stop)
        stop_if_one_fails.pop_all()
        return brokers
