#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/quotes_encoder.hpp>

#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "gateway/sinks/udp/settings.hpp"
#include "gateway/sinks/udp/udp_sink.hpp"
#include "service/config_error.hpp"

namespace millpond::gateway::udp {
namespace {

using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr std::uint64_t kMaxFeedDepth = 50;

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    Keys::kRing,
    K::endpoint<&Settings::to>("to", "Destination of the datagrams, unicast or multicast.").required("127.0.0.1:14001"),
    K::text<&Settings::interface>("interface", "NAME", "Interface for multicast; the kernel chooses if unset."),
    K::integer<&Settings::channel, 0, std::numeric_limits<std::uint16_t>::max()>("channel", "N",
                                                                                 "Channel number in the datagrams."),
    K::choice<&Settings::mode, kDeliveries>(
        "mode", "every|conflate", "Send every quote, or the newest of each instrument when the socket is slow."),
    K::integer<&Settings::depth, 0, kMaxFeedDepth>("depth", "N", "Price levels of a side to send; 0 for quotes only."),
    K::integer<&Settings::refresh_seconds, 1, 3'600>(
        "refresh_seconds", "N",
        "Seconds in which all quotes and levels are repeated, for receivers that join late or lost datagrams."),
    Keys::kPoll,
    Keys::kPin,
    K::removed("heartbeat_ms", "1 s"),
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "udp"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "quotes datagrams to other gateways"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        if (settings.to.empty()) throw service::ConfigError(context.user + ": key 'to' is missing");
        if (settings.to.port() == 0)
            throw service::ConfigError(
                fmt::format("{}: to '{}' has no port to send to", context.user, settings.to.to_string()));
        check_depth(settings, context);
    }
    // A group is never split over two datagrams.
    static void check_depth(const Settings& settings, const SinkContext& context) {
        namespace at = feed::quotes_layout;
        if (settings.depth != 0 && settings.mode == Delivery::conflate)
            throw service::ConfigError(
                fmt::format("{}: depth {} needs mode 'every': levels are not conflated", context.user, settings.depth));
        if (settings.depth <= at::kMaxDepth) return;
        constexpr auto kOthers = at::kHeaderBytes + at::kNamesAt + feed::Venue::capacity() + feed::Symbol::capacity();
        const auto levels = 2 * std::uint64_t{settings.depth};
        throw service::ConfigError(
            fmt::format("{}: depth {} is more than {}: {} levels of {} bytes and {} other bytes need a datagram of {} "
                        "bytes, but the largest has {}",
                        context.user, settings.depth, at::kMaxDepth, levels, at::kLevelBytes, kOthers,
                        kOthers + levels * at::kLevelBytes, at::kMaxDatagramBytes));
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        return {{.name = settings.to.to_string(),
                 .claim = {},
                 .to = settings.to,
                 .interface = settings.interface,
                 .keys = {"to", "interface"}}};
    }
    [[nodiscard]] std::uint32_t depth(const Settings& settings) const override {
        return static_cast<std::uint32_t>(settings.depth);
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        return prepare_ring_sink(
            {.basics = static_cast<const SinkBasics&>(settings)}, [settings](const SinkHost& host) {
                return std::make_unique<UdpSink>(settings, static_cast<std::uint64_t>(core::utc_nanos()), host.log);
            });
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::udp
