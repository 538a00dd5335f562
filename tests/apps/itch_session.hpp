#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/moldudp64_packet.hpp>

#include "apps/millpond/traffic/request_server.hpp"

namespace millpond::app {

/// A generated ITCH session: its datagrams and their messages.
struct ItchSession {
    explicit ItchSession(std::size_t datagrams, std::uint64_t number = 1, std::uint64_t seed = 3) {
        feed::GeneratedFeed feed{{.format = feed::WireFormat::itch,
                                  .market = {.seed = seed, .instruments = 20},
                                  .steps_per_datagram = 3,
                                  .session = number}};
        std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer;
        while (bytes.size() < datagrams) {
            const auto datagram =
                feed.next(buffer, 1'700'000'000'000'000'000 + static_cast<std::int64_t>(bytes.size()) * 1'000'000);
            bytes.emplace_back(datagram.begin(), datagram.end());
            const auto packet = feed::MoldUdp64Packet::read(
                datagram, [this](std::span<const std::byte> message) { messages.add(message); });
            name.assign(packet.session.begin(), packet.session.end());
            next = packet.sequence + packet.messages;
        }
    }

    /// A file with the session's messages, each preceded by its length.
    [[nodiscard]] std::string file() const {
        std::string text;
        for (std::uint64_t number = 1; number <= messages.size(); ++number) {
            const auto message = messages.message(number);
            text += {static_cast<char>(message.size() >> 8U), static_cast<char>(message.size())};
            text.append(reinterpret_cast<const char*>(message.data()), message.size());
        }
        return text;
    }

    std::vector<std::vector<std::byte>> bytes;
    traffic::SessionMessages messages;
    std::string name;
    std::uint64_t next{1};  ///< Number after the last message.
};

}  // namespace millpond::app
