// Measured:     from before the order is written until the report is parsed, one at a time, over TCP on loopback: both
//               sides on a processor of their own, spinning. Our sides run the whole session: numbers, store,
//               dictionary of the session level, heartbeats. The limit moves as many bytes and looks at none.
// Not measured: logon, waking a sleeping thread (round_trip_blocking_bench), several orders at a time.
#include "bench/engine/round_trip.hpp"

int main() {
    using namespace millpond;
    bench::compare_round_trips(
        {.question = "What does a full FIX session add to an order's round trip?",
         .measured = "NewOrderSingle to ExecutionReport over TCP on loopback, one at a time, both sides spinning",
         .not_measured = "logon, waking a sleeping thread, several orders at a time"},
        bench::round_trip_contenders<core::Poll::spin>(bench::scaled(10'000)));
}
