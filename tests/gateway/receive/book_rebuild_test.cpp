#include "gateway/feeds/itch/book_rebuild.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/clock.hpp>
#include <millpond/feed/glimpse_layout.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>

#include "tests/net/soupbin_peer.hpp"

namespace millpond::gateway::itch {
namespace {

struct Ignore {
    void on(const auto&) {}
};

TEST(BookRebuild, ASnapshotThatTheFeedNeverReachesFailsByNameAndChangesNothing) {
    constexpr std::string_view kSession = "S1";
    constexpr std::uint64_t kOfTheFeed = 50;
    constexpr std::uint64_t kOfTheSnapshot = 1'000;
    feed::InstrumentTable instruments{16};
    feed::ItchDecoder::Options small;
    small.order_books = {.books = 16, .orders = 64, .level_chunks = 64};
    feed::ItchDecoder decoder{instruments, small};
    Ignore handler;
    feed::ItchEncoder itch;
    feed::MoldUdp64Encoder mold{kSession, kOfTheFeed};
    std::array<std::byte, 128> datagram;
    mold.begin(datagram);
    ASSERT_TRUE(mold.add(itch.system_event('S')));
    ASSERT_TRUE(decoder.decode(mold.finish(), {}, handler).ok());

    net::test::SoupBinPeer peer;
    std::string logged;
    itch::BookRebuild rebuild{{.feed = "late",
                               .snapshots = {.login = {.server = peer.address(), .user = net::soupbin::User{"U"}}},
                               .books = {.decoder = small, .instruments = 16},
                               .ahead_ns = 0},
                              [&](service::Severity, std::string_view, const std::string& text) { logged = text; },
                              std::pmr::get_default_resource()};
    const auto until = [&](const auto& done) {
        const auto deadline = core::monotonic_nanos() + 60'000'000'000;
        while (!done()) {
            if (core::monotonic_nanos() > deadline) return false;
            rebuild.beat(decoder);
            rebuild.adopt(decoder, 0, handler);
            std::this_thread::yield();
        }
        return true;
    };
    const auto count = [&](std::string_view name) {
        std::uint64_t value = 0;
        rebuild.visit_counters([&](std::string_view what, std::string_view, const core::Tally& tally) {
            if (what == name) value = tally.read();
        });
        return value;
    };
    ASSERT_TRUE(until([&] { return peer.has_caller(); }));
    peer.accept();
    peer.accept_login(kSession, 1);
    std::array<std::byte, feed::glimpse_layout::kEndBytes> end;
    feed::glimpse_layout::write_end(kOfTheSnapshot, end);
    peer.send('S', {reinterpret_cast<const char*>(end.data()), end.size()});
    ASSERT_TRUE(until([&] { return count("glimpse_failures") == 1; }));
    EXPECT_EQ(rebuild.state().last_failure.text,
              "the snapshot of " + peer.address().to_string() + " is at message 1000, which the feed has not reached");
    EXPECT_THAT(logged, ::testing::HasSubstr("is at message 1000, which the feed has not reached; retrying"));
    EXPECT_TRUE(rebuild.state().wanted);
    EXPECT_EQ(count("rebuild_failures"), 1U);
    EXPECT_EQ(count("rebuilds"), 0U);
    EXPECT_EQ(decoder.sequence().next(), kOfTheFeed + 1);
    ASSERT_TRUE(until([&] { return peer.has_caller(); })) << "the next attempt";
}

TEST(GlimpseReader, AServerThatSendsHeartbeatsOnlyIsNamed) {
    net::test::SoupBinPeer peer;
    GlimpseReader reader{{.login = {.server = peer.address(), .user = net::soupbin::User{"U"}}},
                         std::chrono::milliseconds{1}};
    bool is_accepted = false;
    const auto goes_on = [&] {
        if (is_accepted) {
            peer.send('H');
        } else if (peer.has_caller()) {
            peer.accept();
            peer.accept_login("S1", 1);
            is_accepted = true;
        }
        return true;
    };
    feed::moldudp64_layout::Session session;
    session.fill(' ');
    session[0] = 'S';
    session[1] = '1';
    try {
        static_cast<void>(reader.read(session, 0, [](std::span<const std::byte>) {}, goes_on));
        ADD_FAILURE();
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr(peer.address().to_string() +
                                                       ": it sent heartbeats for 0 s, but no message of its snapshot"));
    }
    EXPECT_EQ(reader.snapshots().read(), 0U);
}

TEST(GlimpseReader, ASnapshotThatTakesTooLongClosesTheConnection) {
    net::test::SoupBinPeer peer;
    GlimpseReader reader{{.login = {.server = peer.address(), .user = net::soupbin::User{"U"}}}};
    bool is_accepted = false;
    const auto goes_on = [&] {
        if (is_accepted) throw std::runtime_error("too long");
        if (!peer.has_caller()) return true;
        peer.accept();
        peer.accept_login("S1", 1);
        is_accepted = true;
        return true;
    };
    feed::moldudp64_layout::Session session;
    session.fill(' ');
    session[0] = 'S';
    session[1] = '1';
    EXPECT_THROW(
        static_cast<void>(reader.read(session, 0, [](std::span<const std::byte>) {}, goes_on)), std::runtime_error);
    const auto deadline = core::monotonic_nanos() + 60'000'000'000;
    while (!peer.has_left()) ASSERT_LT(core::monotonic_nanos(), deadline);
}

}  // namespace
}  // namespace millpond::gateway::itch
