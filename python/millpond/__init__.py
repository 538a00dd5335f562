"""Live market data from a millpond gateway, and its journals and capture files, as numpy arrays and DataFrames."""

from .batch import (
    NO_INSTRUMENT,
    PRICE_SCALE,
    UNDEF_PRICE,
    Batch,
    ClearReason,
    Flag,
    GapReason,
    LostReason,
    TradingState,
    dtypes,
)
from .batches import Batches
from .connection import Connection, connect
from .errors import (
    DamagedFile,
    Disconnected,
    MillpondError,
    MillpondWarning,
    RingClosed,
    RingError,
    RingRestarted,
    RingSuperseded,
)
from .ring import Ring
from .scan import Report, Scan, Table, scan

__all__ = [
    "NO_INSTRUMENT",
    "PRICE_SCALE",
    "UNDEF_PRICE",
    "Batch",
    "Batches",
    "ClearReason",
    "Connection",
    "DamagedFile",
    "Disconnected",
    "Flag",
    "GapReason",
    "LostReason",
    "MillpondError",
    "MillpondWarning",
    "Report",
    "Ring",
    "RingClosed",
    "RingError",
    "RingRestarted",
    "RingSuperseded",
    "Scan",
    "Table",
    "TradingState",
    "connect",
    "dtypes",
    "scan",
]
