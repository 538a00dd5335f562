// Rebuilds of books with a gap while the feed continues: from captured files, from a server, and failing ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/files/pcap_writer.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "apps/millpond/traffic/request_server.hpp"
#include "gateway/feeds/itch/settings.hpp"
#include "tests/apps/board_quotes.hpp"
#include "tests/apps/feed_lines.hpp"
#include "tests/apps/gateway_run.hpp"
#include "tests/apps/itch_session.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

/// A gzip file and a zstd frame with uncompressed blocks (RFC 1952, RFC 8878).
std::string as_gzip(std::string_view contents) {
    constexpr std::size_t kBlock = 10'000;
    std::string file{"\x1F\x8B\x08\0\0\0\0\0\0\xFF", 10};
    std::uint32_t sum = ~0U;
    for (const char each : contents) {
        sum ^= static_cast<unsigned char>(each);
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1U ^ (0xEDB8'8320U & (0U - (sum & 1U)));
    }
    const auto append = [&file](std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) file += static_cast<char>(value >> 8 * i);
    };
    const auto total = contents.size();
    while (!contents.empty()) {
        const auto block = contents.substr(0, kBlock);
        contents.remove_prefix(block.size());
        append(contents.empty() ? 1 : 0, 1);
        append(block.size(), 2);
        append(~block.size(), 2);
        file += block;
    }
    append(~sum, 4);
    append(total, 4);
    return file;
}

std::string as_zstd(std::string_view contents) {
    constexpr std::size_t kBlock = 10'000;
    std::string file{"\x28\xB5\x2F\xFD\0\x38", 6};  // a window of 128 KiB
    while (!contents.empty()) {
        const auto block = contents.substr(0, kBlock);
        contents.remove_prefix(block.size());
        const auto head = block.size() << 3U | (contents.empty() ? 1U : 0U);
        for (int i = 0; i < 3; ++i) file += static_cast<char>(head >> 8 * i);
        file += block;
    }
    return file;
}

class BookRebuild : public ::testing::Test {
protected:
    /// Sends datagrams first..last - 1 except those of `lost`; true when the feed has decoded them.
    bool send(
        Lines& lines, std::size_t first, std::size_t last, std::size_t lost_first = 0, std::size_t lost_last = 0,
        const std::function<void()>& meanwhile = [] {}) {
        for (auto i = first; i < last; ++i) {
            if (i >= lost_first && i < lost_last) continue;
            lines.send(0, session_.bytes[i]);
            const auto sent = ++sent_;
            const bool keeps_up = sent % 64 != 0 || lines.read_until([&] {
                meanwhile();
                return lines.count("datagrams") + 100 >= sent;
            });
            if (!keeps_up) return false;
        }
        return lines.read_until([&] {
            meanwhile();
            return lines.count("datagrams") >= sent_;
        });
    }
    /// Sends the next datagram once all earlier ones are decoded.
    void send_next(Lines& lines, std::size_t& next, std::size_t last = 1'150) {
        if (next == last || lines.count("datagrams") < sent_) return;
        lines.send(0, session_.bytes[next++]);
        ++sent_;
    }
    /// Gives the feed a re-request server for rebuilds, without requests for the session's start, with short timeouts.
    static auto asking(const traffic::RequestServer& server) {
        return [&server](gateway::FeedConfig& feed) {
            feed.reorder_us = 0;
            auto& itch = feed.use<gateway::itch::Settings>();
            itch.rerequest = server.address();
            itch.rerequest_start = false;
            itch.rerequest_ms = 1;
            itch.rebuild = true;
        };
    }
    [[nodiscard]] Board board_of_uninterrupted(std::size_t last) {
        Lines whole{"whole", [](gateway::FeedConfig&) {}};
        const auto before = std::exchange(sent_, 0);
        EXPECT_TRUE(send(whole, 0, last));
        sent_ = before;
        EXPECT_EQ(incomplete_in(whole), 0U);
        return board_of(whole);
    }

    /// Expects that the books become complete while messages from `next` on arrive, and that the board equals that of a
    /// feed without a gap.
    void expect_rebuilt(Lines& lines, std::size_t& next) {
        // Waits until the attempt has started: messages sent from here on follow the file.
        ASSERT_TRUE(lines.read_until([&] { return lines.rebuild_wanted(); }));
        // The file is trusted once the feed continues without a contradiction.
        ASSERT_TRUE(lines.read_until([&] {
            send_next(lines, next);
            return lines.count("rebuilds") == 1;
        })) << lines.rebuild_failure();
        ASSERT_TRUE(lines.read_until([&] { return lines.count("datagrams") >= sent_; }));
        EXPECT_EQ(incomplete_in(lines), 0U);
        EXPECT_EQ(board_of(lines), board_of_uninterrupted(next));
    }

    ItchSession session_{1'200};
    std::uint64_t sent_{0};
};

TEST_F(BookRebuild, FromAFileOfMessagesTheBoardIsThatOfAnUninterruptedDecodeByteForByte) {
    const test::ScratchFile file{test::scratch_name("rebuild.itch"), session_.file()};
    Lines lines{"rebuild-file",
                [&](gateway::FeedConfig& feed) { feed.use<gateway::itch::Settings>().rebuild_from = file.path(); }};
    ASSERT_TRUE(send(lines, 0, 400, 300, 305));
    EXPECT_EQ(lines.subscriber.gaps.size(), 1U);
    EXPECT_GT(incomplete_in(lines), 0U);
    auto next = std::size_t{400};
    expect_rebuilt(lines, next);
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.quotes.back().flags == 0; }));
    const auto quotes = lines.subscriber.quotes.size();
    ASSERT_TRUE(send(lines, next, 1'200));
    EXPECT_EQ(board_of(lines), board_of_uninterrupted(1'200));
    ASSERT_GT(lines.subscriber.quotes.size(), quotes);
    for (auto i = quotes; i < lines.subscriber.quotes.size(); ++i)
        ASSERT_EQ(lines.subscriber.quotes[i].flags & feed::kIncomplete, 0);
    EXPECT_EQ(lines.count("rebuild_failures"), 0U);
    EXPECT_FALSE(lines.rebuild_wanted());
}

TEST_F(BookRebuild, WhatTheFeedLosesDuringTheRebuildIsReadInTheFileAsWell) {
    session_ = ItchSession{3'000};
    const test::ScratchFile file{test::scratch_name("rebuild-gaps.itch"), session_.file()};
    Lines lines{"rebuild-gaps",
                [&](gateway::FeedConfig& feed) { feed.use<gateway::itch::Settings>().rebuild_from = file.path(); }};
    ASSERT_TRUE(send(lines, 0, 400, 300, 305));
    ASSERT_TRUE(lines.read_until([&] { return lines.rebuild_wanted(); }));
    for (std::size_t i = 400; i < 1'000; i += 50) ASSERT_TRUE(send(lines, i, i + 50, i + 20, i + 22));
    auto next = std::size_t{1'000};
    // If a rebuild ended before the last gap, another one follows, which needs a thousand more messages.
    std::int64_t due = 0;
    ASSERT_TRUE(lines.read_until([&] {
        const bool done = lines.count("datagrams") >= sent_ && incomplete_in(lines.reader()) == 0;
        if (!done && core::monotonic_nanos() >= due) {
            send_next(lines, next, 3'000);
            due = core::monotonic_nanos() + 5'000'000;
        }
        return done;
    })) << lines.rebuild_failure();
    EXPECT_EQ(board_of(lines), board_of_uninterrupted(next));
    EXPECT_THAT(lines.rebuild_failure(), ::testing::Not(HasSubstr("has messages of session")));
}

TEST_F(BookRebuild, FromTheGapToTheHandOverEveryQuoteIsMarkedIncomplete) {
    traffic::RequestServer server{net::SocketAddress::parse("127.0.0.1:0"), session_.name, session_.messages};
    Lines lines{"rebuild-marks", asking(server)};
    ASSERT_TRUE(send(lines, 0, 200));
    // The server does not answer until the gap is given up.
    ASSERT_TRUE(send(lines, 205, 600));
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.gaps.size() == 1; }));
    ASSERT_TRUE(lines.read_until([&] {
        static_cast<void>(server.poll(0));
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    ASSERT_TRUE(send(lines, 600, 1'200));
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.quotes.back().feed_sequence + 20 > session_.next; }));
    const auto gap = lines.subscriber.gaps[0].first;
    std::size_t marks = 0;
    bool handed_over = false;
    for (const auto& quote : lines.subscriber.quotes) {
        const bool incomplete = (quote.flags & feed::kIncomplete) != 0;
        marks += incomplete ? 1U : 0U;
        ASSERT_FALSE(incomplete && (handed_over || quote.feed_sequence < gap));
        handed_over = handed_over || (!incomplete && marks != 0);
        ASSERT_TRUE(incomplete || handed_over || quote.feed_sequence < gap);
    }
    EXPECT_GT(marks, 100U);
    EXPECT_EQ(board_of(lines), board_of_uninterrupted(1'200));
}

TEST_F(BookRebuild, FromAFolderOfCapturesThatEachHaveGaps) {
    const auto folder = std::filesystem::path{::testing::TempDir()} / unique_ring("captures");
    std::filesystem::create_directories(folder);
    Lines lines{"rebuild-folder",
                [&](gateway::FeedConfig& feed) { feed.use<gateway::itch::Settings>().rebuild_from = folder.string(); }};
    const auto to = lines.address();
    const auto other = net::SocketAddress::parse("127.0.0.1:1");
    std::map<std::string, std::string> files;
    for (const auto* name : {"x.pcap.9", "x.pcap.10", "x.pcap"}) files::append_pcap_header(files[name]);
    const ItchSession yesterday{30, 9};
    for (const auto& bytes : yesterday.bytes) files::append_pcap_datagram(files["x.pcap.9"], {1, {}, to, bytes});
    for (std::size_t i = 0; i < 800; ++i) {
        auto& file = files[i < 300 ? "x.pcap.9" : i < 600 ? "x.pcap.10" : "x.pcap"];
        files::append_pcap_datagram(file, {core::utc_nanos(), {}, i % 50 == 7 ? other : to, session_.bytes[i]});
        // The other line delivered the lost datagram a little later.
        if (i % 50 == 12) files::append_pcap_datagram(file, {core::utc_nanos(), {}, to, session_.bytes[i - 5]});
    }
    for (const auto& [name, bytes] : files) std::ofstream{folder / name, std::ios::binary} << bytes;
    ASSERT_TRUE(send(lines, 0, 800, 300, 305));
    ASSERT_TRUE(lines.read_until([&] { return lines.count("rebuilds") == 1; })) << lines.rebuild_failure();
    EXPECT_EQ(board_of(lines), board_of_uninterrupted(800));
    std::filesystem::remove_all(folder);
}

TEST_F(BookRebuild, FromAServerWhileTheFeedGoesOn) {
    traffic::RequestServer server{net::SocketAddress::parse("127.0.0.1:0"), session_.name, session_.messages};
    Lines lines{"rebuild-server", asking(server)};
    // The server does not answer until the gap is given up.
    ASSERT_TRUE(send(lines, 0, 400, 300, 305));
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.gaps.size() == 1; }));
    const auto serve = [&] { static_cast<void>(server.poll(0)); };
    for (std::size_t i = 400; i < 1'200; i += 50) {
        ASSERT_TRUE(send(lines, i, i + 50, 0, 0, serve));
        serve();
    }
    ASSERT_TRUE(lines.read_until([&] {
        serve();
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    EXPECT_EQ(incomplete_in(lines), 0U);
    EXPECT_EQ(board_of(lines), board_of_uninterrupted(1'200));
    EXPECT_GT(lines.count("rebuild_requests"), 0U);
}

TEST_F(BookRebuild, WhatAFileHasNotIsAskedOfTheServer) {
    const test::ScratchFile file{test::scratch_name("rebuild-begin.pcap"), ""};
    traffic::RequestServer server{net::SocketAddress::parse("127.0.0.1:0"), session_.name, session_.messages};
    Lines lines{"rebuild-both", [&](gateway::FeedConfig& feed) {
                    asking(server)(feed);
                    feed.use<gateway::itch::Settings>().rebuild_from = file.path();
                }};
    std::string capture;
    files::append_pcap_header(capture);
    for (std::size_t i = 0; i < 250; ++i)
        files::append_pcap_datagram(capture, {core::utc_nanos(), {}, lines.address(), session_.bytes[i]});
    std::ofstream{file.path(), std::ios::binary} << capture;
    ASSERT_TRUE(send(lines, 0, 400, 300, 305));
    ASSERT_TRUE(lines.read_until([&] { return lines.subscriber.gaps.size() == 1; }));
    ASSERT_TRUE(lines.read_until([&] {
        static_cast<void>(server.poll(0));
        return lines.count("rebuilds") == 1;
    })) << lines.rebuild_failure();
    EXPECT_EQ(board_of(lines), board_of_uninterrupted(400));
    // The server sent only a part of the session: the file had its beginning.
    EXPECT_LT(server.answered(), session_.next / 2);
}

TEST_F(BookRebuild, AFileThatIsTooShortLeavesTheBooksIncompleteCountedAndSaid) {
    const test::ScratchFile file{test::scratch_name("rebuild-short.itch"), ItchSession{250}.file()};
    Lines lines{"rebuild-short",
                [&](gateway::FeedConfig& feed) { feed.use<gateway::itch::Settings>().rebuild_from = file.path(); }};
    ASSERT_TRUE(send(lines, 0, 400, 300, 305));
    ASSERT_TRUE(lines.read_until([&] { return lines.count("rebuild_failures") >= 2; })) << "it is tried again";
    EXPECT_THAT(lines.rebuild_failure(), HasSubstr("has messages of session '" + session_.name + "' up to "));
    EXPECT_TRUE(lines.rebuild_wanted());
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    EXPECT_GT(incomplete_in(lines), 0U);
    EXPECT_EQ(lines.subscriber.quotes.back().flags, feed::kIncomplete);
}

TEST_F(BookRebuild, ACompressedFileServesLikeAPlainOne) {
    for (const auto& [ending, packed] :
         {std::pair{".gz", as_gzip(session_.file())}, {".zst", as_zstd(session_.file())}}) {
        const test::ScratchFile file{test::scratch_name("rebuild.itch").append(ending), packed};
        Lines lines{std::string{"rebuild-packed"}.append(ending + 1),
                    [&](gateway::FeedConfig& feed) { feed.use<gateway::itch::Settings>().rebuild_from = file.path(); }};
        sent_ = 0;
        ASSERT_TRUE(send(lines, 0, 400, 300, 305));
        auto next = std::size_t{400};
        expect_rebuilt(lines, next);
    }
}

TEST_F(BookRebuild, ATruncatedCompressedFileLeavesTheBooksIncompleteAndNamesTheCompressedByte) {
    for (const auto& [ending, packed] :
         {std::pair{".gz", as_gzip(session_.file())}, {".zst", as_zstd(session_.file())}}) {
        const auto size = packed.size() / 8;
        const test::ScratchFile file{test::scratch_name("rebuild-cut.itch").append(ending), packed.substr(0, size)};
        Lines lines{std::string{"rebuild-cut"}.append(ending + 1),
                    [&](gateway::FeedConfig& feed) { feed.use<gateway::itch::Settings>().rebuild_from = file.path(); }};
        sent_ = 0;
        ASSERT_TRUE(send(lines, 0, 400, 300, 305));
        ASSERT_TRUE(lines.read_until([&] { return lines.count("rebuild_failures") >= 1; }));
        EXPECT_THAT(lines.rebuild_failure(), HasSubstr("has messages of session '" + session_.name + "' up to "));
        EXPECT_THAT(lines.rebuild_failure(), HasSubstr("compressed byte " + std::to_string(size) +
                                                       ": the file ends within its compressed data"));
        EXPECT_EQ(lines.count("rebuilds"), 0U);
        EXPECT_GT(incomplete_in(lines), 0U);
    }
}

TEST_F(BookRebuild, AServerThatIsSilentLeavesTheBooksIncompleteAndANewSessionMakesThemComplete) {
    const traffic::SessionMessages nothing;
    traffic::RequestServer server{net::SocketAddress::parse("127.0.0.1:0"), session_.name, nothing};
    Lines lines{"rebuild-silent", asking(server)};
    ASSERT_TRUE(send(lines, 1, 100));
    ASSERT_TRUE(lines.read_until([&] { return !lines.rebuild_failure().empty(); }));
    EXPECT_THAT(lines.rebuild_failure(), HasSubstr("does not answer requests for message 1 of session"));
    const ItchSession next{50, 2};
    for (const auto& bytes : next.bytes) lines.send(0, bytes);
    ASSERT_TRUE(lines.read_until(
        [&] { return !lines.subscriber.quotes.empty() && lines.subscriber.quotes.back().flags == 0; }));
    ASSERT_TRUE(lines.read_until([&] { return !lines.rebuild_wanted(); }));
    EXPECT_EQ(lines.count("rebuilds"), 0U);
}

TEST_F(BookRebuild, AFileOfAnotherDayIsNotBelieved) {
    const test::ScratchFile file{test::scratch_name("rebuild-other.itch"), ItchSession{1'200, 1, 11}.file()};
    Lines lines{"rebuild-other",
                [&](gateway::FeedConfig& feed) { feed.use<gateway::itch::Settings>().rebuild_from = file.path(); }};
    ASSERT_TRUE(send(lines, 0, 200, 100, 105));
    // Waits until the attempt has started: messages sent from here on follow the file.
    ASSERT_TRUE(lines.read_until([&] { return lines.rebuild_wanted(); }));
    auto next = std::size_t{200};
    ASSERT_TRUE(lines.read_until([&] {
        send_next(lines, next);
        return !lines.rebuild_failure().empty();
    }));
    EXPECT_THAT(lines.rebuild_failure(), HasSubstr("is from another session"));
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    EXPECT_GT(incomplete_in(lines), 0U);
}

/// A capture of the previous day, whose session had the same name.
TEST_F(BookRebuild, ACaptureOfAnotherDayIsNotBelieved) {
    const test::ScratchFile file{test::scratch_name("rebuild-yesterday.pcap"), ""};
    Lines lines{"rebuild-yesterday",
                [&](gateway::FeedConfig& feed) { feed.use<gateway::itch::Settings>().rebuild_from = file.path(); }};
    constexpr std::int64_t kDayNs = 86'400'000'000'000;
    std::string capture;
    files::append_pcap_header(capture);
    for (const auto& bytes : ItchSession{1'200, 1, 11}.bytes)
        files::append_pcap_datagram(capture, {core::utc_nanos() - kDayNs, {}, lines.address(), bytes});
    std::ofstream{file.path(), std::ios::binary} << capture;
    ASSERT_TRUE(send(lines, 0, 200, 100, 105));
    ASSERT_TRUE(lines.read_until([&] { return lines.rebuild_wanted(); }));
    auto next = std::size_t{200};
    ASSERT_TRUE(lines.read_until([&] {
        send_next(lines, next);
        return !lines.rebuild_failure().empty() || lines.count("rebuilds") != 0;
    }));
    EXPECT_THAT(lines.rebuild_failure(), HasSubstr("is from another session"));
    EXPECT_EQ(lines.count("rebuilds"), 0U);
    EXPECT_GT(incomplete_in(lines.reader()), 0U);
}

TEST_F(BookRebuild, TheProgramSaysThatItsBooksAreIncompleteAndBuildsThemOnceTheCaptureIsThere) {
    const auto path = ::testing::TempDir() + test::scratch_name("rebuild-later.pcap");
    GatewayRun gateway{{.ring = unique_ring("rebuild"), .format = "itch", .feed = ",rebuild_from=" + path}};
    const auto to = net::SocketAddress::parse(gateway.feed_address());
    std::string capture;
    files::append_pcap_header(capture);
    net::UdpSender sender{{.to = to}};
    for (std::size_t i = 0; i < 200; ++i) {
        files::append_pcap_datagram(capture, {core::utc_nanos(), {}, to, session_.bytes[i]});
        while (i % 60 != 50 && !sender.send(session_.bytes[i])) std::this_thread::yield();
    }
    const auto shows = [&](const std::string& page, const std::string& text) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (gateway.page(page).find(text) == std::string::npos) {
            if (core::monotonic_nanos() > deadline) return false;
            std::this_thread::yield();
        }
        return true;
    };
    ASSERT_TRUE(shows("/api/health", R"("stage":"books incomplete","severity":"warning")"));
    EXPECT_TRUE(shows("/api/health", "the books have a gap and could not be rebuilt: "));
    EXPECT_GE(gateway.metric("millpond_feed_rebuild_failures_total"), 1);
    {
        std::ofstream{path + ".new", std::ios::binary} << capture;
        std::filesystem::rename(path + ".new", path);
    }
    EXPECT_TRUE(shows("/metrics", "millpond_feed_rebuilds_total{feed=\"f\"} 1\n"));
    const auto deadline = core::monotonic_nanos() + kPatienceNs;
    while (gateway.page("/api/health").find("books incomplete") != std::string::npos) {
        ASSERT_LT(core::monotonic_nanos(), deadline);
        std::this_thread::yield();
    }
    std::filesystem::remove(path);
    EXPECT_EQ(gateway.end().exit_code, 0);
}

}  // namespace
}  // namespace millpond::app
