// Measured:     from before the send call of a 256-byte datagram over a pair of virtual interfaces until a receiver
//               that spins on the other processor holds its bytes, by the time stamp counter that both share; one at a
//               time.
// Not measured: a network card, interrupts, a burst, waking a sleeping thread.
#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include <millpond/core/cache_line.hpp>
#include <millpond/core/clock.hpp>
#include <millpond/core/endian.hpp>
#include <millpond/net/udp_sender.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#include "bench/net/veth_sources.hpp"
#include "bench/rivals/packet_ring.hpp"
#include "tests/net/network_pair.hpp"

namespace {

using namespace millpond;

const core::TickRate kRate;

/// Receives on a separate thread and reports the time of the newest datagram.
template <class Source>
class Receiver {
public:
    Receiver(Source& source, int core)
        : thread_([this, &source, core](const std::stop_token& stop) { run(stop, source, core); }) {}

    /// Ticks at which datagram `number`, the newest one, was received.
    [[nodiscard]] std::uint64_t received_at(std::uint64_t number) const {
        bench::spin_until([&] {
            return number_.load(std::memory_order_acquire) == number;  // sync "ticks set": the store in run
        });
        return ticks_;
    }

private:
    void run(const std::stop_token& stop, Source& source, int core) {
        constexpr std::uint32_t kFruitlessPolls = 2'000;
        bench::run_on(core);
        for (std::uint32_t fruitless = 0; !stop.stop_requested();) {
            const auto count = source.poll([this](std::span<const std::byte> came) {
                ticks_ = core::ticks();
                const auto number = core::load_le<std::uint64_t>(came.data());
                number_.store(number, std::memory_order_release);  // sync "ticks set": the load in received_at
            });
            if (count == 0 && ++fruitless % kFruitlessPolls == 0) sched_yield();
        }
    }

    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> number_{0};
    std::uint64_t ticks_{0};
    alignas(core::kFalseSharingRange) std::jthread thread_;
};

template <class Source>
bench::Finding one_way(const net::test::NetworkPair& pair, Source& source) {
    constexpr std::size_t kWarm = 500;
    const auto cores = bench::two_cores();
    pair.enter_far();
    net::UdpSender sender({.to = bench::near_address(source.port())});
    pair.enter_near();
    bench::run_on(
        {cores.first, cores.second});  // a thread can only be bound to processors of the thread that starts it
    const Receiver<Source> receiver{source, cores.second};
    bench::run_on(cores.first);
    bench::Finding found;
    std::array<std::byte, 256> bytes{};
    const auto count = bench::scaled(10'000);
    for (std::uint64_t number = 1; number <= kWarm + count; ++number) {
        core::store_le(bytes.data(), number);
        const auto sent = core::ticks();
        bench::spin_until([&] { return sender.send(bytes); });
        const auto ticks = receiver.received_at(number) - sent;
        found.answer += number;
        if (number <= kWarm) continue;
        found.latencies.push_back(static_cast<float>(static_cast<double>(ticks) * kRate.nanos_per_tick() / 1'000));
    }
    return found;
}

}  // namespace

int main() {
    std::string why;
    const auto pair = net::test::NetworkPair::make(why);
    if (pair == nullptr) throw std::runtime_error(why);
    using net::ReceivePath;
    using net::Want;
    const auto ours = [&pair](ReceivePath path, Want trains) {
        return [&pair, path, trains] {
            bench::PolledReceiver receiver(bench::on_veth(path, trains));
            return one_way(*pair, receiver);
        };
    };
    bench::compare({.question = "How long is a datagram on its way by each receive path?",
                    .unit = "us",
                    .measured = "from before the send call of a 256-byte datagram over virtual interfaces until a "
                                "receiver that spins on the other processor holds its bytes; one at a time",
                    .not_measured = "a network card, interrupts, a burst, waking a sleeping thread"},
                   {{"bare recv",
                     [&] {
                         bench::BareSocket socket;
                         return one_way(*pair, socket);
                     }},
                    {"socket", ours(ReceivePath::socket, Want::no)},
                    {"socket, trains", ours(ReceivePath::socket, Want::require)},
                    {"AF_XDP", ours(ReceivePath::af_xdp, Want::no)},
                    {"TPACKET ring", [&] {
                         bench::PacketRing ring("near0");
                         return one_way(*pair, ring);
                     }}});
}
