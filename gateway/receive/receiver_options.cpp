#include "gateway/receive/receiver_options.hpp"

#include <chrono>
#include <limits>

#include <millpond/core/clock.hpp>

namespace millpond::gateway {
namespace {

constexpr std::uint16_t kMaxMessages = 1'000;  ///< In one request.
constexpr std::uint32_t kTries = 6;            ///< Requests after which a gap is given up.
/// By TCP nothing is lost: a server that sends nothing for so many pauses has nothing to send, or is dead.
constexpr int kStreamWaits = 40;
constexpr std::uint32_t kStreamTries = 2;

std::uint64_t ticks_of(std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(static_cast<double>(time.count()) / core::TickRate{}.nanos_per_tick());
}

net::Want want_of(Wanted wanted) {
    switch (wanted) {
        case Wanted::none: return net::Want::no;
        case Wanted::prefer: return net::Want::prefer;
        case Wanted::require: return net::Want::require;
    }
    return net::Want::no;
}

}  // namespace

net::ReceiveOptions receiver_options(const FeedConfig& config) {
    return {.local = config.listen,
            .source = config.source,
            .interface = config.interface,
            .receive_buffer = config.receive_buffer,
            .gro = net::Want::prefer,
            .nic_time = want_of(config.nic_time),
            .path = *config.receive,
            .path_want = want_of(config.receive_want),
            .zero_copy = want_of(config.zero_copy),
            .checksum = config.checksum,
            .vlan = static_cast<std::uint16_t>(config.vlan)};
}

net::ReceiveOptions second_receiver_options(const FeedConfig& config) {
    auto options = receiver_options(config);
    options.local = config.line_b;
    options.source = config.source_b;
    options.interface = config.interface_b;
    return options;
}

std::uint64_t reorder_ticks(const FeedConfig& config) { return ticks_of(std::chrono::microseconds{config.reorder_us}); }

std::uint64_t join_ticks() { return ticks_of(std::chrono::milliseconds{200}); }

feed::RerequesterOptions rerequester_options(const RerequestSettings& settings) {
    return {.max_messages = kMaxMessages,
            .first_wait = ticks_of(std::chrono::milliseconds{settings.rerequest_ms}),
            .tries = kTries};
}

feed::RerequesterOptions stream_rerequester_options(const RerequestSettings& settings) {
    return {.max_messages = std::numeric_limits<std::uint64_t>::max(),
            .first_wait = ticks_of(kStreamWaits * std::chrono::milliseconds{settings.rerequest_ms}),
            .tries = kStreamTries};
}

GapLimit gap_limit(const RerequestSettings& settings) {
    constexpr int kUnanswered = 2;  // times the requests that a silent server gets by UDP and TCP
    constexpr int kWaits = ((1 << kTries) - 1) + kStreamWaits * ((1 << kStreamTries) - 1);
    constexpr std::chrono::microseconds kPerMessage{200};
    return {.ticks = ticks_of(kUnanswered * kWaits * std::chrono::milliseconds{settings.rerequest_ms}),
            .ticks_per_message = ticks_of(kPerMessage)};
}

}  // namespace millpond::gateway
