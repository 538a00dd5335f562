// Measured:     the receive path, from the kernel's receive time of a datagram until it is in the ring, as the gateway
//               itself records it, while consumers stop. One datagram at a time, 20 microseconds apart or more; the
//               receive thread has a processor to itself and spins, sender and consumers share the other.
// Not measured: what the consumers get; tests look at their accounts.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/metrics/histogram_buckets.hpp>
#include <millpond/metrics/histogram_snapshot.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/datagram.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/gateway/tcp_socket.hpp"
#include "bench/gateway/wire_latencies.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

enum class Stopped { nothing, reader, tcp_client, disk };

const core::TickRate kRate;

// A folder of its own that goes with it.
class Folder {
public:
    Folder() : path_(std::filesystem::temp_directory_path() / ("millpond-bench." + std::to_string(getpid()))) {
        std::filesystem::create_directory(path_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string file() const { return path_ / "quotes.csv"; }

private:
    std::filesystem::path path_;
};

// Reads and forgets until the connection ends.
class ReadingClient {
public:
    explicit ReadingClient(std::uint16_t port, int core)
        : socket_(bench::TcpSocket::connect_to(port)), thread_([this, core] {
              bench::run_on(core);
              std::array<char, 65'536> bytes;
              while (socket_.read(bytes.data(), bytes.size()) > 0) {
              }
          }) {}
    ReadingClient(const ReadingClient&) = delete;
    ReadingClient& operator=(const ReadingClient&) = delete;
    ~ReadingClient() {
        socket_.shut_down();
        thread_.join();
    }

private:
    bench::TcpSocket socket_;
    std::thread thread_;
};

struct Forget {
    template <class Event>
    void on(const Event&) {}
};

bench::Finding receive_path(Stopped stopped) {
    constexpr std::int64_t kPaceNanos = 20'000;
    constexpr std::size_t kWarm = 500;
    const auto count = bench::scaled(10'000);
    const auto cores = bench::two_cores();
    bench::run_on({cores.first, cores.second});
    const Folder folder;
    const bench::RunningGateway running({.receive_core = cores.second,
                                         .tcp = true,
                                         .csv = stopped == Stopped::disk ? "/dev/full" : folder.file(),
                                         .sinks_core = cores.first});
    bench::run_on(cores.first);
    const auto tcp_port = running.tcp_address().port();
    std::optional<ReadingClient> reading;
    std::optional<bench::TcpSocket> stuck;
    if (stopped == Stopped::tcp_client) {
        stuck.emplace(bench::TcpSocket::connect_to(tcp_port));
    } else {
        reading.emplace(tcp_port, cores.first);
    }
    market::RingReader reader({.name = running.ring_name(), .visible_as = "bench"});
    net::UdpSender sender({.to = net::SocketAddress::parse("127.0.0.1:" + std::to_string(running.feed_port()))});
    const auto& published = running.pipeline().publisher().published();
    Forget forget;
    bench::Snapshot before;
    for (std::size_t i = 0; i < kWarm + count; ++i) {
        if (i == kWarm) before = bench::wire_latencies(running);
        const auto start = core::ticks();
        const auto bytes = bench::datagram_of(static_cast<std::uint32_t>(100'000 + i % 10'000));
        bench::spin_until([&] { return sender.send(bytes); });
        bench::spin_until([&] { return published.read() > i; });
        if (stopped != Stopped::reader) reader.poll(forget, 16);
        bench::spin_until([&] { return kRate.nanos(core::ticks() - start) >= kPaceNanos; });
    }
    const auto after = bench::wire_latencies(running);
    after->subtract(*before);
    return {.answer = published.read(), .latencies = bench::values_of(*after)};
}

}  // namespace

int main() {
    std::vector<bench::Goal> goals;
    for (const auto* const name : {"a reader stopped", "a TCP client stuck", "the disk full"}) {
        goals.push_back({.contender = name, .to = "all consumers take", .of = bench::Statistic::p50, .at_most = 1.03});
        goals.push_back({.contender = name, .to = "all consumers take", .of = bench::Statistic::p99, .at_most = 1.10});
    }
    bench::compare(
        {.question = "Does a stopped consumer slow the receive path?",
         .unit = "ns",
         .goals = goals,
         .measured =
             "from the kernel's receive time until the quote is in the ring, as the gateway records it; "
             "one datagram at a time, 20 us apart or more, the receive thread alone on its processor and spinning",
         .not_measured = "what the consumers get"},
        {{"all consumers take", [] { return receive_path(Stopped::nothing); }},
         {"a reader stopped", [] { return receive_path(Stopped::reader); }},
         {"a TCP client stuck", [] { return receive_path(Stopped::tcp_client); }},
         {"the disk full", [] { return receive_path(Stopped::disk); }}});
}
