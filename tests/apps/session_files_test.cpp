// Files of a running gateway at a new trading session: csv, journal and capture start new files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/sequencing.hpp>
#include <millpond/files/pcap_reader.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/itch_session.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

/// Rows without the receive time, which differs from run to run.
std::vector<std::string> rows_of(const std::filesystem::path& path) {
    std::ifstream file{path};
    std::vector<std::string> rows;
    for (std::string line; std::getline(file, line);) rows.push_back(line.substr(line.find(',')));
    return rows;
}

/// Events of a segment.
struct Events {
    void on(const feed::Quote& quote) {
        ++count;
        quotes.push_back(quote.bid_price);
    }
    void on(const feed::Trade&) { ++count; }
    void on(const feed::TradeBreak&) { ++count; }
    void on(const feed::Status&) { ++count; }
    void on(const feed::Gap&) { ++count; }
    void on(const feed::Clear& clear) {
        if (count++ == 0) begins_with_clear = clear.reason == feed::ClearReason::new_session;
    }
    void on(const journal::LostRecord&) { ++lost; }
    std::vector<feed::Price> quotes;
    std::uint64_t count{0};
    std::uint64_t lost{0};
    bool begins_with_clear{false};
};

Events events_of(const std::filesystem::path& segment) {
    journal::JournalReader reader{segment};
    Events events;
    while (reader.poll(events, 1'000) != 0) {
    }
    return events;
}

/// Counts of each message in a capture file, by session, line and number.
using Messages = std::map<std::string, std::map<std::uint16_t, std::map<std::uint64_t, int>>>;

Messages messages_of(const std::filesystem::path& path) {
    Messages messages;
    files::PcapReader reader{path.string()};
    for (files::CapturedDatagram read; reader.next(read);) {
        const auto numbers = feed::Sequencing<feed::ItchDecoder>::read(read.payload);
        EXPECT_TRUE(numbers);
        if (!numbers) continue;
        const std::string session{numbers->session.begin(), numbers->session.end()};
        auto& line = messages[session][read.destination.port()];
        for (auto number = numbers->first; number < numbers->end(); ++number) ++line[number];
    }
    EXPECT_EQ(reader.error(), "");
    return messages;
}

/// Replays one file as two sessions to a gateway that writes csv, journal and capture.
class SessionFiles : public ::testing::Test {
protected:
    ~SessionFiles() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] GatewayRun::Options options(const std::string& feed) const {
        return {
            .ring = ring_,
            .format = "itch",
            .feed = feed,
            .more = {"--capture", (folder_ / "capture").string(), "--csv", "path=" + (folder_ / "quotes.csv").string(),
                     "--journal", "folder=" + (folder_ / "journal").string() + ",segment_bytes=1MiB"}};
    }
    [[nodiscard]] std::vector<std::string> replay(const std::string& session, const std::string& to,
                                                  const std::string& speed) const {
        return {"replay", itch_.path(), "--to", to, "--session", session, "--speed", speed, "--quiet"};
    }
    [[nodiscard]] static bool comes_to(const GatewayRun& gateway, std::string_view metric, std::uint64_t value) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (gateway.metric(metric) != static_cast<std::int64_t>(value)) {
            if (core::monotonic_nanos() > deadline) return false;
            std::this_thread::yield();
        }
        return true;
    }

    void expect_csv_split() const {
        const auto first = rows_of(folder_ / "quotes.csv.1");
        EXPECT_GT(first.size(), 100U);
        EXPECT_EQ(first, rows_of(folder_ / "quotes.csv")) << "both sessions hold the same quotes";
        EXPECT_FALSE(std::filesystem::exists(folder_ / "quotes.csv.2"));
    }
    void expect_journal_split() const {
        const auto folder = folder_ / "journal";
        const auto first = events_of(journal::segment_path(folder, 1));
        const auto second = events_of(journal::segment_path(folder, 2));
        EXPECT_FALSE(first.begins_with_clear);
        EXPECT_TRUE(second.begins_with_clear);
        EXPECT_EQ(first.quotes, second.quotes);
        EXPECT_EQ(first.quotes.size() + 1, rows_of(folder_ / "quotes.csv").size());
        EXPECT_EQ(first.lost + second.lost, 0U);
        const auto infos = journal::describe_segments(folder);
        ASSERT_EQ(infos.size(), 2U);
        EXPECT_EQ(infos[0].session, 1U);
        EXPECT_EQ(infos[1].session, 2U);
        const auto verified = run({"journal", "verify", folder.string()});
        EXPECT_EQ(verified.exit_code, 0) << verified.out;
        const auto listed = run({"journal", "ls", folder.string()}).out;
        EXPECT_THAT(listed, HasSubstr("  session  "));
        EXPECT_THAT(listed,
                    HasSubstr(ring_ + std::string(16 - std::min<std::size_t>(16, ring_.size()), ' ') + "       2  "));
    }
    void expect_capture_split(std::size_t lines) const {
        const auto path = folder_ / "capture" / (ring_ + ".pcap");
        const std::vector<std::pair<std::filesystem::path, std::string>> files{{path.string() + ".1", "monday01  "},
                                                                               {path, "tuesday01 "}};
        for (const auto& [file, session] : files) {
            const auto found = messages_of(file);
            ASSERT_EQ(found.size(), 1U) << file << " holds more than its session";
            ASSERT_EQ(found.begin()->first, session);
            EXPECT_EQ(found.begin()->second.size(), lines);
            for (const auto& [port, numbers] : found.begin()->second) {
                EXPECT_EQ(numbers.size(), messages()) << file << ", port " << port;
                for (const auto& [number, times] : numbers) ASSERT_EQ(times, 1) << number;
            }
        }
        EXPECT_FALSE(std::filesystem::exists(path.string() + ".2"));
    }
    [[nodiscard]] std::uint64_t messages() const { return session_.next - 1; }

    std::string ring_{unique_ring("sessions")};
    std::filesystem::path folder_{std::filesystem::path{::testing::TempDir()} / ring_};
    ItchSession session_{400};
    test::ScratchFile itch_{test::scratch_name("sessions.itch"), session_.file()};
};

TEST_F(SessionFiles, ASecondSessionBeginsNewFilesOfCsvJournalAndCapture) {
    GatewayRun gateway{options("")};
    for (const auto* session : {"monday", "tuesday"}) {
        const auto sent = run(replay(session, gateway.feed_address(), "4"));
        ASSERT_EQ(sent.exit_code, 0) << sent.err;
    }
    ASSERT_TRUE(comes_to(gateway, "millpond_feed_messages_total", 2 * messages()));
    EXPECT_EQ(gateway.metric("millpond_capture_lost_total"), 0);
    EXPECT_EQ(gateway.end().exit_code, 0);
    expect_csv_split();
    expect_journal_split();
    expect_capture_split(1);
}

TEST_F(SessionFiles, WhatASlowerLineStillBringsOfTheOldSessionStaysInItsFile) {
    GatewayRun gateway{options(",line_b=127.0.0.1:0,reorder_us=1000000")};
    const auto line_a = gateway.feed_address();
    const auto line_b = gateway.word_after("feed 'f', line B: listens on ");
    Program slower{replay("monday", line_b, "1")};
    for (const auto* session : {"monday", "tuesday"}) {
        const auto sent = run(replay(session, line_a, "8"));
        ASSERT_EQ(sent.exit_code, 0) << sent.err;
    }
    ASSERT_EQ(slower.wait().exit_code, 0);
    ASSERT_EQ(run(replay("tuesday", line_b, "8")).exit_code, 0);
    ASSERT_TRUE(comes_to(gateway, "millpond_feed_messages_total", 2 * messages()));
    EXPECT_EQ(gateway.metric("millpond_feed_holes_given_up_total"), 0);
    EXPECT_EQ(gateway.metric("millpond_capture_lost_total"), 0);
    EXPECT_EQ(gateway.end().exit_code, 0);
    expect_csv_split();
    expect_journal_split();
    expect_capture_split(2);
}

}  // namespace
}  // namespace millpond::app
