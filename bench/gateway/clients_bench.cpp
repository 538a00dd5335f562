// Measured:     what a line costs each client of the tcp and of the web sink while the clients grow.
// Not measured: clients on other machines, TLS, slow clients, the page's files.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/datagram.hpp"
#include "bench/gateway/many_clients.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"
#include "gateway/sinks/tcp/settings.hpp"
#include "gateway/sinks/web/settings.hpp"

namespace {

using namespace millpond;

using bench::ClientKind;

constexpr std::size_t kMostLines = 2'000;
constexpr std::uint64_t kBurst = 20;  // datagrams a burst, so that a client gets a few lines with one call

/// Lines for each client: fewer for many clients, so that a run takes no longer.
std::uint64_t lines_for(std::size_t clients) {
    return std::max<std::uint64_t>(bench::scaled(std::min(kMostLines, 200'000 / clients)) / kBurst, 1) * kBurst;
}

/// Waits until the sink has taken them all: the kernel connects before it does.
void wait_for_clients(const bench::RunningGateway& running, std::size_t count) {
    bench::spin_until([&] {
        std::uint64_t clients = 0;
        running.sinks().front()->visit_metrics([&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == "clients") clients = tally.read();
        });
        return clients == count;
    });
}

bench::Finding all_clients(bench::ManyClients& clients, ClientKind kind, std::size_t count) {
    const auto cores = bench::two_cores();
    bench::run_on({cores.first, cores.second});
    bench::RunningGateway running(
        {.receive_core = cores.second, .poll = core::Poll::adaptive, .also = [&](gateway::Config& config) {
             const auto set = [&](auto& settings) {
                 settings.listen = net::SocketAddress::parse("127.0.0.1:0");
                 settings.mode = gateway::Delivery::every;
                 settings.max_clients = count;
             };
             kind == ClientKind::tcp ? set(config.add<gateway::tcp::Settings>())
                                     : set(config.add<gateway::web::Settings>());
         }});
    const auto port = kind == ClientKind::tcp ? running.tcp_address().port() : running.web_address().port();
    clients.connect(kind, port, count);
    wait_for_clients(running, count);
    net::UdpSender sender({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(running.feed_port()))});
    std::uint32_t price = 100'000;
    const auto send_burst = [&] {
        for (std::uint64_t i = 0; i < kBurst; ++i) {
            const auto bytes = bench::datagram_of(++price);
            bench::spin_until([&] { return sender.send(bytes); });
        }
    };
    const auto read_until = [&](std::uint64_t lines) {
        if (clients.read_until(lines) < lines) throw std::runtime_error("a client of the bench lacks lines");
    };
    // What was on the board comes first; what counts begins when each client has the first burst.
    send_burst();
    read_until(count * kBurst);
    const auto first = clients.read_rest();
    const auto lines = lines_for(count);
    const auto nanos = bench::nanos_each(lines * count, [&] {
        for (std::uint64_t sent = 0; sent < lines;) {
            send_burst();
            sent += kBurst;
            read_until(first + sent * count);
        }
    });
    const auto last = clients.read_rest();
    clients.disconnect();
    return {.value = nanos, .answer = last - first};
}

/// What a connected client takes of this machine: descriptors and the kernel's memory.
std::string cost_of_clients(bench::ManyClients& clients, std::size_t count) {
    const auto before = bench::memory_kilobytes("MemAvailable");
    bench::RunningGateway running({.poll = core::Poll::adaptive, .also = [&](gateway::Config& config) {
                                       auto& tcp = config.add<gateway::tcp::Settings>();
                                       tcp.listen = net::SocketAddress::parse("127.0.0.1:0");
                                       tcp.max_clients = count;
                                   }});
    const auto slab = bench::memory_kilobytes("Slab");
    clients.connect(ClientKind::tcp, running.tcp_address().port(), count);
    wait_for_clients(running, count);
    const auto kernel = bench::memory_kilobytes("Slab") - slab;
    const auto all = before - bench::memory_kilobytes("MemAvailable");
    clients.disconnect();
    return std::to_string(count) + " idle TCP clients with both ends here took " +
           std::to_string(static_cast<long>(kernel / static_cast<double>(count) * 10) / 10) +
           " KiB of kernel objects each (both ends) and " + std::to_string(static_cast<long>(all / 1024)) +
           " MiB of the machine in all; the gateway needs one descriptor a client and the kernel up to the sink's "
           "send_buffer for each that falls behind";
}

}  // namespace

int main() {
    std::vector<std::size_t> counts{1, 10, 100, 1'000, 10'000};
    std::string left_out;
    while (!bench::allow_descriptors(counts.back())) {
        left_out = "; " + std::to_string(counts.back()) + " clients, for which the limit of open files is too low";
        counts.pop_back();
    }
    bench::ManyClients clients;
    std::vector<bench::Contender> contenders;
    bench::add_line(contenders, "tcp sink", counts,
                    [&](std::size_t count) { return all_clients(clients, ClientKind::tcp, count); });
    bench::add_line(contenders, "web sink", counts,
                    [&](std::size_t count) { return all_clients(clients, ClientKind::web, count); });
    bench::compare(
        {.question = "What does a line cost each client of the gateway while the clients grow?",
         .unit = "ns/line and client",
         .curve =
             bench::Curve{
                 .axis = "clients",
                 .knees = {{.at = 10,
                            .why = "with few clients the way of a burst through socket, ring and a sleeping sink is "
                                   "most of the time; with ten it is shared, and one call of send to each is left"},
                           {.at = 1'000,
                            .why = "from here on sockets, buffers and accounts of the clients no longer fit into the "
                                   "second-level cache: each send and each read begins with misses in the kernel"}}},
         .measured = "bursts of 20 quotes to all clients until each has every line, divided by lines and "
                     "clients; gateway, clients and sender share two processors, so that the clients' reading is "
                     "included; " +
                     cost_of_clients(clients, std::min<std::size_t>(counts.back(), 1'000)),
         .not_measured = "clients on other machines, TLS, slow clients, the page's files" + left_out},
        contenders);
}
