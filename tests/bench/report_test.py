"""Pages that bench/report makes of results, including results that it must not quote."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
REPORT = os.path.join(ROOT, "bench", "report")
STORED = os.path.join(ROOT, "bench", "stored.py")
ESTIMATE = {"median": 2.0, "low": 1.9, "high": 2.1, "count": 9}


def result(name, **changes):
    contenders = [
        {"name": "limit", "value": ESTIMATE, "min": 1, "max": 3, "ratio": None, "discarded": 0, "samples": [1, 2, 3]},
        {"name": "a | b", "value": ESTIMATE, "min": 1, "max": 3, "ratio": ESTIMATE, "discarded": 2, "samples": [2, 2, 2]},
    ]
    machine = dict.fromkeys(("cpu", "cores", "kernel", "compiler", "flags", "commit", "date", "command", "load"), "x")
    return {"name": name, "question": f"What of <{name}>?", "unit": "ns", "measured": "this", "not_measured": "that",
            "machine": machine, "rounds": 9, "quick": False, "ratio_to": "limit", "probabilities": [0.0, 0.5, 1.0],
            "contenders": contenders, "goals": [{"text": "a <= 2 x limit", "found": ESTIMATE, "verdict": "missed"}],
            **changes}


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def report(self, *results):
        for one in results:
            with open(self.path(one["name"] + ".json"), "w", encoding="utf-8") as file:
                json.dump(one, file)
        return self.made()

    def made(self):
        return subprocess.run([sys.executable, REPORT, self.folder.name, "--markdown", self.path("page.md"),
                               "--html", self.path("report.html")], capture_output=True, text=True, check=False)

    def store(self, machine, *results):
        """Stores the results as those of one machine. Returns the output of bench/stored.py."""
        paths = []
        for one in results:
            paths.append(self.path(one["name"] + ".written"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(one, file)
        return subprocess.run([sys.executable, STORED, "--folder", self.folder.name, machine, *paths],
                              capture_output=True, text=True, check=False)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_the_page_holds_every_bench_with_a_plot_that_is_well_formed(self):
        latencies = result("tail")
        latencies["contenders"][0].update(latency={"mean": 1, "p50": 2, "p99": 3, "p999": 4, "max": 5}, quantiles=[1, 2, 9])
        self.assertEqual(self.report(result("rate"), latencies).returncode, 0)
        page = self.read("report.html")
        self.assertIn("What of &lt;rate&gt;?", page)
        self.assertIn("What of &lt;tail&gt;?", page)
        plots = [part.split("</svg>")[0] for part in page.split("<svg")[1:]]
        self.assertEqual(len(plots), 2)
        roots = [ElementTree.fromstring(f"<svg{plot}</svg>") for plot in plots]
        self.assertEqual(len(roots[0].findall("circle")), 6)
        self.assertEqual(len(roots[1].findall("polyline")), 1)

    def test_a_curve_is_drawn_as_lines_with_its_knees_explained(self):
        curve = result("growth", curve={"axis": "readers", "knees": [{"at": 8, "why": "the cache <L2> is full"}]})
        names = [(line, at) for line in ("ours", "rival") for at in (8, 1, 64)]
        curve["contenders"] = [dict(curve["contenders"][0], name=f"{line}, {at}", line=line, at=at) for line, at in names]
        curve["contenders"][0]["value"] = None
        curve["ratio_to"] = "ours, 1"
        self.assertEqual(self.report(curve).returncode, 0)
        page = self.read("report.html")
        plots = ElementTree.fromstring("<svg" + page.split("<svg")[1].split("</svg>")[0] + "</svg>")
        drawn = [line.get("points").split() for line in plots.findall("polyline")]
        self.assertEqual([len(points) for points in drawn], [2, 3])
        across = [float(point.split(",")[0]) for point in drawn[1]]
        self.assertEqual(across, sorted(across))
        self.assertEqual(len([line for line in plots.findall("line") if line.get("stroke-dasharray")]), 1)
        self.assertIn("At 8 readers: the cache &lt;L2&gt; is full", page)

    def test_losses_and_discarded_samples_are_shown(self):
        self.report(result("rate"))
        self.assertIn("1 missed. Missed: `rate`\n", self.read("page.md"))
        page = self.read("report.html")
        self.assertIn('<b class="missed">missed</b>', page)
        self.assertIn("<td>a | b (2 samples discarded)</td><td>2.000</td>", page)

    def test_quick_results_are_not_quoted(self):
        run = self.report(result("rate", quick=True))
        self.assertEqual(run.returncode, 1)
        self.assertIn("not to be quoted: rate", run.stderr)
        self.assertFalse(os.path.exists(self.path("page.md")))

    def test_the_page_starts_with_the_summary_of_those_benches_that_have_results(self):
        ours, limit, rival = "journal: number, CRC-32C and commit word too", "memcpy to a mapped file", "write() a quote"
        append = result("journal_append_bench", ratio_to=limit)
        append["contenders"].append(dict(append["contenders"][1]))
        for contender, name in zip(append["contenders"], (limit, ours, rival)):
            contender["name"] = name
        append["goals"][0]["text"] = f"{ours} <= 2 x limit"
        self.assertEqual(self.report(append, result("rate")).returncode, 0)
        page = self.read("page.md")
        row = (f"| A quote in the journal (`journal_append_bench`, ns; ratio to {limit}) "
               f"| **2.000**, limit 2.000, ratio 2.000 [1.900..2.100]<br>{rival}: 2.000 |")
        self.assertIn(row, page)
        self.assertLess(page.index(row), page.index("Missed: `journal_append_bench`, `rate`"))

    def test_a_summary_that_names_a_contender_which_is_gone_is_an_error(self):
        run = self.report(result("ring_throughput_bench"))
        self.assertEqual(run.returncode, 1)
        self.assertIn("ring_throughput_bench has no contender 'BroadcastRing'", run.stderr)

    def test_machines_are_judged_apart(self):
        self.store("amd", result("rate"), result("other"))
        met = result("rate")
        del met["contenders"][0]
        met["goals"][0]["verdict"] = "met"
        self.store("intel", met)
        os.mkdir(self.path("soak"))
        self.assertEqual(self.made().returncode, 0)
        page = self.read("page.md")
        self.assertIn("- amd: 2 missed. Missed: `other`, `rate`\n- intel: 1 met\n", page)
        self.assertEqual(self.read("report.html").count("<h3>"), 3)

    def test_quantiles_of_few_steps_of_the_clock_are_not_resolved(self):
        def tail(name, **changes):
            made = result(name, **changes)
            for one in made["contenders"]:
                one.update(latency={"min": 20, "mean": 21, "p50": 20, "p95": 90, "p99": 150, "p999": 400, "max": 500})
            made["goals"] = [{"text": f"{of} of a | b <= 2.000 x limit", "found": ESTIMATE, "verdict": "met"}
                             for of in ("p50", "mean", "p99")]
            return made

        blocks = tail("blocks", clock_step=10)
        for one in blocks["contenders"]:
            one["block"] = 5
        self.report(tail("coarse", clock_step=10), tail("fine", clock_step=1), blocks)
        page = self.read("report.html")
        coarse, fine, blocks = (page.split(f'id="{name}"')[1].split("<h2")[0] for name in ("coarse", "fine", "blocks"))
        self.assertEqual(coarse.count("<td>not resolved</td>"), 6)  # min, p50 and p95 of both
        self.assertEqual([text.split("</b>")[0].split(">")[1] for text in coarse.split("<b ")[1:]],
                         ["not resolved", "met", "met"])
        self.assertNotIn("not resolved", fine)
        self.assertNotIn("not resolved", blocks)
        self.assertIn("limit, means of 5", blocks)

    def test_a_stored_result_replaces_the_one_of_its_name_and_its_machine_only(self):
        self.store("amd", result("b", rounds=9), result("a"))
        self.store("intel", result("b", rounds=9))
        self.assertEqual(self.store("amd", result("b", rounds=27)).returncode, 0)
        lines = [json.loads(line) for line in self.read("amd.jsonl").splitlines()]
        self.assertEqual([(line["name"], line["rounds"]) for line in lines], [("a", 9), ("b", 27)])
        self.assertEqual(json.loads(self.read("intel.jsonl"))["rounds"], 9)

    def test_a_quick_result_is_not_stored(self):
        run = self.store("amd", result("rate", quick=True))
        self.assertEqual(run.returncode, 1)
        self.assertIn("a result of --quick is not kept", run.stderr)
        self.assertFalse(os.path.exists(self.path("amd.jsonl")))

    def test_what_one_machine_did_not_measure_is_said_of_that_machine(self):
        for machine, absent in (("amd", ""), ("intel", "; absent: rte_mempool")):
            self.store(machine, result("rate", not_measured="threads" + absent))
        self.assertEqual(self.made().returncode, 0)
        page = self.read("report.html")
        self.assertIn("<h3>amd</h3><p class=\"small\">Measured: this<br>Not measured: threads</p>", page)
        self.assertIn("Not measured: threads; absent: rte_mempool</p>", page)

    def tables(self, page, *results):
        with open(self.path("README.md"), "w", encoding="utf-8") as file:
            file.write(page)
        for one in results:
            with open(self.path(one["name"] + ".json"), "w", encoding="utf-8") as file:
                json.dump(one, file)
        return subprocess.run([sys.executable, REPORT, self.folder.name, "--tables", self.path("README.md")],
                              capture_output=True, text=True, check=False)

    def test_a_page_gets_its_table_of_what_a_buyer_asks_for(self):
        lines = result("fan_out_rate_bench")
        lines["machine"]["load"] = "1.50"
        for contender, name in zip(lines["contenders"], ("nats-server, 1", "millpond tcp sink, 1")):
            contender["name"] = name
        page = "before\n<!-- bench/report: buyer -->\nold\n<!-- end -->\nafter\n"
        self.assertEqual(self.tables(page, lines).returncode, 0)
        text = self.read("README.md")
        self.assertIn("| JSON lines to one TCP subscriber | lines/s | 2.000 | - | - | 2.000: nats-server | , 1.5 | "
                      "`fan_out_rate_bench` |\n<!-- end -->\nafter", text)
        self.assertNotIn("old", text)

    def test_goals_show_the_worst_of_their_verdicts(self):
        ring = result("ring_throughput_bench")
        ring["goals"] = [{"text": f"BroadcastRing >= 1.000 x {to}", "found": dict(ESTIMATE, median=median), "verdict": verdict}
                         for to, median, verdict in (("a", 3, "met"), ("b", 0.5, "missed"), ("c", 0.4, "met"))]
        self.assertEqual(self.tables("<!-- bench/report: goals -->\n<!-- end -->\n", ring).returncode, 0)
        self.assertIn("| BroadcastRing, messages a second | ahead of all rivals | 0.500 [1.900..2.100] (b) missed |",
                      self.read("README.md"))
        self.assertIn("| a hop by BroadcastRing | ahead of all rivals | not measured |", self.read("README.md"))

    def test_a_goal_without_a_round_of_both_is_not_judged(self):
        ring = result("ring_throughput_bench")
        ring["contenders"][1]["name"] = "BroadcastRing"
        ring["goals"] = [{"text": "BroadcastRing >= 1.000 x a", "found": None, "verdict": "not resolved on this machine"},
                         {"text": "BroadcastRing >= 1.000 x b", "found": dict(ESTIMATE, median=3), "verdict": "met"}]
        self.assertEqual(self.tables("<!-- bench/report: goals -->\n<!-- end -->\n", ring).returncode, 0)
        self.assertIn("| 3.000 [1.900..2.100] (b) met |", self.read("README.md"))
        ring["goals"].pop()
        self.assertEqual(self.tables("<!-- bench/report: goals -->\n<!-- end -->\n", ring).returncode, 0)
        self.assertIn("| BroadcastRing, messages a second | ahead of all rivals | - not judged |", self.read("README.md"))

    def test_a_bound_of_today_judges_a_result_of_another_goal(self):
        day = result("itch_decoder_day_bench")
        day["contenders"][1]["name"] = "ItchDecoder"
        day["goals"] = [{"text": "ItchDecoder <= 120.0 ns/message", "found": dict(ESTIMATE, median=110), "verdict": "met"}]
        for value, verdict in ((dict(ESTIMATE, median=95, low=90, high=99), "met"),
                               (dict(ESTIMATE, median=110, low=101, high=119), "missed"),
                               (dict(ESTIMATE, median=100, low=95, high=105), "not resolved")):
            day["contenders"][1]["value"] = value
            self.assertEqual(self.tables("<!-- bench/report: goals -->\n<!-- end -->\n", day).returncode, 0)
            self.assertIn(f" {verdict} |", next(line for line in self.read("README.md").splitlines() if "a day's shape" in line and "ITCH decoder" in line))

    def test_a_table_of_an_unknown_name_is_an_error(self):
        run = self.tables("<!-- bench/report: unknown -->\n<!-- end -->\n", result("rate"))
        self.assertEqual(run.returncode, 1)
        self.assertIn("no table 'unknown'", run.stderr)

    def test_what_the_pages_quote_is_what_is_stored(self):
        pages = ["README.md", "bench/notes/performance-goals.md"]
        for page in pages:
            os.makedirs(os.path.dirname(self.path(page)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, page), self.path(page))
        stored = [sys.executable, REPORT, os.path.join(ROOT, "bench", "results")]
        subprocess.run([*stored, "--markdown", self.path("page.md"), "--tables", *map(self.path, pages)], check=True)
        for page in pages:
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                self.assertEqual(self.read(page), file.read(), f"{page}: regenerate its tables with bench/report")
        with open(os.path.join(ROOT, "docs", "reference", "benchmarks.md"), encoding="utf-8") as file:
            self.assertEqual(self.read("page.md"), file.read(), "docs/reference/benchmarks.md: regenerate it with bench/report")

    def test_the_published_tables_are_those_of_the_stored_results(self):
        run = subprocess.run([sys.executable, os.path.join(ROOT, "bench", "published"), "--check"], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_folder_without_results_is_an_error(self):
        self.assertEqual(self.report().returncode, 1)


if __name__ == "__main__":
    unittest.main()
