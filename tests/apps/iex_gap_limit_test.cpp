// Gap fill servers that keep a gap open, or send more than was requested.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/iex_encoder.hpp>

#include "tests/apps/gap_fill_feed.hpp"

namespace millpond::app {
namespace {

constexpr std::size_t kFirstLost = 40;
constexpr std::size_t kFollowing = 140;

/// The messages of a datagram one by one.
std::vector<std::vector<std::byte>> single(const IexSession& session, std::size_t datagram) {
    std::vector<std::vector<std::byte>> found;
    const auto& bytes = session.bytes[datagram];
    const auto packet = feed::IexPacket::read(bytes, session.protocol, [](auto) {});
    auto place = feed::iex_layout::kHeaderBytes;
    for (std::uint64_t i = 0; i < packet.messages; ++i) {
        feed::IexEncoder encoder{
            {.protocol = session.protocol, .session = session.session, .first_sequence = packet.sequence + i}};
        std::array<std::byte, 200> buffer;
        encoder.begin(buffer);
        EXPECT_TRUE(encoder.add(feed::next_iex_block(bytes, place)));
        const auto one = encoder.finish(9);
        found.emplace_back(one.begin(), one.end());
    }
    return found;
}

/// A feed that has lost 100 datagrams, and a server that sends their messages one by one, each before the feed gives up
/// waiting for it.
class DrippingServer : public ::testing::Test {
protected:
    DrippingServer() {
        for (auto i = kFirstLost; i < kFollowing; ++i) {
            for (auto& message : single(session_, i)) missing_.push_back(std::move(message));
        }
    }
    void send_with_loss(Lines& lines) {
        for (std::size_t i = 0; i < session_.bytes.size(); ++i) {
            if (i < kFirstLost || i >= kFollowing) lines.send(0, session_.bytes[i]);
        }
    }
    /// Calls send(message) for the next one now and then, until the gap is given up. False if the server has sent all.
    template <class Send>
    bool drip(Lines& lines, const Send& send) {
        std::size_t sent = 0;
        auto before = core::monotonic_nanos();
        static_cast<void>(lines.read_until([&] {
            const auto now = core::monotonic_nanos();
            if (now - before > 20'000'000 && sent < missing_.size() && send(missing_[sent])) {
                before = now;
                ++sent;
            }
            return !lines.subscriber.gaps.empty() || sent == missing_.size();
        }));
        return !lines.subscriber.gaps.empty() && sent < missing_.size();
    }

    const IexSession session_{WireFormat::iex_deep, 200};
    std::vector<std::vector<std::byte>> missing_;
};

TEST_F(DrippingServer, ByUdpKeepsNoGapOpen) {
    const UdpPort server;
    Lines lines{"iex-drip", [&](gateway::FeedConfig& feed) {
                    auto& settings = iex_settings(feed, WireFormat::iex_deep);
                    settings.rerequest = server.address();
                    settings.rerequest_ms = 10;
                }};
    send_with_loss(lines);
    std::optional<net::SocketAddress> client;
    EXPECT_TRUE(drip(lines, [&](const auto& message) {
        while (const auto request = server.receive()) client = request->from;
        if (client) server.send(message, *client);
        return client.has_value();
    }));
    ASSERT_TRUE(lines.settle());
    EXPECT_EQ(lines.count("rerequest_timeouts"), 1U);
    EXPECT_EQ(lines.count("holes_given_up"), 1U);
    EXPECT_GT(lines.count("rerequest_used"), 1U);
    EXPECT_EQ(lines.subscriber.gaps[0].last, session_.first[kFollowing] - 1);
}

TEST_F(DrippingServer, ByTcpKeepsNoGapOpenAndIsDisconnected) {
    net::test::SoupBinPeer peer;
    Lines lines{"iex-drip-tcp", [&](gateway::FeedConfig& feed) {
                    auto& settings = iex_settings(feed, WireFormat::iex_deep);
                    settings.rerequest_tcp = peer.address();
                    settings.rerequest_ms = 10;
                }};
    send_with_loss(lines);
    ASSERT_TRUE(lines.read_until([&] { return peer.has_caller(); }));
    peer.accept();
    EXPECT_TRUE(drip(lines, [&](const auto& message) {
        peer.send(message);
        return true;
    }));
    EXPECT_EQ(lines.count("rerequest_timeouts"), 1U);
    EXPECT_GT(lines.count("rerequest_used"), 1U);
    ASSERT_TRUE(lines.read_until([&] { return peer.has_left(); }));
    EXPECT_EQ(lines.count("rerequest_connection_failures"), 0U);
}

TEST_F(IexGapFillTcpPeer, TheConnectionIsClosedOnceALineHasFilledTheGap) {
    accept();
    lines_.send(0, session_.bytes[kLost]);
    expect_filled();
    ASSERT_TRUE(lines_.read_until([&] { return peer_.has_left(); }));
    EXPECT_EQ(lines_.count("rerequest_connections"), 1U);
    EXPECT_EQ(lines_.count("rerequest_connection_failures"), 0U);
}

TEST_F(IexGapFillTcpPeer, AServerThatSendsFarMoreThanWasRequestedIsCutOff) {
    accept();
    std::vector<std::byte> before;
    for (std::size_t i = 0; i < kLost; ++i)
        before.insert(before.end(), session_.bytes[i].begin(), session_.bytes[i].end());
    std::size_t sent = 0;
    ASSERT_TRUE(lines_.read_until([&] {
        if (sent < 16'000'000) peer_.send(before);
        sent += before.size();
        return lines_.count("rerequest_connection_failures") == 1 || sent > 64'000'000;
    }));
    EXPECT_EQ(lines_.count("rerequest_connection_failures"), 1U);
    accept();
    peer_.send(session_.bytes[kLost]);
    expect_filled();
}

}  // namespace
}  // namespace millpond::app
