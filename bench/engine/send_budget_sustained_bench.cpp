// Measured:     as send_budget_bench, but 100,000 messages a second whether those before have arrived or not; the time
//               counts from when a message was due, so that none is left out while others wait.
// Not measured: a sleeping I/O thread, several producers.
#include "bench/engine/send_budget.hpp"

int main() {
    using namespace millpond;
    constexpr std::int64_t kPaceNanos = 10'000;
    bench::compare(
        {.question = "And at a sustained 100,000 messages a second?",
         .unit = "us",
         .goals = {{.contender = "call of send until the peer has it", .of = bench::Statistic::p50, .at_most = 10},
                   {.contender = "call of send until the peer has it", .of = bench::Statistic::p99, .at_most = 10},
                   {.contender = "call of send until the peer has it", .of = bench::Statistic::p999, .at_most = 10},
                   {.contender = "call of send until the peer has it",
                    .to = bench::kRawSend,
                    .of = bench::Statistic::p50,
                    .at_most = 1.5}},
         .measured = "one message every 10 us through an AsyncSender over TCP on loopback, I/O thread spinning, "
                     "from when the message was due",
         .not_measured = "a sleeping I/O thread, several producers"},
        bench::budget_contenders(bench::scaled(20'000), kPaceNanos));
}
