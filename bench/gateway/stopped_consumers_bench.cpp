// Measured:     the receive path, from the kernel's receive time of a datagram until it is in the ring, as the gateway
//               itself records it, while consumers stop. One datagram at a time, 20 microseconds apart or more; the
//               receive thread has a processor to itself and spins, sender and consumers share the other.
// Not measured: what the consumers get; tests look at their accounts.
#include <cstdint>
#include <optional>

#include <millpond/market/ring_reader.hpp>

#include "bench/gateway/folder.hpp"
#include "bench/gateway/reading.hpp"
#include "bench/gateway/receive_path.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/gateway/tcp_socket.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

enum class Stopped { nothing, reader, tcp_client, disk };

struct Forget {
    template <class Event>
    void on(const Event&) {}
};

bench::Finding receive_path(Stopped stopped) {
    const auto cores = bench::two_cores();
    bench::run_on({cores.first, cores.second});
    const bench::Folder folder;
    const bench::RunningGateway running({.receive_core = cores.second,
                                         .tcp = true,
                                         .csv = stopped == Stopped::disk ? "/dev/full" : folder / "quotes.csv",
                                         .sinks_core = cores.first});
    bench::run_on(cores.first);
    const auto tcp_port = running.tcp_address().port();
    std::optional<bench::Reading> reading;
    std::optional<bench::TcpSocket> stuck;
    if (stopped == Stopped::tcp_client) {
        stuck.emplace(bench::TcpSocket::connect_to(tcp_port));
    } else {
        reading.emplace(bench::TcpSocket::connect_to(tcp_port), cores.first);
    }
    market::RingReader reader({.name = running.ring_name(), .visible_as = "bench"});
    Forget forget;
    return bench::receive_path(running, [&] {
        if (stopped != Stopped::reader) reader.poll(forget, 16);
    });
}

}  // namespace

int main() {
    bench::compare_receive_path("Does a stopped consumer slow the receive path?", "", "what the consumers get",
                                {{"all consumers take", [] { return receive_path(Stopped::nothing); }},
                                 {"a reader stopped", [] { return receive_path(Stopped::reader); }},
                                 {"a TCP client stuck", [] { return receive_path(Stopped::tcp_client); }},
                                 {"the disk full", [] { return receive_path(Stopped::disk); }}});
}
