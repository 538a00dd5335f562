"""What tools/soak makes of runs that are made up: flat ones, some that grow or get slower, a machine that changes."""

import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools", "soak"))

import judgement  # noqa: E402
from judgement import MET, MIB, MISSED, NOT_RESOLVED, Window  # noqa: E402
from rate import highest  # noqa: E402


def windows(machine=lambda age: 1.0, gateway=lambda age: 1.0, memory=lambda age: 100 * MIB, count=180):
    """Of a run: how much slower the machine is, and the gateway on it, at an age from 0 to 1; 10 % of noise."""
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


class Rate(unittest.TestCase):
    def search(self, limit):
        tried = []
        found = highest(lambda rate: tried.append(rate) or rate <= limit, first=2_000, most=4_000_000)
        return found, tried

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


if __name__ == "__main__":
    unittest.main()
