// Measured:     as round_trip_bench, but that both sides sleep until bytes come, and QuickFIX, which has no other way.
//               Each side has one processor for all of its threads; all sockets have TCP_NODELAY and the same order
//               comes with the same report on all ways. QuickFIX logs nothing and has no dictionary.
// Not measured: logon, several orders at a time.
#include <string>

#include "bench/engine/round_trip.hpp"

int main() {
    using namespace millpond;
    const auto count = bench::scaled(3'000);
    auto contenders = bench::round_trip_contenders<core::Poll::block>(count);
    std::string missing;
#ifdef MILLPOND_RIVAL_QUICKFIX_PEER
    contenders.push_back({"QuickFIX, memory store", [count] { return bench::quickfix_round_trips(false, count); }});
    contenders.push_back({"QuickFIX, file store", [count] { return bench::quickfix_round_trips(true, count); }});
#else
    missing = "; QuickFIX, which is not installed here";
#endif
    bench::compare_round_trips(
        {.question = "What does a full FIX session add to an order's round trip when both sides sleep?",
         .measured = "NewOrderSingle to ExecutionReport over TCP on loopback, one at a time, both sides asleep until "
                     "bytes come",
         .not_measured = "logon, several orders at a time" + missing},
        contenders);
}
