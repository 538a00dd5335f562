// Measured:     as round_trip_bench, but that both sides sleep until bytes come, and QuickFIX, which has no other way.
//               Each side of ours has a processor of its own; QuickFIX's threads go where the kernel puts them.
// Not measured: logon, several orders at a time.
#include <vector>

#include "bench/engine/round_trip.hpp"

int main() {
    using namespace millpond;
    const auto count = bench::scaled(3'000);
    const auto ours = [&](bool in_files) {
        return [count, in_files] {
            bench::run_on(bench::two_cores().first);
            return bench::round_trips(bench::SessionPath{core::Poll::block, in_files}, count);
        };
    };
    std::vector<bench::Contender> contenders{{"raw sockets",
                                              [count] {
                                                  bench::run_on(bench::two_cores().first);
                                                  return bench::round_trips(bench::RawPath<false>{}, count);
                                              }},
                                             {"millpond, memory store", ours(false)},
                                             {"millpond, file store", ours(true)}};
#ifdef MILLPOND_RIVAL_QUICKFIX_PEER
    contenders.push_back({"QuickFIX, memory store", [count] { return bench::quickfix_round_trips(false, count); }});
    contenders.push_back({"QuickFIX, file store", [count] { return bench::quickfix_round_trips(true, count); }});
#endif
    bench::compare(
        {.question = "What does a full FIX session add to an order's round trip when both sides sleep?",
         .unit = "us",
         .goals =
             {{.contender = "millpond, memory store",
               .to = "raw sockets",
               .of = bench::Statistic::p50,
               .at_most = 1.12},
              {.contender = "millpond, file store", .to = "raw sockets", .of = bench::Statistic::p50, .at_most = 1.15}},
         .measured = "NewOrderSingle to ExecutionReport over TCP on loopback, one at a time, both sides asleep until "
                     "bytes come",
         .not_measured = "logon, several orders at a time"},
        contenders);
}
