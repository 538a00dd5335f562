// Measured:     from the call that hands a message to an AsyncSender until its bytes are in the hands of the peer, one
//               message at a time; and each stage on the way as the sender itself measures it. The producer reads the
//               peer's bare socket; the I/O thread spins on the other processor.
// Not measured: a sleeping I/O thread, several producers. The stages do not add up to the whole: the peer's receive
// call
//               and the kernel's way stand between, and part of the write is over when the peer has the bytes.
#include "bench/engine/send_budget.hpp"

int main() {
    using namespace millpond;
    bench::compare(
        {.question = "Where does the time go between the call of send and the bytes in the peer's hands?",
         .unit = "us",
         .goals = {{.contender = "call of send until the peer has it", .of = bench::Statistic::p50, .at_most = 10},
                   {.contender = "call of send until the peer has it", .of = bench::Statistic::p99, .at_most = 10},
                   {.contender = "call of send until the peer has it", .of = bench::Statistic::p999, .at_most = 10},
                   {.contender = "call of send until the peer has it",
                    .to = bench::kRawSend,
                    .of = bench::Statistic::p50,
                    .at_most = 1.5}},
         .measured = "one message at a time through an AsyncSender over TCP on loopback, I/O thread spinning",
         .not_measured = "a sleeping I/O thread, several producers"},
        bench::budget_contenders(bench::scaled(20'000), 0));
}
