"""What bench/report makes of results, among them such as it must not quote."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

REPORT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "bench", "report")
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
        return subprocess.run([sys.executable, REPORT, self.folder.name, "--markdown", self.path("page.md")],
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
        self.assertIn("- At 8 readers: the cache <L2> is full", self.read("page.md"))

    def test_losses_and_discarded_samples_are_shown(self):
        self.report(result("rate"))
        page = self.read("page.md")
        self.assertIn("**missed**", page)
        self.assertIn("| a \\| b | 2.000 (2 samples discarded) | 2.000 [1.900..2.100] |", page)

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
        row = (f"| A quote in the journal | ns | 2.000 | 2.000 | 2.000 [1.900..2.100] to {limit} "
               f"| {rival}: 2.000 | 1 missed | `x` |")
        self.assertIn(row, page)
        self.assertLess(page.index(row), page.index("## What of <"))

    def test_a_summary_that_names_a_contender_which_is_gone_is_an_error(self):
        run = self.report(result("ring_throughput_bench"))
        self.assertEqual(run.returncode, 1)
        self.assertIn("ring_throughput_bench has no contender 'BroadcastRing'", run.stderr)

    def test_machines_are_columns_and_what_one_has_not_measured_is_a_dash(self):
        for machine, results in (("amd", [result("rate"), result("other")]), ("intel", [result("rate")])):
            os.mkdir(self.path(machine))
            for one in results:
                with open(self.path(f"{machine}/{one['name']}.json"), "w", encoding="utf-8") as file:
                    json.dump(one, file)
        with open(self.path("intel/rate.json"), "r+", encoding="utf-8") as file:
            one = json.load(file)
            del one["contenders"][0]
            one["goals"][0]["verdict"] = "met"
            file.seek(0)
            file.truncate()
            json.dump(one, file)
        os.mkdir(self.path("soak"))
        with open(self.path("soak/soak.json"), "w", encoding="utf-8") as file:
            json.dump({"minutes": 30}, file)
        self.assertEqual(self.report().returncode, 0)
        page = self.read("page.md")
        self.assertIn("| ns | amd: median | amd: ratio to limit [95 %] | intel: median | intel: ratio to limit [95 %] |", page)
        self.assertIn("| limit | 2.000 | 1 | - | - |", page)
        self.assertIn("a <= 2 x limit (amd): 2.000 [1.900..2.100], **missed**", page)
        self.assertIn("a <= 2 x limit (intel): 2.000 [1.900..2.100], **met**", page)
        self.assertIn("Goals of all benches on amd: 0 met, 2 missed", page)
        self.assertEqual(self.read("report.html").count("<h3>"), 3)

    def test_a_folder_without_results_is_an_error(self):
        self.assertEqual(self.report().returncode, 1)


if __name__ == "__main__":
    unittest.main()
