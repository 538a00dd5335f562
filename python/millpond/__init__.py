"""Live market data from a millpond gateway, and its journals and capture files, as numpy arrays and DataFrames."""

import sys as _sys
from typing import TYPE_CHECKING

from . import _core as _core  # on a free-threaded interpreter this turns the GIL on

if not getattr(_sys, "_is_gil_enabled", lambda: True)():
    raise ImportError("millpond needs the GIL, which PYTHON_GIL=0 or -X gil=0 keeps off; leave that setting out")

from .batch import (
    NO_INSTRUMENT,
    PRICE_SCALE,
    UNDEF_PRICE,
    AuctionKind,
    BandKind,
    Batch,
    ClearReason,
    Flag,
    GapReason,
    ImbalanceState,
    InstrumentClass,
    LostReason,
    OrderAction,
    ShortSale,
    Side,
    TradingState,
    dtypes,
)
from .batches import Batches
from .book import Book
from .dbn import from_dbn
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
from .itch import ItchTable, Messages
from .ring import Ring
from .scan import Report, Scan, Table, scan

if TYPE_CHECKING:
    from . import fix
    from .connection import Connection, connect

__all__ = [
    "NO_INSTRUMENT",
    "PRICE_SCALE",
    "UNDEF_PRICE",
    "AuctionKind",
    "BandKind",
    "Batch",
    "Batches",
    "Book",
    "ClearReason",
    "Connection",
    "DamagedFile",
    "Disconnected",
    "Flag",
    "GapReason",
    "ImbalanceState",
    "InstrumentClass",
    "ItchTable",
    "LostReason",
    "Messages",
    "MillpondError",
    "MillpondWarning",
    "OrderAction",
    "Report",
    "Ring",
    "RingClosed",
    "RingError",
    "RingRestarted",
    "RingSuperseded",
    "Scan",
    "ShortSale",
    "Side",
    "Table",
    "TradingState",
    "connect",
    "dtypes",
    "fix",
    "from_dbn",
    "scan",
]


def __getattr__(name: str) -> object:
    """Imports sockets, TLS and XML on first use, because these take the longest to import."""
    import importlib

    if name == "fix":
        return importlib.import_module(".fix", __name__)
    if name in ("Connection", "connect"):
        return getattr(importlib.import_module(".connection", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
