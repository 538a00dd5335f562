"""Generates the tables of figures that other pages quote from the benches' results: README's four rows and the goals in
bench/notes/performance-goals.md. A page has them between "<!-- bench/report: NAME -->" and "<!-- end -->".
"""

import math
import re

QUIET = 3.0  # Load above which a result is quoted only if there is no other.

# Rows that a buyer asks for, including one with a bad result: label, bench, unit, our contender, its statistic, the
# contender that is the limit or reference, and the rivals.
BUYER = [
    ("wire to shared memory, p50", "wire_to_ring_bench", "us", "millpond gateway", "value", "the limit once more",
     ["Asio chain, threads where the kernel puts them"]),
    ("JSON lines to one TCP subscriber", "fan_out_rate_bench", "lines/s", "millpond tcp sink, 1", "value", None,
     ["nats-server, 1"]),
    ("112-byte message between two processors", "ring_hop_bench", "ns", "SpscRing", "value", "the limit once more",
     ["moodycamel::ReaderWriterQueue", "rtrb (Rust)", "LMAX Disruptor (Java)", "Aeron IPC (Java)"]),
    ("FIX order round trip, busy polling, p50", "round_trip_peers_bench", "us", "millpond, spinning", "value",
     "limit: bare socket, spinning", ["Philadelphia (Java), spinning"]),
]

# Goals of the performance work: the work, the goal, and the places of its results: a label, the bench, and the
# beginning of the goals' texts; or, without a goal, "= " or, for the ratio, "x " and the contender, and perhaps " <= " and
# a bound.
GOALS = [
    ("batches of 64-byte blocks, explicit cache", "<= 1.0 x `rte_mempool`",
     [(str(count), f"pool_batch_{count}_bench", "BlockPool::Cache <= 1.000 x rte_mempool") for count in (10, 50, 100, 500)]),
    ("100 blocks at a time, the pool's own acquire and release", "ahead of all rivals",
     [(f"{size} B", f"pool_bulk_100_of_{size}_bench", "BlockPool <= 1.000 x ") for size in (64, 192)]),
    ("1,000 blocks at a time, the same", "ahead of all rivals",
     [(f"{size} B", f"pool_bulk_1000_of_{size}_bench", "BlockPool <= 1.000 x ") for size in (64, 192)]),
    ("100 / 1,000 blocks of 64 B at a time, explicit cache", "ahead of all rivals",
     [(count, f"pool_bulk_{count}_of_64_bench", "BlockPool::Cache <= 1.000 x ") for count in ("100", "1000")]),
    ("one 64-byte block after the other, explicit cache", "<= 1.3 x an array",
     [("", "pool_sequential_64_bench", "BlockPool::Cache <= 1.300 x reference: array")]),
    ("the same by a strict pool", "cheaper than it was", [("", "pool_sequential_64_bench", "x BlockPool, strict")]),
    ("SpscRing, messages a second", ">= 1.0 x ReaderWriterQueue",
     [(f"{size} B", "spsc_rate_bench", f"SpscRing, {size} >= 1.000 x ReaderWriterQueue") for size in (8, 64, 112)]),
    ("a hop by SpscRing", "<= 1.0 x ReaderWriterQueue",
     [(f"{size} B", "spsc_hop_bench", f"SpscRing, {size} <= 1.000 x ReaderWriterQueue") for size in (8, 64, 112)]),
    ("BroadcastRing, messages a second", "ahead of all rivals", [("", "ring_throughput_bench", "BroadcastRing >= 1.000 x ")]),
    ("a hop by BroadcastRing", "ahead of all rivals", [("", "ring_hop_bench", "BroadcastRing <= 1.000 x ")]),
    ("storing a message of 256 B, in blocks", "<= 1.3 x ring and index",
     [(how, f"message_store{bench}_bench", "x MemoryStore <= 1.3")
      for how, bench in (("in a row", ""), ("bursts", "_bursts"), ("steady", "_steady"))]),
    ("receive path with 100 WebSocket clients, p50", "<= 1.03 x no client",
     [("", "web_clients_bench", "p50 of 100 clients <= ")]),
    ("the same, p99", "<= 1.10 x no client", [("", "web_clients_bench", "p99 of 100 clients <= ")]),
    ("processor seconds for a million lines to 1 / 100 / 1,000 WebSocket clients", "a half of what it was",
     [(count, "fan_out_processor_time_bench", f"= millpond web sink, {count}") for count in ("1", "100", "1000")]),
    ("tcp sink, lines/s to its subscribers", ">= 1.0 x nats-server",
     [(count, "fan_out_rate_bench", f"millpond tcp sink, {count} >= ") for count in ("1", "100", "1000")]),
    ("tcp sink, processor time of a line", "<= 1.0 x nats-server",
     [(count, "fan_out_processor_time_bench", f"millpond tcp sink, {count} <= ") for count in ("1", "100", "1000")]),
    ("tcp sink, p99 of a line's delay", "<= 1.0 x nats-server",
     [(count, "fan_out_latency_bench", f"p99 of millpond tcp sink, {count} <= ") for count in ("1", "100", "1000")]),
    ("first message after silence, with `warm_up`", "<= 1.5 x warm",
     [("1 s", "first_message_bench", "after silence, warm_up of 1 ms <= "),
      ("10 s", "first_message_late_warm_up_bench", "after silence, warm_up of 1 ms <= ")]),
    ("kafka sink, rate / latency", "<= 1.2 / 1.5 x bare client",
     [("rate", "kafka_rate_bench", "millpond kafka sink <= "),
      ("latency", "wire_to_kafka_bench", "millpond gateway, journal and kafka sink <= ")]),
    ("FIX round trip, memory store", "<= 1.15 x raw sockets",
     [("busy polling", "round_trip_bench", "p50 of millpond, memory store <= "),
      ("sleeping", "round_trip_blocking_bench", "p50 of millpond, memory store <= ")]),
    ("order to report by a FIX peer that spins", "<= 1.0 x Philadelphia",
     [("", "round_trip_peers_bench", "millpond, spinning <= ")]),
    ("the same, asleep", "<= 1.0 x Philadelphia, QuickFIX, QuickFIX/J",
     [(to, "round_trip_peers_bench", f"millpond, sleeping <= 1.000 x {to}{java},")
      for to, java in (("Philadelphia", " (Java)"), ("QuickFIX", ""), ("QuickFIX/J", " (Java)"))]),
    ("ITCH in numpy, each message changes a best price", "<= 0.6 x itch-book", [("", "python-itch-to-numpy", "millpond <= ")]),
    ("ITCH in numpy, a day's shape: 2,000 deep books, 520,000 orders", "<= 0.5 x itch-book",
     [("", "python-itch-depth-to-numpy", "millpond <= ")]),
    ("gzipped ITCH day to Parquet", "<= 0.8 x itch2parquet", [("", "python-itch-gz-to-parquet", "millpond export <= ")]),
    ("ring to numpy, no quote lost", ">= 0.7 x C++ RingReader that keeps them",
     [("", "python-ring-to-numpy", "millpond.Ring >= 0.7 x C++ RingReader")]),
    ("the same", ">= 50 x Python loop over TCP JSON", [("", "python-ring-to-numpy", "millpond.Ring >= 50 x Python loop")]),
    ("journal to polars", "<= 1.5 x the same rows from Parquet",
     [("", "python-journal-to-polars", "millpond.scan(journal) <= ")]),
    ("FIX log to Arrow", ">= 50 x PyPI's parsers", [
        ("simplefix", "python-fix-to-arrow", "millpond >= 50 x simplefix"),
        ("quickfix", "python-fix-to-arrow", "millpond >= 50 x quickfix")]),
    ("ITCH decoder, a day's shape", "<= 100 ns a message", [("", "itch_decoder_day_bench", "= ItchDecoder <= 100")]),
    ("an ITCH message up to ring and board, 2,000 instruments", "depth 10 <= 1.3, orders and all levels <= 1.6 x best prices", [
        ("depth 10", "depth_publish_bench", "depth 10, 2000 <= "),
        ("orders", "depth_publish_bench", "orders and all levels, 2000 <= ")]),
    ("a level / an order to a reader's books", "<= 25 / 60 ns",
     [(what, "book_apply_bench", f"Books of {what}, 2000 <= ") for what in ("levels", "orders")]),
    ("join of 10,000 instruments at depth 10", "<= 5 ms", [("", "board_join_bench", "join, 10000 <= ")]),
    ("memory of a live order / of an instrument on the board at depth 10", "<= 100 / 1,229 bytes", [
        ("order", "book_memory_bench", "live order of a decoder that sends orders <= "),
        ("instrument", "book_memory_bench", "instrument on the board, depth 10 <= ")]),
    ("FIX parse, any order", "<= 12 x one vector pass",
     [(what, f"parse_{what}_bench", "Parser, fields in any order <= ") for what in ("order", "report")]),
    ("FIX parse, many widths", "<= 9 x one vector pass",
     [(what, f"parse_{what}_bench", "Parser, the same with values of many widths <= ") for what in ("order", "report")]),
    ("QuickFIX without dictionary", ">= 25 x the parser",
     [(what, f"parse_{what}_bench", "QuickFIX without dictionary >= ") for what in ("heartbeat", "order", "report")]),
]


def number(value):
    """Four significant digits, no exponent."""
    if value is None:
        return "-"
    size = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{min(max(3 - size, 0), 6)}f}"


def interval(found):
    return f"{found['median']:.3f} [{found['low']:.3f}..{found['high']:.3f}]" if found else "-"


def load(result):
    return float(result["machine"]["load"].split()[0])


def contender(result, name):
    return next((one for one in result["contenders"] if one["name"] == name), None)


def of_contender(one, statistic):
    return one["value"] and one["value"]["median"] if statistic == "value" else one.get("latency", {}).get(statistic)


def quoted(found):
    """The newest result of a quiet machine, else the newest, of a bench's results by machine: (machine, result)."""
    quiet = {machine: result for machine, result in found.items() if load(result) <= QUIET}
    return max((quiet or found).items(), key=lambda item: item[1]["machine"]["date"])


def buyer_table(benches):
    rows = [["what", "unit", "millpond", "limit or reference", "ratio [95 %]", "others", "machine, load", "bench"],
            ["---", "---", "--:", "--:", "--:", "---", "---", "---"]]
    for what, bench, unit, ours, statistic, limit, rivals in BUYER:
        if bench not in benches:
            continue
        machine, result = quoted({machine: result for machine, result in benches[bench].items() if contender(result, ours)})
        one, bare = contender(result, ours), limit and contender(result, limit)
        known = [(name, contender(result, name)) for name in rivals]
        # Names of contenders on a curve end with their place on it, which the row has already.
        others = "; ".join(f"{number(of_contender(other, statistic))}: {name.removesuffix(', 1')}" for name, other in known if other)
        related = one["ratio"] if statistic == "value" and limit else None
        rows.append([what, unit, number(of_contender(one, statistic)), number(of_contender(bare, statistic)) if bare else "-",
                     interval(related), others or "-", f"{machine}, {load(result):.1f}", f"`{bench}`"])
    return rows


def verdict(goal):
    """The result of a goal; a goal without a round that has both sides cannot be judged."""
    return goal["verdict"].removesuffix(" on this machine") if goal["found"] else "not judged"


def verdict_of(result, beginning):
    """The result of the goal, or of the nearest of several goals that begin like that, with the worst verdict."""
    goals = [goal for goal in result["goals"] if goal["text"].startswith(beginning)]
    if not goals:
        return "not judged"

    def how_bad(goal):
        median = goal["found"]["median"] if goal["found"] else 0
        return ("missed", "not resolved", "met", "not judged").index(verdict(goal)), median * (1 if ">=" in goal["text"] else -1)

    worst = min(goals, key=how_bad)
    to = f" ({worst['text'].partition(' x ')[2]})" if len(goals) > 1 else ""
    return f"{interval(worst['found'])}{to} {verdict(worst)}"


def at_most(found, bound):
    return "met" if found["high"] <= bound else "missed" if found["low"] > bound else "not resolved"


def goal_cell(benches, machine, places):
    cells = []
    for label, bench, beginning in places:
        result = benches.get(bench, {}).get(machine)
        if result is None:
            found = "not measured"
        elif beginning.startswith(("= ", "x ")):
            name, _, bound = beginning[2:].partition(" <= ")
            one = contender(result, name)
            if bound:
                of = one["value" if beginning.startswith("= ") else "ratio"]
                found = f"{interval(of)} {at_most(of, float(bound))}"
            else:
                found = number(of_contender(one, "value")) if beginning.startswith("= ") else interval(one["ratio"])
        else:
            found = verdict_of(result, beginning)
        cells.append((label, found))
    if len({found for _, found in cells}) == 1 and cells[0][1].startswith("not "):
        return cells[0][1]
    return "<br>".join(f"{label}: {found}" if label else found for label, found in cells)


def goals_table(benches):
    machines = sorted({machine for found in benches.values() for machine in found})
    rows = [["work", "goal", *machines], ["---", "---", *["---"] * len(machines)]]
    return rows + [[work, goal, *(goal_cell(benches, machine, places) for machine in machines)] for work, goal, places in GOALS]


TABLES = {"buyer": buyer_table, "goals": goals_table}


def with_tables(text, benches):
    """The page with its tables regenerated. Throws LookupError for an unknown table."""

    def table(match):
        if match[1] not in TABLES:
            raise LookupError(f"no table '{match[1]}'")
        lines = ["| " + " | ".join(row) + " |" for row in TABLES[match[1]](benches)]
        return "\n".join([f"<!-- bench/report: {match[1]} -->", *lines, "<!-- end -->"])

    return re.sub(r"<!-- bench/report: (\w+) -->\n.*?<!-- end -->", table, text, flags=re.S)
