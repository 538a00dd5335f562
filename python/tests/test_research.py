"""Other packages read our files, and we read theirs."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import databento_dbn as databento
import millpond
import numpy as np
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from itch_file import add, delete, execute, framed, made_up_day


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("day") / "day_20200130.itch"
    path.write_bytes(made_up_day(5_000, 5)[0])
    return path


def decoded(path: Path) -> tuple[databento.Metadata, list[databento.DBNRecord]]:
    decoder = databento.DBNDecoder()
    decoder.write(path.read_bytes())
    metadata, *records = decoder.decode()
    return metadata, records


def nanos_of(value: float) -> int:
    return databento.UNDEF_PRICE if np.isnan(value) else round(value * 10_000) * 100_000


@pytest.mark.parametrize("prices", ["float64", "nanos"])
def test_databento_reads_our_quotes(day: Path, tmp_path: Path, prices: str) -> None:
    scan = millpond.scan(day, prices=prices)
    scan.to_dbn(tmp_path / "day.dbn", dataset="XNAS.ITCH")
    metadata, records = decoded(tmp_path / "day.dbn")
    rows = millpond.scan(day).to_numpy()
    assert metadata.dataset == "XNAS.ITCH" and str(metadata.schema) == "mbp-1"
    assert sorted(metadata.symbols) == sorted(scan.symbols.tolist())
    assert {name: each[0]["symbol"] for name, each in metadata.mappings.items()} == {
        symbol: str(number) for number, symbol in enumerate(scan.symbols.tolist())
    }
    assert len(records) == len(rows)
    for record, row in zip(records, rows, strict=True):
        assert isinstance(record, databento.MBP1Msg)
        level = record.levels[0]
        assert (level.bid_px, level.ask_px) == (nanos_of(row["bid_px_00"]), nanos_of(row["ask_px_00"]))
        assert (level.bid_sz, level.ask_sz) == (row["bid_sz_00"], row["ask_sz_00"])
        assert (record.instrument_id, record.sequence) == (row["instrument_id"], row["sequence"])
        assert record.ts_event == record.ts_recv == int(row["ts_event"].astype(np.int64))


def test_databento_reads_our_trades(day: Path, tmp_path: Path) -> None:
    scan = millpond.scan(day)
    scan.to_dbn(tmp_path / "day.dbn", table="trades")
    _, records = decoded(tmp_path / "day.dbn")
    rows = scan.trades.to_numpy()
    assert [(each.price, each.size, str(each.action)) for each in records] == [
        (nanos_of(row["price"]), row["size"], "T") for row in rows
    ]


@pytest.mark.parametrize("packed", ["", ".zst", ".gz"])
@pytest.mark.parametrize("table", ["quotes", "trades", "orders"])
@pytest.mark.parametrize("prices", ["float64", "nanos"])
def test_written_rows_are_read_back(day: Path, tmp_path: Path, table: str, packed: str, prices: str) -> None:
    scan = millpond.scan(day, prices=prices)
    path = tmp_path / "day.dbn"
    scan.to_dbn(path, table=table)
    if packed:
        data = path.read_bytes()
        path = tmp_path / f"day.dbn{packed}"
        path.write_bytes(gzip.compress(data) if packed == ".gz" else zstandard.ZstdCompressor().compress(data))
    back = [rows for name, rows in millpond.from_dbn(path, prices=prices) if name == table]
    rows, found = getattr(scan, table).to_numpy(), np.concatenate(back)
    assert found.dtype == rows.dtype
    for column in rows.dtype.names:
        if column not in ("trade_id",) and (column != "number" or table == "orders"):
            np.testing.assert_array_equal(found[column], rows[column])


def test_a_packed_file_that_is_damaged_is_named(day: Path, tmp_path: Path) -> None:
    millpond.scan(day).to_dbn(tmp_path / "day.dbn")
    packed = zstandard.ZstdCompressor().compress((tmp_path / "day.dbn").read_bytes())
    path = tmp_path / "cut.dbn.zst"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(millpond.DamagedFile, match=r"cut\.dbn\.zst', compressed byte"):
        list(millpond.from_dbn(path))
    with pytest.raises(FileNotFoundError):
        list(millpond.from_dbn(tmp_path / "none.dbn"))


def test_a_dbn_file_that_becomes_shorter_while_it_is_read_is_named(day: Path, tmp_path: Path) -> None:
    path = tmp_path / "day.dbn"
    millpond.scan(day).to_dbn(path)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[-80:] * 100_000)
    rows = millpond.from_dbn(path)
    next(rows)
    os.truncate(path, len(whole) + 80 * 50_000)
    with pytest.raises(millpond.DamagedFile, match="bytes when it was opened"):
        list(rows)


def test_we_read_what_databento_wrote(tmp_path: Path) -> None:
    metadata = databento.Metadata(
        dataset="XNAS.ITCH", start=1, stype_in=databento.SType.RAW_SYMBOL, stype_out=databento.SType.INSTRUMENT_ID,
        schema=databento.Schema.MBP_1, symbols=["AAPL"],
    )  # fmt: skip
    level = databento.BidAskPair(bid_px=189_240_000_000, ask_px=databento.UNDEF_PRICE, bid_sz=3, ask_sz=0)
    records = [
        databento.MBP1Msg(2, 7, 1_000, 189_240_000_000, 5, databento.Action.TRADE, databento.Side.BID, 0, 2_000,
                          sequence=9, levels=level),
        databento.TradeMsg(2, 7, 3_000, 190_000_000_000, 6, databento.Action.TRADE, databento.Side.NONE, 0, 4_000),
    ]  # fmt: skip
    path = tmp_path / "theirs.dbn"
    path.write_bytes(bytes(metadata) + b"".join(bytes(each) for each in records))
    (_, quotes), (_, first), (_, second) = millpond.from_dbn(path)
    assert quotes[["bid_px_00", "bid_sz_00", "instrument_id", "sequence"]].tolist() == [(189.24, 3, 7, 9)]
    assert np.isnan(quotes["ask_px_00"][0]) and quotes["ts_recv"].astype(np.int64).tolist() == [2_000]
    assert [rows[["price", "size"]].tolist() for rows in (first, second)] == [[(189.24, 5)], [(190.0, 6)]]


@pytest.mark.parametrize("prices", ["float64", "nanos"])
def test_prices_of_nine_decimals_come_back(tmp_path: Path, prices: str) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(framed(add(1, 1, 1, "B", 100, "AAPL", 4_294_967_295)))
    scan = millpond.scan(path, prices=prices)
    scan.to_dbn(tmp_path / "day.dbn")
    _, records = decoded(tmp_path / "day.dbn")
    assert [each.levels[0].bid_px for each in records] == [429_496_729_500_000]
    level = databento.BidAskPair(bid_px=1, ask_px=9_007_199_254_740_993, bid_sz=3, ask_sz=4)
    record = databento.MBP1Msg(2, 7, 1, 1, 5, databento.Action.MODIFY, databento.Side.BID, 0, 2, sequence=9, levels=level)
    whole = (tmp_path / "day.dbn").read_bytes()
    (tmp_path / "fine.dbn").write_bytes(whole + bytes(record))
    last = list(millpond.from_dbn(tmp_path / "fine.dbn", prices=prices))[-1][1][-1]
    if prices == "nanos":
        assert (last["bid_px_00_nanos"], last["ask_px_00_nanos"]) == (1, 9_007_199_254_740_993)
    else:
        assert (last["bid_px_00"], last["ask_px_00"]) == (1e-9, 9_007_199.254740993)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.booleans())
@example(b"\0", True)
def test_no_bytes_crash_the_dbn_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes, headed: bool) -> None:
    path = tmp_path_factory.mktemp("dbn") / "x.dbn"
    path.write_bytes(b"DBN\x03\x00\x00\x00\x00" + data if headed else data)
    try:
        for _, rows in millpond.from_dbn(path):
            assert len(rows) > 0
    except millpond.DamagedFile as error:
        assert "x.dbn" in str(error)


def test_hftbacktest_s_events_give_the_best_prices(day: Path, tmp_path: Path) -> None:
    scan = millpond.scan(day, symbols=["S1"])
    scan.to_hftbacktest(tmp_path / "s1.npz", "S1", latency_ns=1_000)
    events = np.load(tmp_path / "s1.npz")["data"]
    assert (np.diff(events["exch_ts"]) >= 0).all() and (np.diff(events["local_ts"]) >= 0).all()
    assert (events["local_ts"] - events["exch_ts"] == 1_000).all()
    assert (events["ev"] & 0xFF == 2).sum() == len(scan.trades.to_numpy())
    levels: dict[int, dict[float, float]] = {1 << 29: {}, 1 << 28: {}}
    for event in events[events["ev"] & 0xFF == 1]:
        level = levels[int(event["ev"]) & (3 << 28)]
        level[float(event["px"])] = float(event["qty"])
        if event["qty"] == 0:
            del level[float(event["px"])]
        assert len(level) <= 1
    last = scan.to_numpy()[-1]
    assert levels[1 << 29] == {last["bid_px_00"]: last["bid_sz_00"]}
    assert levels[1 << 28] == {last["ask_px_00"]: last["ask_sz_00"]}
    with pytest.raises(ValueError, match="none"):
        scan.to_hftbacktest(tmp_path / "x.npz", "none")


def test_hftbacktest_runs_our_file(tmp_path: Path) -> None:
    hftbacktest = pytest.importorskip("hftbacktest")
    second, noon = 10**9, 12 * 3600 * 10**9
    messages = []
    for step in range(100):  # bids and asks that move together and never cross
        price = 1_000_000 + 100 * (step % 7)
        messages.append(add(1, noon + step * second, 2 * step + 1, "B", 100 + step, "S1", price - 200))
        messages.append(add(1, noon + step * second, 2 * step + 2, "S", 200 + step, "S1", price + 900))
        messages.append(execute(1, noon + step * second + 1, 2 * step + 1, 10, step + 1))
        if step > 0:
            messages.append(delete(1, noon + step * second + 2, 2 * step - 1))
            messages.append(delete(1, noon + step * second + 2, 2 * step))
    day = tmp_path / "day_20200130.itch"
    day.write_bytes(framed(*messages))
    millpond.scan(day).to_hftbacktest(tmp_path / "s1.npz", "S1", latency_ns=1_000)
    asset = (
        hftbacktest.BacktestAsset()
        .data([str(tmp_path / "s1.npz")])
        .linear_asset(1.0)
        .constant_order_latency(0, 0)
        .risk_adverse_queue_model()
        .no_partial_fill_exchange()
        .trading_value_fee_model(0.0, 0.0)
        .tick_size(0.01)
        .lot_size(1.0)
    )
    backtest = hftbacktest.HashMapMarketDepthBacktest([asset])
    while backtest.elapse(60_000_000_000) == 0:
        pass
    depth = backtest.depth(0)
    last = millpond.scan(day, symbols=["S1"]).to_numpy()[-1]
    assert (depth.best_bid, depth.best_ask) == pytest.approx((last["bid_px_00"], last["ask_px_00"]))
    backtest.close()
