"""FIX logs as tables, compared with simplefix."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import millpond
import pytest
import simplefix
import zstandard
from conftest import LONG
from hypothesis import given, settings
from hypothesis import strategies as st
from millpond import fix

pyarrow = pytest.importorskip("pyarrow")

SOH = "\x01"


def message(kind: str, number: int, *more: tuple[int, str]) -> bytes:
    made = simplefix.FixMessage()
    made.append_pair(8, "FIX.4.4", header=True)
    made.append_pair(35, kind, header=True)
    made.append_pair(49, "HOUSE", header=True)
    made.append_pair(56, "CLIENT", header=True)
    made.append_pair(34, number, header=True)
    made.append_pair(52, "20261121-18:12:03.123", header=True)
    for tag, value in more:
        made.append_pair(tag, value)
    return made.encode()


def raw(data: bytes, direction: str = "<", session: str = "FIX.4.4:HOUSE->CLIENT") -> bytes:
    escaped = data.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
    return f"20261121-18:12:03.123456789 {direction} {session} ".encode() + escaped + b"\n"


def generated(count: int, seed: int = 1) -> list[bytes]:
    random_ = random.Random(seed)
    texts = ["plain", "with = sign", "line\nend", "back\\slash", "\\n", "x" * 500]
    all_ = []
    for number in range(1, count + 1):
        entries: list[tuple[int, str]] = [(55, random_.choice(["AAPL", "MSFT"])), (58, random_.choice(texts))]
        entries.append((268, str(random_.randrange(0, 4))))
        for _ in range(int(entries[-1][1])):
            entries += [(269, random_.choice("01")), (270, f"{random_.randrange(1, 10_000) / 100}")]
        all_.append(message(random_.choice(["W", "D", "8"]), number, *entries))
    return all_


def parsed_by_simplefix(messages: list[bytes]) -> list[simplefix.FixMessage]:
    parser = simplefix.FixParser(allow_empty_values=True)
    found = []
    for message in messages:  # one message at a time: its time is quadratic in the buffer's length
        parser.append_buffer(message)
        while (each := parser.get_message()) is not None:
            found.append(each)
    return found


def text_of(each: simplefix.FixMessage, tag: int) -> str | None:
    value = each.get(tag)
    return None if value is None else value.decode()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("pieces", [False, True])
def test_messages_equal_simplefix_s(tmp_path: Path, pieces: bool, packed: bool) -> None:
    messages = generated(3_000)
    stream = b"".join(messages)
    random_ = random.Random(2)
    if pieces:  # split anywhere, like reads of a socket
        cuts = sorted({0, len(stream), *(random_.randrange(len(stream)) for _ in range(5_000))})
        lines = b"".join(raw(stream[a:b]) for a, b in zip(cuts, cuts[1:]))
    else:
        lines = b"".join(map(raw, messages))
    path = tmp_path / "raw.log"
    path.write_bytes(gzip.compress(lines) if packed else lines)
    scanned = fix.scan(path, tags=[55, 58, 999], groups=[269, 270])
    table = scanned.to_arrow()
    table.validate(full=True)
    expected = parsed_by_simplefix(messages)
    assert table.num_rows == len(expected) == 3_000
    assert table["msg_type"].to_pylist() == [text_of(each, 35) for each in expected]
    assert table["seq_num"].to_pylist() == [int(each.get(34)) for each in expected]
    for tag in ("55", "58"):
        assert table[tag].to_pylist() == [text_of(each, int(tag)) for each in expected]
    for tag in (b"269", b"270"):
        lists = [[value.decode() for found, value in each.pairs if found == tag] for each in expected]
        assert table[tag.decode()].to_pylist() == lists
    assert table["999"].null_count == 3_000
    assert set(table["direction"].to_pylist()) == {"in"}
    assert set(table["session"].to_pylist()) == {"FIX.4.4:HOUSE->CLIENT"}
    assert scanned.report.ok and scanned.report.counts["messages"] == 3_000


def test_a_long_log_equals_simplefix_s(tmp_path: Path) -> None:
    """Compares by chunks, since simplefix's messages take much memory; the log is split anywhere, like reads of a
    socket.
    """
    chunk, chunks = 20_000, 50 if LONG else 1
    path = tmp_path / "raw.log"
    random_ = random.Random(3)
    with path.open("wb") as file:
        for seed in range(chunks):
            stream = b"".join(generated(chunk, seed))
            cuts = sorted({0, len(stream), *(random_.randrange(len(stream)) for _ in range(2 * chunk))})
            file.writelines(raw(stream[a:b]) for a, b in zip(cuts, cuts[1:]))
    scanned = fix.scan(path, tags=[55, 58], groups=[269, 270])
    table = scanned.to_arrow()
    assert table.num_rows == chunk * chunks == scanned.report.counts["messages"] and scanned.report.ok
    for seed in range(chunks):
        expected = parsed_by_simplefix(generated(chunk, seed))
        part = table.slice(seed * chunk, chunk)
        assert part["msg_type"].to_pylist() == [text_of(each, 35) for each in expected]
        assert part["seq_num"].to_pylist() == [int(each.get(34)) for each in expected]
        for tag in ("55", "58"):
            assert part[tag].to_pylist() == [text_of(each, int(tag)) for each in expected]
        for tag in (b"269", b"270"):
            lists = [[value.decode() for found, value in each.pairs if found == tag] for each in expected]
            assert part[tag.decode()].to_pylist() == lists


def test_a_value_is_null_where_its_message_has_none(tmp_path: Path) -> None:
    random_ = random.Random(4)
    texts = [random_.choice([None, None, "", "text"]) if number > 20 else "first" for number in range(1_000)]
    path = tmp_path / "raw.log"
    path.write_bytes(b"".join(raw(message("D", 1, *([] if text is None else [(58, text)]))) for text in texts))
    scanned = fix.scan(path, tags=[58])
    table = scanned.to_arrow()
    table.validate(full=True)
    assert table["58"].to_pylist() == texts and table["58"].null_count == texts.count(None)


def test_streams_of_both_directions_are_joined_separately(tmp_path: Path) -> None:
    one, two = message("D", 1), message("8", 1)
    path = tmp_path / "raw.log"
    path.write_bytes(raw(one[:40], "<") + raw(two[:50], ">") + raw(one[40:], "<") + raw(two[50:], ">"))
    table = fix.scan(path).to_arrow()
    assert table.select(["direction", "msg_type", "line"]).to_pylist() == [
        {"direction": "in", "msg_type": "D", "line": 3},
        {"direction": "out", "msg_type": "8", "line": 4},
    ]


def test_messages_with_masked_secrets_are_read_and_marked(tmp_path: Path) -> None:
    logon = message("A", 1, (553, "user"), (554, "secret"))
    path = tmp_path / "raw.log"
    path.write_bytes(raw(logon.replace(b"secret", b"******")))
    table = fix.scan(path, tags=[554]).to_arrow()
    assert table.select(["masked", "554"]).to_pylist() == [{"masked": 1, "554": "******"}]


@pytest.mark.parametrize("delimiter", ["|", "^A", "<SOH>", ";", SOH])
def test_logs_of_other_programs_are_read(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "other.log"
    text = message("D", 7, (55, "AAPL")).decode().replace(SOH, delimiter)
    path.write_text(f"INFO 2026-11-21 sent: {text}\nnothing here\n")
    table = fix.scan(path, tags=[55]).to_arrow()
    assert table.select(["ts", "direction", "msg_type", "seq_num", "55"]).to_pylist() == [
        {"ts": None, "direction": None, "msg_type": "D", "seq_num": 7, "55": "AAPL"}
    ]


def test_the_acceptance_scripts_messages_equal_simplefix_s(data: Path, tmp_path: Path) -> None:
    lines = []
    for script in sorted((data / "fix-acceptance").rglob("*.def")):
        for line in script.read_text(errors="replace").splitlines():
            if line.startswith(("I8=FIX", "E8=FIX")):
                body = line[1:].replace("<TIME>", "20261121-18:12:03.123")
                fields = [field for field in body.split(SOH) if field and not field.startswith(("8=", "9=", "10="))]
                pairs = [tuple(field.split("=", 1)) for field in fields]
                if not pairs or pairs[0][0] != "35" or any(len(pair) != 2 or not pair[0].isdigit() for pair in pairs):
                    continue
                made = simplefix.FixMessage()
                made.append_pair(8, body.split(SOH)[0][2:], header=True)
                for tag, value in pairs:
                    made.append_pair(int(tag), value)
                lines.append(made.encode())
    assert len(lines) > 300
    path = tmp_path / "scripts.log"
    path.write_bytes(b"".join(map(raw, lines)))
    table = fix.scan(path, tags=[49, 56, 58, 112]).to_arrow()
    expected = parsed_by_simplefix(lines)
    assert table.num_rows == len(expected)
    assert table["msg_type"].to_pylist() == [text_of(each, 35) for each in expected]
    for tag in ("49", "56", "58", "112"):
        assert table[tag].to_pylist() == [text_of(each, int(tag)) for each in expected]


def test_a_dictionary_gives_names(tmp_path: Path) -> None:
    names = tmp_path / "small.xml"
    names.write_text(
        "<fix><messages><message name='NewOrderSingle' msgtype='D' msgcat='app'/></messages>"
        "<fields><field number='55' name='Symbol' type='STRING'/></fields></fix>"
    )
    path = tmp_path / "raw.log"
    path.write_bytes(raw(message("D", 1, (55, "AAPL"))) + raw(message("0", 2)))
    table = fix.scan(path, tags=["Symbol"], dictionary=names).to_arrow()
    assert table.select(["message", "Symbol"]).to_pylist() == [
        {"message": "NewOrderSingle", "Symbol": "AAPL"},
        {"message": None, "Symbol": None},
    ]
    assert fix.scan(path, types=["0"]).to_arrow()["seq_num"].to_pylist() == [2]
    with pytest.raises(ValueError, match="Sybmol"):
        fix.scan(path, tags=["Sybmol"], dictionary=names)
    names.write_text("<fix><fields><field name='x'/></fields></fix>")
    with pytest.raises(millpond.DamagedFile, match="small.xml"):
        fix.scan(path, dictionary=names)
    with pytest.raises(FileNotFoundError):
        fix.scan(tmp_path / "nothing.log")


def test_damage_is_reported_and_the_rest_is_kept(tmp_path: Path) -> None:
    bad = message("D", 2).replace(b"HOUSE", b"MOUSE")
    path = tmp_path / "raw.log"
    path.write_bytes(raw(message("D", 1)) + raw(bad) + raw(message("D", 3)) + b"# lost: 3 pieces, 615 bytes\n")
    scanned = fix.scan(path)
    with pytest.warns(millpond.MillpondWarning, match="CheckSum"):
        table = scanned.to_arrow()
    assert table["seq_num"].to_pylist() == [1, 3]
    assert scanned.report.counts["faulty"] == 1 and scanned.report.counts["remarks"] == 1
    second = len(raw(message("D", 1)))
    assert scanned.report.errors[0].startswith(f"'{path}', line 2 at byte {second}: ")


def test_the_log_s_remark_on_a_reject_does_not_count_as_a_loss(tmp_path: Path) -> None:
    whole = raw(message("D", 2))
    line, half = whole[: len(whole) // 2] + b"\n", len(whole) // 2
    heading = whole[: whole.index(b"8=FIX")]
    note = b"# rejected: FIX.4.4:HOUSE->DESK 34=1 35=D tag 44: Incorrect data format for value\n"
    path = tmp_path / "raw.log"
    path.write_bytes(raw(message("D", 1)) + line + note + heading + whole[half:])
    scanned = fix.scan(path)
    assert scanned.to_arrow()["seq_num"].to_pylist() == [1, 2]
    assert scanned.report.ok and scanned.report.counts["remarks"] == 0


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_log_that_ends_early_keeps_its_messages(tmp_path: Path, ending: str) -> None:
    lines = b"".join(map(raw, generated(2_000)))
    whole = gzip.compress(lines) if ending == ".gz" else zstandard.compress(lines)
    path = tmp_path / ("raw.log" + ending)
    path.write_bytes(whole[: len(whole) // 2])
    scanned = fix.scan(path)
    with pytest.warns(millpond.MillpondWarning, match="ends within its compressed data"):
        table = scanned.to_arrow()
    assert table["seq_num"].to_pylist() == list(range(1, table.num_rows + 1)) and 100 < table.num_rows < 2_000
    assert sum("compressed byte" in error for error in scanned.report.errors) == 1


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1, 3 << 20, 5 << 20, 9 << 20])
def test_long_lines_are_read_or_named_and_the_rest_is_kept(tmp_path: Path, size: int) -> None:
    path = tmp_path / "raw.log"
    text = b"x" * size + message("D", 2, (55, "AAPL"))
    path.write_bytes(raw(message("D", 1)) + text + b"\r\n" + raw(message("D", 3)) + message("D", 4))
    scanned = fix.scan(path)
    fits = size < 4 << 20
    if fits:
        table = scanned.to_arrow()
    else:
        with pytest.warns(millpond.MillpondWarning, match="line 2 at byte [0-9]+: a line of more than 4194304 bytes"):
            table = scanned.to_arrow()
    assert table.select(["seq_num", "line"]).to_pylist() == [
        {"seq_num": number, "line": number} for number in (1, 2, 3, 4) if number != 2 or fits
    ]
    assert scanned.report.counts["bytes"] == path.stat().st_size and scanned.report.counts["lines"] == 4


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from(generated(5)).map(raw)), max_size=12))
def test_no_bytes_crash_the_reader(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("fix") / "raw.log"
    path.write_bytes(b"".join(pieces))
    table = pyarrow.table(fix.scan(path, tags=[58], groups=[270]))
    table.validate(full=True)
