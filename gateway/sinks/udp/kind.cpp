#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>

#include "gateway/sinks/kind_of.hpp"
#include "gateway/sinks/ring_sink.hpp"
#include "gateway/sinks/udp/settings.hpp"
#include "gateway/sinks/udp/udp_sink.hpp"

namespace millpond::gateway::udp {
namespace {

using K = settings::KeyOf<Settings>;
using Keys = SinkKeys<Settings>;

constexpr settings::Key<Settings> kKeys[] = {
    Keys::kName,
    Keys::kRing,
    K::endpoint<&Settings::to>("to", "Destination of the datagrams, unicast or multicast."),
    K::text<&Settings::interface>("interface", "NAME", "Interface for multicast; the kernel chooses if unset."),
    K::integer<&Settings::channel, 0, std::numeric_limits<std::uint16_t>::max()>("channel", "N",
                                                                                 "Channel number in the datagrams."),
    K::choice<&Settings::mode, kDeliveries>(
        "mode", "every|conflate", "Send every quote, or the newest of each instrument when the socket is slow."),
    K::integer<&Settings::heartbeat_ms, 1, 3'600'000>("heartbeat_ms", "N",
                                                      "Send an empty datagram after this much silence."),
    Keys::kPoll,
    Keys::kPin,
};

class Kind final : public SinkKindOf<Settings> {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "udp"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "quotes datagrams to other gateways"; }

protected:
    [[nodiscard]] std::span<const settings::Key<Settings>> table() const override { return kKeys; }
    void complete(Settings& settings, const SinkContext& context) const override {
        if (settings.to.empty()) throw settings::ConfigError(context.user + ": key 'to' is missing");
        if (settings.to.port() == 0)
            throw settings::ConfigError(
                fmt::format("{}: to '{}' has no port to send to", context.user, settings.to.to_string()));
    }
    [[nodiscard]] std::vector<SinkOutput> outputs(const Settings& settings) const override {
        return {{.name = settings.to.to_string(), .claim = {}, .to = settings.to, .interface = settings.interface}};
    }
    [[nodiscard]] std::unique_ptr<PreparedSink> prepare(const Settings& settings) const override {
        return prepare_ring_sink(
            {.basics = static_cast<const SinkBasics&>(settings)}, [settings](const SinkHost& host) {
                const Options options{.name = settings.name,
                                      .to = settings.to,
                                      .interface = settings.interface,
                                      .channel = settings.channel,
                                      .mode = settings.mode,
                                      .heartbeat = std::chrono::milliseconds{settings.heartbeat_ms}};
                return std::make_unique<UdpSink>(options, static_cast<std::uint64_t>(core::utc_nanos()), host.say);
            });
    }
};

}  // namespace

const SinkKind& Settings::kind() noexcept {
    static const Kind kind;
    return kind;
}

}  // namespace millpond::gateway::udp
