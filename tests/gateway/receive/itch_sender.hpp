#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>

#include "gateway/feeds/itch/settings.hpp"
#include "tests/gateway/running_gateway.hpp"

namespace millpond::gateway::test {

/// Sends ITCH messages to the feed of a running gateway, one in each datagram.
class ItchSender {
public:
    explicit ItchSender(RunningGateway& gateway, std::string_view session = "S1") : gateway_(gateway), mold_(session) {}

    feed::ItchEncoder itch;

    void send(feed::ItchEncoder::Message message) {
        mold_.begin(buffer_);
        ASSERT_TRUE(mold_.add(message));
        gateway_.send(mold_.finish());
    }
    /// Skips the next messages.
    void lose(std::uint64_t count) {
        for (; count != 0; --count) {
            mold_.begin(buffer_);
            ASSERT_TRUE(mold_.add(itch.system_event('S')));
            static_cast<void>(mold_.finish());
        }
    }
    void heartbeat() {
        mold_.begin(buffer_);
        gateway_.send(mold_.finish());
    }

private:
    RunningGateway& gateway_;
    feed::MoldUdp64Encoder mold_;
    std::array<std::byte, 1'472> buffer_{};
};

/// Makes the feed a small ITCH feed.
inline void use_itch(Config& config) {
    config.feeds[0].use<itch::Settings>().max_orders = 64;
    config.rings[0].max_instruments = 16;
}

}  // namespace millpond::gateway::test
