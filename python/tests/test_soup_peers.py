"""SoupBinTCP with independent clients and servers: PyPI's nasdaq-protocols, and Maven's nassau-core."""

from __future__ import annotations

import asyncio
import queue
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import millpond
import pytest
from itch_file import made_up_day

soup = pytest.importorskip("nasdaq_protocols.soup")

SESSION = "DAY001"
PATIENCE = 60.0
NASSAU = """<project><modelVersion>4.0.0</modelVersion><groupId>millpond</groupId><artifactId>peers</artifactId>
<version>1</version><packaging>pom</packaging><dependencies><dependency><groupId>com.paritytrading.nassau</groupId>
<artifactId>nassau-core</artifactId><version>1.0.0</version></dependency></dependencies></project>
"""


class Day:
    """An ITCH file, its messages, and the prices that a plain reading of its orders gives: (bid, ask), by symbol."""

    def __init__(self, path: Path) -> None:
        data, quotes = made_up_day(4_000, 20, seed=39)
        path.write_bytes(data)
        self.path = path
        self.messages: list[bytes] = []
        while data:
            size = int.from_bytes(data[:2], "big")
            self.messages.append(data[2 : 2 + size])
            data = data[2 + size :]
        self.prices = {stock: (bid, ask) for _, stock, bid, ask, *_ in quotes}


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    return Day(tmp_path_factory.mktemp("soup") / "day.itch")


@pytest.fixture
def replay(program: str, day: Day) -> Iterator[int]:
    """The port of the program's server, which has sent the whole day."""
    process = subprocess.Popen(
        [program, "replay", day.path, "--serve-soupbin", "127.0.0.1:0", "--speed", "max"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        served = re.search(r"served at 127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert served is not None
        yield int(served[1])
    finally:
        process.kill()
        process.wait()


def prices_of(ring: millpond.Ring) -> dict[str, tuple[int, int]]:
    """The best prices of the board in 1/10000, 0 for an empty side."""
    board = ring.board()
    return {
        row["symbol"]: tuple(
            int(row[f"{side}_px_00_nanos"]) // 100_000 if row[f"{side}_sz_00"] else 0 for side in ("bid", "ask")
        )
        for row in board
    }


def gateway_gets(program: str, ring_name: str, tmp_path: Path, port: int, day: Day) -> None:
    """A gateway that receives from the server has the prices of the day."""
    password = tmp_path / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    process = subprocess.Popen(
        [program, "gateway", "--ring", f"name={ring_name},huge_pages=none", "--metrics", "off", "--feed",
         f"name=f,format=itch,connect=127.0.0.1:{port},user=USER,password_file={password},stale_seconds=0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "Ctrl-C stops it." in line:
                break
        threading.Thread(target=process.stdout.read, daemon=True).start()
        ring = millpond.Ring(ring_name, prices="nanos")
        deadline = time.monotonic() + PATIENCE
        while (found := prices_of(ring)) != day.prices:
            assert process.poll() is None, said
            assert time.monotonic() < deadline, f"{found} instead of {day.prices}"
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()


def test_nasdaq_protocols_gets_the_day_from_our_server(replay: int, day: Day) -> None:
    async def receive(sequence: int) -> list[bytes]:
        ended = asyncio.Event()

        async def on_close() -> None:
            ended.set()

        got: list[bytes] = []

        async def on_message(message: Any) -> None:
            if isinstance(message, soup.SequencedData):
                got.append(message.data)
                if len(got) == len(day.messages) - sequence + 1:
                    ended.set()

        session = await soup.connect_async(
            ("127.0.0.1", replay), "USER", "secret", "", sequence, on_msg_coro=on_message, on_close_coro=on_close
        )
        await asyncio.wait_for(ended.wait(), PATIENCE)
        await session.close()
        return got

    assert asyncio.run(receive(1)) == day.messages
    assert asyncio.run(receive(3_001)) == day.messages[3_000:]
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(soup.connect_async(("127.0.0.1", replay), "USER", "secret", "DAY002"))


def test_our_client_gets_the_day_from_nasdaq_protocols(program: str, ring_name: str, tmp_path: Path, day: Day) -> None:
    ports: queue.Queue[int] = queue.Queue()
    requests: list[Any] = []
    stop = threading.Event()

    class Server(soup.SoupServerSession, session_type="server"):  # type: ignore[misc]
        async def on_login(self, message: Any) -> Any:
            requests.append(message)
            first = int(message.sequence)
            asyncio.get_running_loop().call_soon(self.send_from, first)
            return soup.LoginAccepted(SESSION, first)

        async def on_unsequenced(self, message: Any) -> None:
            raise AssertionError(message)

        def send_from(self, first: int) -> None:
            for message in day.messages[first - 1 :]:
                self.send_seq_msg(message)

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
        ports.put(server.sockets[0].getsockname()[1])
        while not stop.is_set():
            await asyncio.sleep(0.05)
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        gateway_gets(program, ring_name, tmp_path, ports.get(timeout=PATIENCE), day)
    finally:
        stop.set()
        thread.join()
    assert requests[0].user.strip() == "USER" and int(requests[0].sequence) == 1


@pytest.fixture(scope="module")
def nassau(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The class path of nassau-core and of NassauPeer.java."""
    for tool in ("mvn", "javac"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    folder = tmp_path_factory.mktemp("nassau")
    (folder / "pom.xml").write_text(NASSAU)
    fetched = subprocess.run(
        ["mvn", "-q", "-B", "-f", folder / "pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"],
        capture_output=True, text=True,
    )  # fmt: skip
    if fetched.returncode != 0:
        pytest.skip("Maven could not fetch nassau-core: " + fetched.stdout[-500:])
    classes = f"{folder}/*:{folder}"
    source = Path(__file__).with_name("NassauPeer.java")
    subprocess.run(["javac", "-cp", classes, "-d", folder, source], check=True)
    return classes


def test_nassau_gets_the_day_from_our_server(nassau: str, replay: int, day: Day) -> None:
    for first in (1, 3_001):
        output = subprocess.run(
            ["java", "-cp", nassau, "NassauPeer", "client", str(replay), str(first), str(len(day.messages))],
            check=True, capture_output=True, text=True, timeout=PATIENCE,
        ).stdout  # fmt: skip
        assert [bytes.fromhex(line) for line in output.split()] == day.messages[first - 1 :]


def test_our_client_gets_the_day_from_nassau(
    nassau: str, program: str, ring_name: str, tmp_path: Path, day: Day
) -> None:
    process = subprocess.Popen(
        ["java", "-cp", nassau, "NassauPeer", "server", SESSION, str(day.path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        gateway_gets(program, ring_name, tmp_path, int(process.stdout.readline()), day)
        assert process.stdout.readline().split() == ["USER", "secret", "1"]
    finally:
        process.kill()
        process.wait()
