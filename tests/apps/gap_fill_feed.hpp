#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_gap_fill.hpp>
#include <millpond/feed/iex_layout.hpp>

#include "gateway/feeds/iex/settings.hpp"
#include "tests/apps/feed_lines.hpp"
#include "tests/apps/iex_session.hpp"
#include "tests/apps/udp_port.hpp"
#include "tests/net/soupbin_peer.hpp"

/// IEX feeds that lose a datagram, and gap fill servers that the tests play.
namespace millpond::app {

using feed::WireFormat;

inline gateway::RerequestSettings& iex_settings(gateway::FeedConfig& feed, WireFormat format) {
    feed.reorder_us = 0;
    if (format == WireFormat::iex_tops) return feed.use<gateway::iex::TopsSettings>();
    auto& settings = format == WireFormat::iex_deep ? feed.use<gateway::iex::DeepSettings>()
                                                    : feed.use<gateway::iex::DeepPlusSettings>();
    settings.depth = feed::kFullDepth;
    return settings;
}

/// Messages that were decoded, whatever came of them.
inline std::uint64_t iex_decoded(const Lines& lines) {
    return lines.count("messages_applied") + lines.count("messages_ignored") + lines.count("messages_unknown");
}

inline void expect_nothing_lost(Lines& lines, const IexSession& session) {
    EXPECT_EQ(iex_decoded(lines), session.next - 1);
    EXPECT_EQ(lines.count("sequence_missing"), 0U);
    EXPECT_EQ(lines.subscriber.missed, 0U);
    EXPECT_TRUE(lines.subscriber.gaps.empty());
    ASSERT_FALSE(lines.subscriber.quotes.empty());
    for (const auto& quote : lines.subscriber.quotes) ASSERT_EQ(quote.flags & feed::kIncomplete, 0);
}

/// A feed of line A only, whose datagram 40 is lost, and a server that the test plays.
class IexGapFillPeer : public ::testing::Test {
protected:
    static constexpr std::size_t kLost = 40;

    auto asking(std::uint64_t wait_ms) {
        return [this, wait_ms](gateway::FeedConfig& feed) {
            auto& settings = iex_settings(feed, WireFormat::iex_deep);
            settings.rerequest = server_.address();
            settings.rerequest_ms = wait_ms;
        };
    }
    void send_with_loss(Lines& lines) {
        for (std::size_t i = 0; i < session_.bytes.size(); ++i) {
            if (i != kLost) lines.send(0, session_.bytes[i]);
        }
    }
    /// Waits for the next request with ranges; tests are not answered.
    std::optional<UdpPort::Received> request(Lines& lines) {
        std::optional<UdpPort::Received> found;
        static_cast<void>(lines.read_until([&] {
            found = server_.receive();
            if (found && found->bytes.size() == feed::iex_gap_fill::kHeaderBytes) found.reset();
            return found.has_value();
        }));
        return found;
    }
    static std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at, std::uint64_t value) {
        core::store_le(bytes.data() + at, value);
        return bytes;
    }

    const IexSession session_{WireFormat::iex_deep, 100};
    const UdpPort server_;
};

/// A feed whose datagram 40 is lost, and a server by TCP that the test plays.
class IexGapFillTcpPeer : public ::testing::Test {
protected:
    static constexpr std::size_t kLost = 40;

    IexGapFillTcpPeer()
        : lines_("iex-tcp-peer", [&](gateway::FeedConfig& feed) {
              auto& settings = iex_settings(feed, WireFormat::iex_deep);
              settings.rerequest_tcp = peer_.address();
              settings.rerequest_ms = 1'000;
          }) {
        for (std::size_t i = 0; i < session_.bytes.size(); ++i) {
            if (i != kLost) lines_.send(0, session_.bytes[i]);
        }
    }
    /// Waits for a connection with the request for the lost datagram.
    void accept() {
        ASSERT_TRUE(lines_.read_until([&] { return peer_.has_caller(); }));
        peer_.accept();
        const auto wanted = feed::iex_gap_fill_request(
            feed::iex_layout::kDeep, session_.session,
            std::array{feed::IexRange{session_.first[kLost], session_.first[kLost + 1] - 1}});
        ASSERT_TRUE(lines_.read_until([&] { return peer_.received().size() >= wanted.size(); }));
        EXPECT_EQ(peer_.received(), (std::string{reinterpret_cast<const char*>(wanted.data()), wanted.size()}));
    }
    void expect_filled() {
        ASSERT_TRUE(lines_.read_until([&] { return iex_decoded(lines_) >= session_.next - 1; }));
        expect_nothing_lost(lines_, session_);
    }

    const IexSession session_{WireFormat::iex_deep, 100};
    net::test::SoupBinPeer peer_;
    Lines lines_;
};

}  // namespace millpond::app
