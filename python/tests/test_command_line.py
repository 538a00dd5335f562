"""`python -m millpond`."""

from __future__ import annotations

from pathlib import Path

import millpond
import numpy as np
import polars
import pytest
from itch_file import made_up_day
from millpond.__main__ import main


def test_export_writes_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(made_up_day(3_000, 5)[0])
    rows = millpond.scan(path, symbols=["S1"]).to_numpy()
    assert main(["export", str(path), str(tmp_path / "out"), "--symbol", "S1"]) == 0
    frame = polars.read_parquet(tmp_path / "out" / "quotes.parquet")
    assert frame["bid_sz_00"].to_list() == rows["bid_sz_00"].tolist()
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "quotes.parquet", "statuses.parquet", "trades.parquet",
    ]  # fmt: skip
    assert main(["export", str(path), str(tmp_path / "npy"), "--format", "npy", "--table", "trades"]) == 0
    assert len(np.load(tmp_path / "npy" / "trades.npy")) > 0
    capsys.readouterr()
    assert main(["export", str(path), str(tmp_path / "few"), "--symbol", "S1", "--symbol", "nil"]) == 0
    assert capsys.readouterr().err == "millpond: no instrument is called 'nil'\n"
    undated = tmp_path / "day.itch"
    undated.write_bytes(path.read_bytes())
    assert main(["export", str(undated), str(tmp_path / "undated")]) == 0
    assert "1970-01-01; say the day with --date" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "none"), str(tmp_path / "x")]) == 1
    assert "none" in capsys.readouterr().err


def test_exported_tables_are_those_of_scans(tmp_path: Path) -> None:
    data, _ = made_up_day(3_000, 5)
    path = tmp_path / "day_20200130.itch"
    path.write_bytes(data)
    scan = millpond.scan(path)
    expected = {name: getattr(scan, name).to_polars() for name in ("quotes", "trades", "gaps")}
    out = tmp_path / "out"
    tables = [word for name in expected for word in ("--table", name)]
    assert main(["export", str(path), str(out), *tables]) == 0
    found = {name: polars.read_parquet(out / f"{name}.parquet") for name in expected}
    for name, frame in expected.items():
        assert found[name].equals(frame) and found[name].schema == frame.schema, name
    assert len(found["trades"]) > 0 and len(found["gaps"]) == 0


def test_export_of_a_damaged_file_exits_with_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.itch"
    path.write_bytes(made_up_day(3_000, 5)[0][:-3])
    assert main(["export", str(path), str(tmp_path / "out"), "--table", "quotes"]) == 1
    assert "cut.itch" in capsys.readouterr().err
    assert len(polars.read_parquet(tmp_path / "out" / "quotes.parquet")) > 0
