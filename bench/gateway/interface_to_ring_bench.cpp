// Measured:     from before the send call of a 256-byte bbo28 datagram over a pair of virtual interfaces until the
//               subscriber in shared memory holds its quote. Sender and subscriber are one thread on one processor,
//               what lies between is on the other and spins.
// Not measured: a network card, interrupts, a burst, waking a sleeping thread, the start.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <sched.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/gateway/wire_paths.hpp"
#include "bench/gateway/wire_to_ring.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"
#include "bench/net/veth_sources.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/rivals/packet_ring.hpp"
#include "tests/net/network_pair.hpp"

namespace {

using namespace millpond;
using Pair = net::test::NetworkPair;

/// One of the sources of the receive benches, then a bare entry. Decodes only the price.
template <class Source>
class SourcePath {
public:
    template <class... Arguments>
    explicit SourcePath(int core, Arguments&&... arguments)
        : source_(std::forward<Arguments>(arguments)...),
          thread_([this, core](const std::stop_token& stop) { receive(stop, core); }) {}

    [[nodiscard]] std::uint16_t port() const { return source_.port(); }
    [[nodiscard]] std::optional<feed::Price> try_pop() {
        bench::Message message;
        if (!link_.receive(message)) return std::nullopt;
        return feed::price_from<feed::kBbo28Scale>(static_cast<std::uint32_t>(message[1]));
    }

private:
    void receive(const std::stop_token& stop, int core) {
        bench::run_on(core);
        bench::Message message{};
        for (std::uint32_t fruitless = 0; !stop.stop_requested();) {
            const auto count = source_.poll([&](std::span<const std::byte> came) {
                ++message[0];
                message[1] = core::load_be<std::uint32_t>(came.data() + came.size() - 12);
                link_.send(message);
            });
            if (count == 0 && ++fruitless % bench::kFruitlessPolls == 0) sched_yield();
        }
    }

    Source source_;
    bench::EntryLink link_;
    std::jthread thread_;
};

template <class Path, class... Arguments>
bench::Finding one_way(const Pair& pair, Arguments&&... arguments) {
    const auto cores = bench::two_cores();
    bench::run_on(
        {cores.first, cores.second});  // a thread can only be bound to processors of the thread that starts it
    Path path(cores.second, std::forward<Arguments>(arguments)...);
    pair.enter_far();
    net::UdpSender sender({.to = bench::near_address(path.port())});
    pair.enter_near();
    return bench::wire_to_ring(path, sender);
}

bench::Finding by_gateway(const Pair& pair, net::ReceivePath path) {
    return one_way<bench::GatewayPath>(pair, [path](gateway::Config& config) {
        auto& feed = config.feeds.front();
        feed.listen = bench::near_address(0);
        feed.interface = "near0";
        feed.receive = path;
        config.receive_want = gateway::Wanted::require;
        feed.zero_copy = gateway::Wanted::none;
        feed.checksum = net::Checksum::trust;
    });
}

}  // namespace

int main() {
    std::string why;
    const auto pair = Pair::make(why);
    if (pair == nullptr) throw std::runtime_error(why);
    using bench::BarePath;
    using net::ReceivePath;
    constexpr const char* kBare = "bare recvmsg + bare entry";
    bench::compare(
        {.question = "How long from an interface to a subscriber in shared memory, by a socket and by AF_XDP?",
         .unit = "us",
         .goals = {{.contender = "millpond gateway, AF_XDP", .to = kBare, .at_most = 1.10},
                   {.contender = "millpond gateway, socket", .to = kBare, .at_most = 1.10}},
         .bracket = bench::Bracket{kBare,
                                   [&] {
                                       auto found = one_way<BarePath<>>(*pair);
                                       return bench::summarise(found.latencies).p50;
                                   }},
         .measured = "from before the send call of a 256-byte bbo28 datagram over virtual interfaces until the "
                     "subscriber holds its quote; sender and subscriber on one processor, the rest on the other, "
                     "spinning",
         .not_measured = "a network card, interrupts, a burst, waking a sleeping thread, the start"},
        {{"the limit once more", [&] { return one_way<BarePath<>>(*pair); }},
         {"millpond gateway, socket", [&] { return by_gateway(*pair, ReceivePath::socket); }},
         {"millpond gateway, AF_XDP", [&] { return by_gateway(*pair, ReceivePath::af_xdp); }},
         {"UdpReceiver on AF_XDP + bare entry",
          [&] {
              return one_way<SourcePath<bench::PolledReceiver>>(*pair,
                                                                bench::on_veth(ReceivePath::af_xdp, net::Want::no));
          }},
         {"TPACKET ring + bare entry", [&] { return one_way<SourcePath<bench::PacketRing>>(*pair, "near0"); }}});
}
