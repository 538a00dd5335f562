#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <millpond/feed/iex_snap.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/iex_history.hpp"
#include "apps/millpond/traffic/iex_snapshot_state.hpp"
#include "gateway/feeds/iex/settings.hpp"
#include "gateway/settings/config.hpp"
#include "tests/apps/feed_lines.hpp"
#include "tests/apps/iex_session.hpp"
#include "tests/apps/iex_wire_books.hpp"
#include "tests/apps/ring_books.hpp"
#include "tests/net/soupbin_peer.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {

using feed::WireFormat;

/// IEX feeds that rebuild their books from snapshots of a server, which tests play.
class SnapFeed : public ::testing::Test {
protected:
    explicit SnapFeed(WireFormat format) : format_(format), session_(format, 1'200) {
        std::filesystem::permissions(token_.path(), std::filesystem::perms{0600});
        std::filesystem::create_directories(state_);
    }
    ~SnapFeed() override { std::filesystem::remove_all(state_); }

    [[nodiscard]] gateway::iex::DeepSettings& settings_of(gateway::FeedConfig& feed) const {
        feed.reorder_us = 0;
        if (format_ == WireFormat::iex_deep) {
            auto& settings = feed.use<gateway::iex::DeepSettings>();
            settings.depth = feed::kFullDepth;
            return settings;
        }
        auto& settings = feed.use<gateway::iex::DeepPlusSettings>();
        settings.depth = feed::kFullDepth;
        settings.orders = sends_orders_;
        settings.max_orders = 4'096;
        return settings;
    }
    auto late(const net::SocketAddress& snap, std::function<void(gateway::iex::DeepSettings&)> more = {}) {
        return [this, snap, more](gateway::FeedConfig& feed) {
            auto& settings = settings_of(feed);
            settings.snap = snap;
            settings.snap_token.file = token_.path();
            if (more) more(settings);
        };
    }
    [[nodiscard]] Lines late_lines(std::string_view name, const net::SocketAddress& snap,
                                   std::function<void(gateway::iex::DeepSettings&)> more = {}) {
        return Lines{name, late(snap, std::move(more)), state_};
    }
    /// Sends datagrams first..last - 1, and waits until they are decoded.
    void send(Lines& lines, std::size_t first, std::size_t last) {
        for (; first < last; ++first) {
            lines.send(0, session_.bytes[first]);
            const auto sent = ++sent_[&lines];
            if (sent % 64 == 0 || first + 1 == last) {
                ASSERT_TRUE(
                    lines.read_until([&] { return lines.count("datagrams") + (first + 1 == last ? 0 : 100) >= sent; }));
            }
        }
    }
    /// The response of a server that has published the datagrams before this one.
    [[nodiscard]] std::vector<std::byte> snapshot_before(std::size_t datagram) const {
        return state_before(datagram).response();
    }
    [[nodiscard]] traffic::IexSnapshotState state_before(std::size_t datagram) const {
        traffic::IexHistory history;
        for (std::size_t i = 0; i < datagram; ++i) history.add(session_.bytes[i]);
        traffic::IexSnapshotState state{session_.protocol, session_.session};
        history.visit(session_.protocol, session_.session, {1, session_.next}, [&](const auto& message) {
            state.apply(message);
            return true;
        });
        return state;
    }
    /// Waits for the next client of the peer and its request.
    void accept(net::test::SoupBinPeer& peer, Lines& lines) {
        ASSERT_TRUE(lines.read_until([&] { return peer.has_caller(); })) << lines.rebuild_failure();
        peer.accept();
        ASSERT_TRUE(lines.read_until([&] { return peer.received().size() >= feed::iex_snap::kRequestBytes; }));
        const auto& text = peer.received();
        const auto request = feed::IexSnapRequest::read(std::as_bytes(std::span{text}));
        ASSERT_TRUE(request);
        EXPECT_EQ(request->token, "ATOKEN1" + std::string(33, ' '));
        EXPECT_EQ(request->session, session_.session);
        minimum_ = request->minimum;
    }
    bool becomes_complete(Lines& lines, RingBooks& books) {
        return lines.read_until([&] {
            books.read();
            return lines.count("rebuilds") >= 1 && lines.count("books_incomplete") == 0 && !lines.rebuild_wanted();
        });
    }
    /// Expects the books of a feed that received all datagrams before `last` from the start.
    void expect_books_of_the_day(Lines& lines, RingBooks& books, std::size_t last) {
        ASSERT_TRUE(becomes_complete(lines, books)) << lines.rebuild_failure();
        Lines day{"snap-day", [&](gateway::FeedConfig& feed) { static_cast<void>(settings_of(feed)); }};
        RingBooks wanted{day};
        sent_[&day] = 0;
        send(day, 0, last);
        ASSERT_TRUE(day.settle());
        ASSERT_TRUE(lines.settle());
        const auto expected = wanted.texts();
        ASSERT_EQ(expected.size(), 20U);
        for (const auto& [symbol, text] : expected) ASSERT_THAT(text, ::testing::StartsWith("complete")) << symbol;
        EXPECT_EQ(books.texts(), expected);
        EXPECT_EQ(books.levels(), IexWireBooks{std::span{session_.bytes}.first(last)}.levels());
    }
    static void expect_nothing_complete(RingBooks& books) {
        for (const auto& [symbol, text] : books.texts())
            EXPECT_THAT(text, ::testing::Not(::testing::StartsWith("complete"))) << symbol;
    }

    const test::ScratchFile token_{test::scratch_name("snap.token"), "ATOKEN1\n"};
    const std::string state_{::testing::TempDir() + test::scratch_name("snap.state")};
    const WireFormat format_;
    IexSession session_;
    std::map<const Lines*, std::uint64_t> sent_;
    std::uint64_t minimum_{0};  // of the last request
    bool sends_orders_{false};  // of DEEP+
};

}  // namespace millpond::app
