"""tools/soak with made-up runs: constant ones, some that grow or get slower, and a machine that changes."""

import contextlib
import io
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools", "soak"))

import judgement  # noqa: E402
from accounts import Accounts  # noqa: E402
from brokers import Kafka  # noqa: E402
from judgement import MET, MIB, MISSED, NOT_RESOLVED, Window  # noqa: E402
from lossless import as_markdown, search  # noqa: E402
from rate import highest, proven  # noqa: E402


def windows(machine=lambda age: 1.0, gateway=lambda age: 1.0, memory=lambda age: 100 * MIB, count=180):
    """Windows of a run. The functions give the slowness of the machine and of the gateway at an age from 0 to 1; 10 %
    of noise.
    """
    chance = random.Random(1)

    def noisy(nanos):
        return nanos * chance.uniform(0.95, 1.05)

    run = []
    for number in range(count):
        age = number / count
        slow = machine(age)
        run.append(Window(memory(age), noisy(40_000) * slow * gateway(age), noisy(900_000) * slow * gateway(age),
                          noisy(22_000) * slow, noisy(70_000) * slow))
    return run


def verdicts(run):
    return [verdict for _, verdict in judgement.judge(run)]


class Judgement(unittest.TestCase):
    def test_a_run_that_stays_as_it_was_is_good(self):
        self.assertEqual(verdicts(windows()), [MET, MET, MET])

    def test_memory_that_grows_is_refused(self):
        self.assertEqual(verdicts(windows(memory=lambda age: int((100 + 20 * age) * MIB)))[0], MISSED)

    def test_memory_that_is_filled_once_at_the_start_is_flat(self):
        self.assertEqual(verdicts(windows(memory=lambda age: (80 if age < 0.2 else 130) * MIB))[0], MET)

    def test_a_gateway_that_gets_slower_is_refused(self):
        self.assertEqual(verdicts(windows(gateway=lambda age: 1 + age)), [MET, MISSED, MISSED])

    def test_a_gateway_that_gets_slower_is_refused_on_a_machine_that_gets_faster(self):
        self.assertEqual(verdicts(windows(machine=lambda age: 1.2 - 0.4 * age, gateway=lambda age: 1 + age)),
                         [MET, MISSED, MISSED])

    def test_a_machine_that_gets_slower_is_not_taken_for_the_gateway(self):
        self.assertEqual(verdicts(windows(machine=lambda age: 0.85 + 0.3 * age)), [MET, MET, MET])

    def test_a_machine_that_is_another_one_half_way_leaves_latency_open(self):
        self.assertEqual(verdicts(windows(machine=lambda age: 1.0 if age < 0.5 else 1.8)),
                         [MET, NOT_RESOLVED, NOT_RESOLVED])

    def test_a_machine_that_is_slow_now_and_then_is_judged_by_its_other_windows(self):
        slow_now_and_then = windows(machine=lambda age: 1.8 if int(age * 180) % 5 == 0 else 1.0)
        self.assertEqual(verdicts(slow_now_and_then), [MET, MET, MET])

    def test_a_run_that_is_too_short_is_not_judged_by_its_latency(self):
        self.assertEqual(verdicts(windows(count=20, gateway=lambda age: 1 + age)), [MET, NOT_RESOLVED, NOT_RESOLVED])

    def test_a_run_without_windows_is_not_judged(self):
        self.assertEqual(verdicts([]), [NOT_RESOLVED] * 3)

    def test_an_interval_is_that_of_the_binomial_distribution(self):
        self.assertIsNone(judgement.interval([1, 2, 3, 4, 5]))
        self.assertEqual(judgement.interval([6, 5, 4, 3, 2, 1]), (1, 6))
        self.assertEqual(judgement.interval(range(1, 10)), (2, 8))


def sink(name, delivered, **parts):
    account = {"filtered": 0, "conflated": 0, "missed": 0, "queued": 0, "snapshot": 0} | parts
    published = delivered + sum(account[part] for part in ("filtered", "conflated", "missed", "queued"))
    return {"name": name, "published": published, "delivered": delivered} | account


class MadeUpKafka(Kafka):
    def __init__(self, messages):
        self.messages = lambda: messages


class MadeUpGateway:
    """The metrics after 1,000 quotes; every account adds up."""

    NAME = "client"

    def __init__(self):
        self.sinks = {one["name"]: one for one in (sink("udp", 1_000), sink("mqtt", 300, conflated=700),
                                                   sink("journal", 1_000), sink("kafka", 1_000, filtered=5))}
        self.metrics = {"millpond_feed_sequence_missing_total": 0, "millpond_kafka_messages_total": 1_000,
                        "millpond_kafka_lost_total": 0, "millpond_journal_removed_segments_total": 0}
        self.client = sink("client", 990, conflated=10)
        self.received, self.drops = 1_000, 0
        self.clients, self.udp = [self], self
        self.quotes, self.missing = 1_000, 0
        self.brokers = [MadeUpKafka(1_000)]

    def health(self):
        return {"sinks": list(self.sinks.values()), "feeds": [{"kernel_drops": self.drops}]}

    def came(self):
        return self.received

    def losses(self):
        return 0

    def metric(self, name):
        return self.metrics[name]

    def account(self):
        return self.client


class AccountsOfARun(unittest.TestCase):
    def faults(self, change=lambda gateway: None):
        gateway = MadeUpGateway()
        change(gateway)
        accounts = Accounts(gateway, 1_000)
        with contextlib.redirect_stdout(io.StringIO()):
            accounts.check()
        return [fault.split(" (")[0].split(":")[0] for fault in accounts.faults]

    def test_accounts_that_close_are_good(self):
        self.assertEqual(self.faults(), [])

    def test_what_was_lost_on_the_wire_and_counted_is_good(self):
        def lose(gateway):
            gateway.received, gateway.metrics["millpond_feed_sequence_missing_total"] = 990, 10

        self.assertEqual(self.faults(lose), [])

    def test_what_was_lost_on_the_wire_and_not_counted_is_refused(self):
        self.assertEqual(self.faults(lambda gateway: setattr(gateway, "received", 990)), ["feed"])

    def test_a_sink_whose_parts_do_not_add_up_is_refused(self):
        self.assertEqual(self.faults(lambda gateway: gateway.sinks["mqtt"].update(conflated=699)),
                         ["account of sink 'mqtt'"])

    def test_a_client_whose_parts_do_not_add_up_is_refused(self):
        self.assertEqual(self.faults(lambda gateway: gateway.client.update(missed=1)), ["account of the client"])

    def test_a_receiver_that_has_more_than_was_delivered_is_refused(self):
        self.assertEqual(self.faults(lambda gateway: setattr(gateway, "quotes", 1_004)), ["udp"])

    def test_messages_that_kafka_does_not_have_are_refused(self):
        self.assertEqual(self.faults(lambda gateway: setattr(gateway, "brokers", [MadeUpKafka(999)])),
                         ["kafka", "kafka"])

    def test_records_that_kafka_has_not_got_are_refused(self):
        def skip(gateway):
            gateway.sinks["kafka"].update(delivered=999, filtered=6)
            gateway.metrics["millpond_kafka_messages_total"] = 999
            gateway.brokers = [MadeUpKafka(999)]

        self.assertEqual(self.faults(skip), ["kafka"])

    def journal_faults(self, verified, removed):
        gateway = MadeUpGateway()
        gateway.metrics["millpond_journal_removed_segments_total"] = removed
        accounts = Accounts(gateway, 1_000)
        with contextlib.redirect_stdout(io.StringIO()):
            accounts.check_journal(verified)
        return len(accounts.faults)

    def test_a_journal_holds_what_was_delivered_to_it(self):
        self.assertEqual(self.journal_faults("quotes 998, trades 0, statuses 1, gaps 1, clears 0", removed=0), 0)
        self.assertEqual(self.journal_faults("quotes 999, trades 0, statuses 0, gaps 0, clears 0", removed=0), 1)

    def test_a_journal_that_retention_cut_holds_less(self):
        self.assertEqual(self.journal_faults("quotes 400, trades 0, statuses 0, gaps 0, clears 0", removed=3), 0)
        self.assertEqual(self.journal_faults("quotes 0, trades 0, statuses 0, gaps 0, clears 0", removed=3), 1)
        self.assertEqual(self.journal_faults("quotes 1001, trades 0, statuses 0, gaps 0, clears 0", removed=3), 1)

    def test_records_that_kafka_lost_and_told_of_are_good(self):
        def lose(gateway):
            gateway.sinks["kafka"].update(delivered=990, missed=10)
            gateway.metrics.update(millpond_kafka_messages_total=991, millpond_kafka_lost_total=10)
            gateway.brokers = [MadeUpKafka(991)]  # a broker that reports the missing messages as lost

        self.assertEqual(self.faults(lose), [])


class Rate(unittest.TestCase):
    def search(self, limit):
        tried = []
        found = highest(lambda rate: tried.append(rate) or rate <= limit, first=2_000, most=4_000_000)
        return found, tried

    def test_a_rate_that_does_not_hold_for_long_is_lowered_by_quarters(self):
        asked = []
        self.assertEqual(proven(lambda rate, seconds: asked.append((rate, seconds)) or rate <= 60_000, 100_000), 56_250)
        self.assertEqual(asked, [(100_000, 60), (75_000, 60), (56_250, 60)])
        self.assertEqual(proven(lambda rate, seconds: False, 100_000), 0)

    def test_the_rate_found_holds_and_an_eighth_more_does_not(self):
        for limit in (2_000, 2_500, 31_999, 32_000, 77_777, 1_000_000):
            found, _ = self.search(limit)
            self.assertLessEqual(found, limit)
            self.assertGreater(found * 8 / 7, limit)

    def test_it_tries_a_few_rates_only(self):
        self.assertLessEqual(len(self.search(1_500_000)[1]), 14)

    def test_nothing_is_found_where_the_first_rate_is_too_much(self):
        self.assertEqual(self.search(1_999), (0, [2_000]))

    def test_it_ends_at_the_most(self):
        self.assertLessEqual(self.search(10**9)[0], 4_000_000)


class Lossless(unittest.TestCase):
    def test_the_rate_is_found_to_an_eighth_and_what_failed_next_above_it_is_named(self):
        best, fault = search(lambda quotes: "" if quotes <= 700_000 else f"lost at {quotes}")
        self.assertLessEqual(best, 700_000)
        self.assertGreater(best, 700_000 * 7 // 8 - 1)
        failed = int(fault.removeprefix("lost at "))
        self.assertGreater(failed, 700_000)
        self.assertLessEqual(failed, best * 8 // 7 + 1)

    def test_the_page_is_what_is_stored(self):
        top = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
        with open(os.path.join(top, "bench", "results", "soak", "lossless.json"), encoding="utf-8") as file:
            found = json.load(file)
        with open(os.path.join(top, "docs", "reference", "lossless.md"), encoding="utf-8") as file:
            self.assertEqual(as_markdown(found), file.read())

    def test_a_rate_that_fails_once_is_tried_again(self):
        tried = []

        def every_second_time(quotes):
            tried.append(quotes)
            return "lost" if tried.count(quotes) % 2 else ""

        best, fault = search(every_second_time)
        self.assertGreaterEqual(best * 2, 4_000_000)
        self.assertEqual(fault, "nothing up to the highest rate tried")


if __name__ == "__main__":
    unittest.main()
