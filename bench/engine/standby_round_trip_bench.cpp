// Measured:     from before the order is written until the report is parsed, one at a time, over TCP on loopback; the
//               session that reports has a standby in the same process. All threads sleep while they wait.
// Not measured: logon, TLS to the standby, a network between the machines, waiting for the disk, several orders at a
//               time (standby_rate_bench).
#include "bench/engine/standby_modes.hpp"

int main() {
    using namespace millpond;
    const auto count = bench::scaled(5'000);
    const auto ask = [count](auto& path) { return bench::round_trips(path, count); };
    bench::compare({.question = "What does each mode of a standby add to an order's round trip?",
                    .unit = "us",
                    .measured = "NewOrderSingle to ExecutionReport over TCP on loopback, one at a time, stores in "
                                "files, all threads sleep while they wait",
                    .not_measured = "logon, TLS to the standby, a network, waiting for the disk"},
                   bench::standby_contenders(ask, ask));
}
