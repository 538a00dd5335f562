// Measured:     orders answered in a second, with 64 unanswered, over TCP on loopback; the session that reports
//               has a standby in the same process. Afterwards the standby must have every message.
// Not measured: logon, TLS to the standby, a network between the machines, waiting for the disk. Raw sockets take one
//               call for each message; sessions write several at once.
#include "bench/engine/standby_modes.hpp"

int main() {
    using namespace millpond;
    const auto count = bench::scaled(30'000);
    const auto ask = [count](auto& path) { return bench::answer_rate(path, count, 64); };
    bench::compare({.question = "How many orders are answered in a second with each mode of a standby?",
                    .unit = "thousand/s",
                    .measured = "NewOrderSingle to ExecutionReport over TCP on loopback, 64 unanswered, stores in "
                                "files, all threads sleep while they wait",
                    .not_measured = "logon, TLS to the standby, a network, waiting for the disk"},
                   bench::standby_contenders(ask, ask));
}
