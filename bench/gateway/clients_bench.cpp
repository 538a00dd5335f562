// Measured:     what a line costs each client of the tcp and of the web sink while the clients grow.
// Not measured: clients on other machines, TLS, slow clients, the page's files.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/gateway/json_lines_sink.hpp"
#include "bench/gateway/many_clients.hpp"
#include "bench/gateway/one_way.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

using bench::ClientKind;

constexpr std::size_t kMaxLines = 2'000;
constexpr std::uint64_t kBurst = 20;  // datagrams per burst, so that a client gets a few lines per call

/// Lines per client: fewer for many clients, to bound the time of a run.
std::uint64_t lines_for(std::size_t clients) {
    return std::max<std::uint64_t>(bench::scaled(std::min(kMaxLines, 200'000 / clients)) / kBurst, 1) * kBurst;
}

bench::Finding all_clients(bench::ManyClients& clients, ClientKind kind, std::size_t count) {
    bench::roam();
    bench::JsonLinesSink sink(kind, count);
    // The measurement begins when every client has received the first burst.
    const auto first = bench::join(clients, sink, count);
    const auto lines = lines_for(count);
    const auto nanos =
        bench::nanos_each(lines * count, [&] { bench::send_bursts(clients, sink, count, lines, kBurst, first); });
    const auto last = clients.read_rest();
    clients.disconnect();
    return {.value = nanos, .answer = last - first};
}

/// Resources of a connected client: descriptors and kernel memory.
std::string cost_of_clients(bench::ManyClients& clients, std::size_t count) {
    const auto before = bench::memory_kilobytes("MemAvailable");
    const bench::JsonLinesSink sink(ClientKind::tcp, count);
    const auto slab = bench::memory_kilobytes("Slab");
    clients.connect(sink.kind(), sink.port(), count);
    sink.wait_for_clients(count);
    const auto kernel = bench::memory_kilobytes("Slab") - slab;
    const auto all = before - bench::memory_kilobytes("MemAvailable");
    clients.disconnect();
    return std::to_string(count) + " idle TCP clients with both ends here took " +
           std::to_string(static_cast<long>(kernel / static_cast<double>(count) * 10) / 10) +
           " KiB of kernel objects each (both ends) and " + std::to_string(static_cast<long>(all / 1024)) +
           " MiB of the machine in all";
}

}  // namespace

int main() {
    std::vector<std::size_t> counts{1, 10, 100, 1'000, 10'000};
    std::string left_out;
    while (!bench::allow_descriptors(counts.back())) {
        left_out = "; " + std::to_string(counts.back()) + " clients, which need " +
                   std::to_string(bench::descriptors_for(counts.back())) + " open files in a process";
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
                 .knees = {{.at = 100,
                            .why = "up to here the way of a burst through socket, ring and a sleeping sink is shared "
                                   "by more clients. From here on a call of send and one of read for each client are "
                                   "most of the time, and neither sink costs more a client up to the end of its "
                                   "line"}}},
         .measured =
             "bursts of 20 quotes to all clients until each has every line, divided by lines and "
             "clients; gateway, clients and sender share two processors, so that the clients' reading is "
             "included; " +
             cost_of_clients(clients, std::min<std::size_t>(counts.back(), 1'000)) +
             (counts.back() > 1'000 ? "; " + cost_of_clients(clients, counts.back()) : "") +
             "; the gateway needs one descriptor a client, and the kernel up to the sink's send_buffer for each "
             "that falls behind",
         .not_measured = "clients on other machines, TLS, slow clients, the page's files" + left_out},
        contenders);
}
