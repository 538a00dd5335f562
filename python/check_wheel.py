"""Tests a wheel on any machine: it imports, refuses a missing ring by name, and reads compressed files and golden ones.

check_wheel.py FOLDER [GOLDEN]: writes its files there; GOLDEN: a folder with some of those in tests/golden.
"""

import gzip
import os
import shutil
import sys
import warnings
from pathlib import Path

import millpond

try:
    millpond.Ring("no-such-ring-of-a-wheel")
except millpond.RingError as error:
    assert error.reason == "not_found", error
order = b"A" + bytes.fromhex("0001 0000 274ea4d5a000 0000000000000001") + b"B" + (100).to_bytes(4, "big") + b"AAPL    "
message = order + (1_892_400).to_bytes(4, "big")
path = Path(sys.argv[1], "day_20200130.itch.gz")
path.write_bytes(gzip.compress(len(message).to_bytes(2, "big") + message))
scan = millpond.scan(path)
rows = scan.to_numpy()
assert rows["bid_px_00"].tolist() == [189.24] and scan.symbols_of(rows).tolist() == ["AAPL"]
# A frame of zstd with the same bytes as they are (RFC 8878).
plain = gzip.decompress(path.read_bytes())
path = path.with_suffix(".zst")
path.write_bytes(b"\x28\xb5\x2f\xfd\x00\x38" + (len(plain) << 3 | 1).to_bytes(3, "little") + plain)
assert millpond.scan(path).to_numpy().tobytes() == rows.tobytes()
print("imported on", sys.implementation._multiarch, millpond.scan(path).report)

if len(sys.argv) > 2:
    golden = Path(sys.argv[2])
    name = f"wheel-{os.getpid()}"
    shutil.copy(golden / "ring_v1_board_v3", f"/dev/shm/millpond.{name}")
    try:
        assert "AAPL" in millpond.Ring(name).symbols.tolist()
    finally:
        os.unlink(f"/dev/shm/millpond.{name}")
    warnings.simplefilter("ignore", millpond.MillpondWarning)
    assert len(millpond.scan(golden / "journal_v5.mpj.gz").to_numpy()) == 131
    print("golden files are read")
