// Measured:     from before the order is written until the report is parsed, one at a time, over TCP on loopback: both
//               sides on a processor of their own, spinning. Our sides run the whole session: numbers, store,
//               dictionary of the session level, heartbeats. The limit moves as many bytes and looks at none.
// Not measured: logon, waking a sleeping thread (round_trip_blocking_bench), several orders at a time.
#include "bench/engine/round_trip.hpp"

int main() {
    using namespace millpond;
    const auto count = bench::scaled(10'000);
    const auto ours = [&](bool in_files) {
        return [count, in_files] {
            bench::run_on(bench::two_cores().first);
            return bench::round_trips(bench::SessionPath{core::Poll::spin, in_files}, count);
        };
    };
    bench::compare(
        {.question = "What does a full FIX session add to an order's round trip?",
         .unit = "us",
         .goals =
             {{.contender = "millpond, memory store",
               .to = "raw sockets",
               .of = bench::Statistic::p50,
               .at_most = 1.12},
              {.contender = "millpond, file store", .to = "raw sockets", .of = bench::Statistic::p50, .at_most = 1.15}},
         .measured = "NewOrderSingle to ExecutionReport over TCP on loopback, one at a time, both sides spinning",
         .not_measured = "logon, waking a sleeping thread, several orders at a time"},
        {{"raw sockets",
          [count] {
              bench::run_on(bench::two_cores().first);
              return bench::round_trips(bench::RawPath<true>{}, count);
          }},
         {"millpond, memory store", ours(false)},
         {"millpond, file store", ours(true)}});
}
