#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/iex_encoder.hpp>
#include <millpond/feed/iex_layout.hpp>
#include <millpond/feed/iex_packet.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::app {

[[nodiscard]] inline net::SocketAddress any_port() { return net::SocketAddress::parse("127.0.0.1:0"); }

/// A generated session of an IEX feed.
struct IexSession {
    explicit IexSession(feed::WireFormat format, std::size_t datagrams, std::uint64_t number = 1,
                        std::uint64_t seed = 3)
        : protocol(format == feed::WireFormat::iex_tops   ? feed::iex_layout::kTops
                   : format == feed::WireFormat::iex_deep ? feed::iex_layout::kDeep
                                                          : feed::iex_layout::kDeepPlus) {
        feed::GeneratedFeed feed{{.format = format,
                                  .market = {.seed = seed, .instruments = 20},
                                  .steps_per_datagram = 3,
                                  .orders = 3,
                                  .session = number}};
        std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer;
        while (bytes.size() < datagrams) {
            const auto datagram =
                feed.next(buffer, 1'700'000'000'000'000'000 + static_cast<std::int64_t>(bytes.size()) * 1'000'000);
            bytes.emplace_back(datagram.begin(), datagram.end());
            const auto packet = feed::IexPacket::read(datagram, protocol, [](auto) {});
            first.push_back(packet.sequence);
            session = packet.session;
            next = packet.sequence + packet.messages;
        }
    }
    /// Adds the session's last message.
    void end() {
        const SystemEvent message{std::byte{'S'}, std::byte{'C'}};
        bytes.push_back(datagram_of({&message, 1}));
        first.push_back(next++);
    }
    /// A heartbeat after the last message.
    [[nodiscard]] std::vector<std::byte> heartbeat() const { return datagram_of({}); }

    std::uint16_t protocol;
    feed::IexSession session{};
    std::vector<std::vector<std::byte>> bytes;
    std::vector<std::uint64_t> first;  ///< Number of each datagram's first message.
    std::uint64_t next{1};             ///< Number after the last message.

private:
    using SystemEvent = std::array<std::byte, feed::iex_layout::kSystemEventBytes>;

    [[nodiscard]] std::vector<std::byte> datagram_of(std::span<const SystemEvent> messages) const {
        std::array<std::byte, 100> buffer;
        feed::IexEncoder encoder{{.protocol = protocol, .session = session, .first_sequence = next}};
        encoder.begin(buffer);
        for (const auto& message : messages) static_cast<void>(encoder.add(message));  // it fits
        const auto datagram = encoder.finish(1'700'000'100'000'000'000);
        return {datagram.begin(), datagram.end()};
    }
};

}  // namespace millpond::app
