// SNAP servers that send what a snapshot never has: each fault is named, and no book of it is published.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/iex_encoder.hpp>
#include <millpond/feed/iex_gap_fill.hpp>
#include <millpond/feed/iex_snap.hpp>

#include "tests/apps/snap_feed.hpp"
#include "tests/apps/udp_port.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

class SnapFault : public SnapFeed, public ::testing::WithParamInterface<WireFormat> {
protected:
    SnapFault() : SnapFeed(GetParam()) {}

    /// A snapshot with one message more before its end.
    [[nodiscard]] std::vector<std::byte> with(std::vector<std::byte> snapshot,
                                              std::span<const std::byte> message) const {
        namespace at = feed::iex_snap;
        feed::IexEncoder encoder{
            {.protocol = session_.protocol, .session = session_.session, .first_sequence = 1, .first_offset = 0}};
        std::array<std::byte, 200> buffer;
        encoder.begin(buffer);
        EXPECT_TRUE(encoder.add(message));
        const auto segment = encoder.finish(1'700'000'000'000'000'000);
        std::vector<std::byte> data(at::kBodyAt);
        core::store_le(data.data(), static_cast<std::uint16_t>(1 + segment.size()));
        data[at::kTypeAt] = std::byte{'d'};
        data.insert(data.end(), segment.begin(), segment.end());
        snapshot.insert(snapshot.end() - at::kEndBytes, data.begin(), data.end());
        core::store_le(snapshot.data() + at::kBodyAt, std::uint64_t{snapshot.size()});
        return snapshot;
    }
    void expect_failure(std::span<const std::byte> bytes, std::string_view failure) {
        SCOPED_TRACE(failure);
        net::test::SoupBinPeer peer;
        auto lines = late_lines("snap-fault", peer.address());
        RingBooks books{lines};
        sent_[&lines] = 0;
        send(lines, 500, 510);
        accept(peer, lines);
        peer.send({bytes.begin(), bytes.end()});
        ASSERT_TRUE(lines.read_until([&] { return lines.count("snap_failures") == 1; }));
        EXPECT_THAT(lines.rebuild_failure(), HasSubstr("the SNAP server " + peer.address().to_string() +
                                                       ": its snapshot has " + std::string{failure}));
        EXPECT_EQ(lines.count("rebuild_failures"), 1U);
        expect_nothing_complete(books);
    }

    feed::IexMessageWriter writer_;
};

TEST_P(SnapFault, ContentsThatNoSnapshotHasAreNamedAndNothingIsVisible) {
    const auto honest = snapshot_before(510);
    auto halt = std::vector<std::byte>{};
    const auto bytes = writer_.trading_status("NEW", 'H');
    halt.assign(bytes.begin(), bytes.end() - 1);
    expect_failure(with(honest, halt), "a damaged message of type H of 'NEW'");
    expect_failure(with(honest, writer_.trade("NEW", 5, 100, 1)), "a message of type T of 'NEW'");
    if (GetParam() == WireFormat::iex_deep) {
        expect_failure(with(honest, writer_.level('8', "NEW", 0, 100, true)), "a level of size 0 of 'NEW'");
        expect_failure(with(honest, writer_.level('8', "NEW", 5, 100, false)),
                       "a level of a group in progress of 'NEW'");
        const auto level = writer_.level('8', "NEW", 5, 100, true);
        expect_failure(with(with(honest, level), level), "the same level twice of 'NEW'");
    } else {
        const auto order = writer_.order_added("NEW", 9'999'999, '8', 5, 100);
        expect_failure(with(with(honest, order), order), "the same order twice of 'NEW'");
    }
}

TEST_P(SnapFault, AnEndOfTheSessionThatTheFeedContinuesIsNamedAndEndsNothing) {
    net::test::SoupBinPeer peer;
    auto lines = late_lines("snap-end-early", peer.address());
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    send(lines, 510, 520);
    auto over = state_before(510);
    over.apply({.number = over.number(), .bytes = writer_.system_event('C')});
    peer.send(over.response());
    ASSERT_TRUE(lines.read_until([&] { return lines.count("snap_failures") == 1; }));
    EXPECT_THAT(lines.rebuild_failure(),
                HasSubstr("the snapshot of " + peer.address().to_string() + " has the end of session '1' at message " +
                          std::to_string(over.number()) + ", but the feed has sent on"));
    EXPECT_TRUE(lines.subscriber.clears.empty());
    accept(peer, lines);
    peer.send(snapshot_before(520));
    send(lines, 520, 530);
    expect_books_of_the_day(lines, books, 530);
    EXPECT_TRUE(lines.subscriber.clears.empty());
}

TEST_P(SnapFault, AnEndOfTheSessionThatIsNotTheSnapshotsLastMessageIsNamed) {
    auto state = state_before(510);
    const auto number = state.number();
    state.apply({.number = number, .bytes = writer_.system_event('C')});
    state.apply({.number = number + 1, .bytes = {}});
    expect_failure(state.response(), "the end of a session that went on after it");
}

TEST_P(SnapFault, AnAnswerBeyondWhatTheFeedHasShownIsDropped) {
    net::test::SoupBinPeer peer;
    const UdpPort fills;
    auto lines = late_lines("snap-beyond", peer.address(), [&](gateway::iex::DeepSettings& settings) {
        settings.rerequest = fills.address();
        settings.rerequest_ms = 1;
    });
    RingBooks books{lines};
    send(lines, 500, 510);
    accept(peer, lines);
    send(lines, 510, 520);
    send(lines, 525, 600);
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.gaps.size() == 1; }));
    while (fills.receive()) {
    }
    peer.send(snapshot_before(510));
    bool is_first = true;
    ASSERT_TRUE(lines.read_until([&] {
        const auto request = fills.receive();
        if (!request || request->bytes.size() == feed::iex_gap_fill::kHeaderBytes) return lines.count("rebuilds") == 1;
        if (std::exchange(is_first, false)) fills.send(session_.bytes[700], request->from);
        for (std::size_t i = 520; i < 525; ++i) fills.send(session_.bytes[i], request->from);
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    EXPECT_EQ(lines.count("rebuild_answers_refused"), 1U);
    expect_books_of_the_day(lines, books, 600);
}

INSTANTIATE_TEST_SUITE_P(DeepAndDeepPlus, SnapFault, ::testing::Values(WireFormat::iex_deep, WireFormat::iex_deep_plus),
                         [](const auto& param) { return std::string{feed::to_string(param.param)}; });

}  // namespace
}  // namespace millpond::app
