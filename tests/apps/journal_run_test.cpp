#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/market/ring_reader.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/program.hpp"

namespace millpond::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class JournalRun : public ::testing::Test {
protected:
    JournalRun() { std::filesystem::remove_all(folder_); }
    ~JournalRun() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] GatewayRun::Options options(std::string_view what) const {
        return {.ring = unique_ring(what),
                .format = "quotes",
                .more = {"--journal", "folder=" + folder_ + ",segment_bytes=1MiB"}};
    }
    static void send(const GatewayRun& gateway, std::uint64_t count) {
        const auto sent = run({"generate", "--format", "quotes", "--count", std::to_string(count), "--rate", "20000",
                               "--to", gateway.feed_address(), "--quiet", "--live"});
        ASSERT_EQ(sent.exit_code, 0) << sent.err;
    }
    /// Waits for events: the records of a journal are also its symbols.
    static void wait_for_events(const GatewayRun& gateway, std::int64_t count) {
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (gateway.metric("millpond_sink_delivered_total") < count && core::monotonic_nanos() < deadline) {
            usleep(20'000);
        }
        ASSERT_GE(gateway.metric("millpond_sink_delivered_total"), count);
    }
    [[nodiscard]] static std::uint64_t quotes_of(const std::string& verified) {
        const std::string mark = "quotes ";
        const auto at = verified.find(mark);
        return at == std::string::npos ? 0 : std::strtoull(verified.c_str() + at + mark.size(), nullptr, 10);
    }

    std::string folder_{::testing::TempDir() + "millpond_journal_run_" + std::to_string(getpid())};
};

/// A reader of the ring, for comparison with the journal: quotes by ring number.
class RingSide {
public:
    explicit RingSide(const std::string& ring) : reader_({.name = ring}), thread_([this] { run(); }) {}
    ~RingSide() { end(); }
    RingSide(const RingSide&) = delete;
    RingSide& operator=(const RingSide&) = delete;

    /// Reads the rest of the ring and stops.
    void end() {
        stopping_ = true;
        if (thread_.joinable()) thread_.join();
    }
    void on(const feed::Quote& quote) { quotes_.emplace(reader_.current(), quote); }
    template <class Event>
    void on(const Event&) {}

    [[nodiscard]] std::uint64_t epoch() const { return reader_.epoch(); }
    [[nodiscard]] std::size_t got() const { return quotes_.size(); }
    [[nodiscard]] const feed::Quote* quote(std::uint64_t number) const {
        const auto found = quotes_.find(number);
        return found == quotes_.end() ? nullptr : &found->second;
    }

private:
    void run() {
        for (bool last = false; !last;) {
            last = stopping_;
            while (reader_.poll(*this, 1'024) != 0) {
            }
            std::this_thread::yield();
        }
    }
    market::RingReader reader_;
    std::map<std::uint64_t, feed::Quote> quotes_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

/// Whether the journal has each quote that the reader got, with the same ring number and the same bytes.
::testing::AssertionResult journal_holds(const std::string& folder, const RingSide& side) {
    struct Compare {
        void on(const feed::Quote& quote) {
            const auto& at = reader.current();
            const auto* got = at.epoch == side.epoch() ? side.quote(at.ring) : nullptr;
            if (got == nullptr) return;
            ++found;
            if (std::memcmp(got, &quote, sizeof quote) != 0) other = at.ring;
        }
        void on(const feed::Trade&) {}
        void on(const feed::TradeBreak&) {}
        void on(const feed::Status&) {}
        void on(const feed::Gap&) {}
        void on(const feed::Clear&) {}
        void on(const journal::LostRecord&) {}
        journal::JournalReader& reader;
        const RingSide& side;
        std::uint64_t found{0};
        std::uint64_t other{0};
    };
    journal::JournalReader reader{folder};
    Compare compare{reader, side};
    while (reader.poll(compare, 4'096) != 0) {
    }
    if (compare.other != 0) return ::testing::AssertionFailure() << "entry " << compare.other << " differs";
    if (compare.found == side.got()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "of " << side.got() << " quotes of the reader " << compare.found
                                         << " are there";
}

TEST_F(JournalRun, EveryQuoteIsInTheJournalAndTheCommandsShowIt) {
    GatewayRun gateway{options("journal")};
    send(gateway, 5'000);
    wait_for_events(gateway, 5'000);
    EXPECT_EQ(gateway.end().exit_code, 0);

    const auto verified = run({"journal", "verify", folder_});
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
    EXPECT_EQ(quotes_of(verified.out), 5'000U);
    EXPECT_THAT(verified.out, HasSubstr("missing: 0; duplicated: 0; damaged records: 0\ngood\n"));

    const auto listed = run({"journal", "ls", folder_});
    EXPECT_THAT(listed.out, HasSubstr("ended"));
    EXPECT_THAT(listed.out, HasSubstr(gateway.ring()));

    const auto shown = run({"journal", "cat", folder_, "--count", "3", "--format", "json"});
    EXPECT_THAT(shown.out, StartsWith("{\"type\":\"quote\""));
    EXPECT_EQ(std::count(shown.out.begin(), shown.out.end(), '\n'), 3);
    EXPECT_EQ(run({"journal", "cat", folder_, "--since", "2999-01-01"}).out.find("{"), std::string::npos);

    const auto file = folder_ + ".csv";
    const auto exported = run({"journal", "export", folder_, "csv", file});
    EXPECT_THAT(exported.out, HasSubstr("5000 rows written"));
    std::ifstream in{file};
    std::ostringstream text;
    text << in.rdbuf();
    const auto lines = text.str();
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5'001);
    std::filesystem::remove(file);
}

TEST_F(JournalRun, DamageIsSaidWithItsExtentAndTheExitCode) {
    GatewayRun gateway{options("damage")};
    send(gateway, 2'000);
    wait_for_events(gateway, 2'000);
    EXPECT_EQ(gateway.end().exit_code, 0);
    std::fstream file{folder_ + "/0000000001.mpj", std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(100'000);
    file.write("damage", 6);
    file.close();
    const auto verified = run({"journal", "verify", folder_});
    EXPECT_EQ(verified.exit_code, 3);
    EXPECT_THAT(verified.out, HasSubstr("damaged records: 1\nnot good: damaged\n"));
}

TEST_F(JournalRun, UnreadableSegmentsDoNotKeepTheGatewayOrTheCommandsFromTheRest) {
    {
        GatewayRun gateway{options("aside")};
        send(gateway, 2'000);
        wait_for_events(gateway, 2'000);
        EXPECT_EQ(gateway.end().exit_code, 0);
    }
    const auto first = folder_ + "/0000000001.mpj";
    std::filesystem::copy_file(first, folder_ + "/0000000000.mpj");
    std::filesystem::resize_file(folder_ + "/0000000000.mpj", 8'192);         // truncated before its first record
    std::ofstream{folder_ + "/0000000002.mpj"} << std::string(100'000, 'x');  // not a segment
    std::filesystem::copy_file(first, folder_ + "/0000000003.mpj");
    std::fstream damaged{folder_ + "/0000000003.mpj", std::ios::in | std::ios::out | std::ios::binary};
    damaged.seekp(40);  // the epoch in the header
    damaged.write("??", 2);
    damaged.close();

    const auto verified = run({"journal", "verify", folder_});
    EXPECT_EQ(verified.exit_code, 3);
    EXPECT_THAT(verified.err, HasSubstr("0000000000.mpj: cut off"));
    EXPECT_THAT(verified.err, HasSubstr("0000000002.mpj: not a journal segment (wrong magic number)"));
    EXPECT_THAT(verified.err, HasSubstr("0000000003.mpj: its header is damaged in more than one byte"));
    EXPECT_THAT(verified.out, HasSubstr("quotes 2000"));
    const auto file = folder_ + ".csv";
    const auto exported = run({"journal", "export", folder_, "csv", file});
    EXPECT_EQ(exported.exit_code, 3);
    EXPECT_THAT(exported.out, HasSubstr("2000 rows written"));
    EXPECT_THAT(exported.err, HasSubstr("; passed over\n"));
    std::filesystem::remove(file);

    GatewayRun again{options("aside")};
    send(again, 10);
    wait_for_events(again, 10);
    const auto ended = again.end();
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_THAT(ended.err, HasSubstr("renamed to 0000000002.mpj.damaged"));
    for (const auto* name : {"0000000000", "0000000002", "0000000003"}) {
        EXPECT_TRUE(std::filesystem::exists(folder_ + "/" + name + ".mpj.damaged")) << name;
    }
    EXPECT_EQ(run({"journal", "verify", folder_}).exit_code, 4);  // the segment that was set aside is missing
}

TEST_F(JournalRun, DamagedHintsOfASegmentAreReportedAndChangeNoExport) {
    {
        GatewayRun gateway{options("hints")};
        send(gateway, 5'000);
        wait_for_events(gateway, 5'000);
        EXPECT_EQ(gateway.end().exit_code, 0);
    }
    const auto file = folder_ + ".csv";
    const auto exported = [&] {
        const auto done = run({"journal", "export", folder_, "csv", file, "--from", "3000"});
        std::ifstream in{file};
        std::ostringstream text;
        text << in.rdbuf();
        return text.str() + std::to_string(done.exit_code);
    };
    const auto good = exported();
    EXPECT_EQ(std::count(good.begin(), good.end(), '#'), 0) << "every symbol has its name";
    constexpr std::pair<int, const char*> kHints[] = {
        {128, "the offset of the newest name"},
        {192, "the offset of the newest checkpoint"},
        {200, "the number of the checkpoint that it needs"},
        {4'096 + 2 * 32, "1 entries of its index"},
        {4'096 + 2 * 32 + 1, "1 entries of its index"},
        {4'096 + 3 * 32 + 8, "1 entries of its index"},
        {4'096 + 3 * 32 + 24, "1 entries of its index"},
    };
    for (const auto& [offset, complaint] : kHints) {
        std::fstream segment{folder_ + "/0000000001.mpj", std::ios::in | std::ios::out | std::ios::binary};
        segment.seekg(offset);
        const auto before = static_cast<char>(segment.get());
        segment.seekp(offset);
        segment.put(static_cast<char>(before ^ 4)).flush();
        const auto verified = run({"journal", "verify", folder_});
        EXPECT_EQ(verified.exit_code, 3) << offset;
        EXPECT_THAT(verified.err, AllOf(HasSubstr("0000000001.mpj: "), HasSubstr(complaint)));
        EXPECT_EQ(exported(), good) << offset;
        segment.seekp(offset);
        segment.put(before).flush();
    }
    EXPECT_EQ(run({"journal", "verify", folder_}).exit_code, 0);
    std::filesystem::remove(file);
}

TEST_F(JournalRun, AnExportReplacesAFileOnceItIsWholeAndTouchesNoOther) {
    {
        GatewayRun gateway{options("whole")};
        send(gateway, 100);
        wait_for_events(gateway, 100);
        EXPECT_EQ(gateway.end().exit_code, 0);
    }
    const auto file = folder_ + ".csv";
    std::ofstream{file} << "before";
    std::filesystem::create_directory(file + ".part");
    // An open reader keeps the previous file's contents.
    std::ifstream former{file};
    EXPECT_EQ(run({"journal", "export", folder_, "csv", file}).exit_code, 0);
    std::string text;
    EXPECT_TRUE(std::getline(former, text) && text == "before") << text;
    EXPECT_TRUE(std::getline(std::ifstream{file}, text) && text.starts_with("timestamp,")) << text;
    EXPECT_TRUE(std::filesystem::is_directory(file + ".part"));
    std::filesystem::remove_all(file + ".part");
    std::filesystem::remove(file);
}

TEST_F(JournalRun, AnExportOntoAFileOfTheJournalIsRefused) {
    {
        GatewayRun gateway{options("onto")};
        send(gateway, 100);
        wait_for_events(gateway, 100);
        EXPECT_EQ(gateway.end().exit_code, 0);
    }
    const auto segment = folder_ + "/0000000001.mpj";
    const auto bytes = std::filesystem::file_size(segment);
    const auto link = folder_ + ".link";
    std::filesystem::create_symlink(segment, link);
    for (const auto& file : {segment, link, folder_ + "/lock", folder_ + "/0000000009.mpj"}) {
        const auto refused = run({"journal", "export", folder_, "json", file});
        EXPECT_EQ(refused.exit_code, 2) << file;
        EXPECT_THAT(refused.err, HasSubstr("is a file of the journal"));
    }
    EXPECT_EQ(run({"journal", "export", segment, "json", link}).exit_code, 2);
    EXPECT_EQ(std::filesystem::file_size(segment), bytes);
    EXPECT_EQ(run({"journal", "verify", folder_}).exit_code, 0);
    std::filesystem::remove(link);
}

TEST_F(JournalRun, AWriteErrorOfStandardOutputIsAnExitCode) {
    {
        GatewayRun gateway{options("full")};
        send(gateway, 100);
        wait_for_events(gateway, 100);
        EXPECT_EQ(gateway.end().exit_code, 0);
    }
    for (const std::string command : {"cat", "ls", "verify"}) {
        Program shell{"/bin/sh",
                      {"-c", "exec " MILLPOND_PROGRAM " journal " + command + " " + folder_ + " > /dev/full"}};
        const auto full = shell.wait();
        EXPECT_EQ(full.exit_code, 1) << command;
        EXPECT_THAT(full.err, HasSubstr("cannot write to standard output")) << command;
    }
}

TEST_F(JournalRun, AFolderThatIsNoJournalHasItsOwnExitCode) {
    std::filesystem::create_directories(folder_);
    const auto other = folder_ + "/file";
    std::ofstream{other} << "text";
    for (const std::string command : {"verify", "cat", "ls"}) {
        const auto folder = run({"journal", command, folder_});
        EXPECT_EQ(folder.exit_code, 5) << command;
        EXPECT_EQ(folder.out, "") << command;
        EXPECT_THAT(folder.err, HasSubstr("is not a journal: it holds no segment")) << command;
        const auto file = run({"journal", command, other});
        EXPECT_EQ(file.exit_code, 5) << command;
        EXPECT_THAT(file.err, HasSubstr("not a journal segment")) << command;
        const auto nothing = run({"journal", command, folder_ + "/nothing"});
        EXPECT_EQ(nothing.exit_code, 1) << command;
        EXPECT_EQ(nothing.out, "") << command;
        EXPECT_THAT(nothing.err, HasSubstr("does not exist")) << command;
    }
    EXPECT_EQ(run({"journal", "export", folder_, "json", folder_ + ".json"}).exit_code, 5);
    EXPECT_FALSE(std::filesystem::exists(folder_ + ".json"));
    std::ofstream{folder_ + "/0000000001.mpj"} << "text";
    EXPECT_EQ(run({"journal", "verify", folder_}).exit_code, 5);
}

TEST_F(JournalRun, WrongUseSaysWhatIsWrong) {
    std::filesystem::create_directories(folder_);
    std::ofstream{folder_ + "/lock"}.close();
    const auto since = run({"journal", "cat", folder_, "--since", "yesterday"});
    EXPECT_EQ(since.exit_code, 2);
    EXPECT_THAT(since.err,
                HasSubstr("'yesterday' is not a time of the years 1678 to 2261 like 2026-11-20T14:30:00 (UTC)"));
}

/// Kills the gateway MILLPOND_TEST_KILLS times (default 6) under load at random times; each time another one continues.
/// Every published ring number is in the journal or reported as lost, and the journal has every event as a reader of
/// the ring got it.
TEST_F(JournalRun, AKilledGatewaysRingIsWrittenDownByTheNext) {
    const char* wanted = std::getenv("MILLPOND_TEST_KILLS");
    const int kills = wanted != nullptr ? std::atoi(wanted) : 6;
    std::mt19937_64 random{5};
    const auto options = this->options("kill");
    for (int kill = 0; kill < kills; ++kill) {
        // Every third run has another capacity, so that the ring cannot be reused and is drained instead.
        auto now = options;
        if (kill % 3 == 2) now.ring_more = ",capacity=32768";
        GatewayRun gateway{now};
        Program sender{
            {"generate", "--format", "quotes", "--rate", "50000", "--to", gateway.feed_address(), "--quiet", "--live"}};
        const auto target = static_cast<std::int64_t>(200 + random() % 5'000);
        RingSide side{options.ring};
        wait_for_events(gateway, target);
        gateway.program().signal(SIGKILL);
        static_cast<void>(gateway.program().wait());
        side.end();
        std::uint64_t newest = 0;
        {
            const market::RingReader left{{.name = options.ring}};
            newest = left.newest();
        }
        // The next gateway writes the events that the killed one left in shared memory.
        GatewayRun next{options};
        EXPECT_EQ(next.end().exit_code, 0);
        const auto verified = run({"journal", "verify", folder_});
        ASSERT_EQ(verified.exit_code, 0) << "kill " << kill << ": " << verified.out << verified.err;
        ASSERT_THAT(verified.out,
                    AllOf(HasSubstr("records missing between segments 0\n"), HasSubstr("lapped by the ring: 0;")));
        const auto last = run({"journal", "cat", folder_, "--format", "json"});
        ASSERT_THAT(last.out, HasSubstr("\"sequence\":" + std::to_string(newest) + ","));
        ASSERT_TRUE(journal_holds(folder_, side)) << "kill " << kill;
        EXPECT_GT(side.got(), 0U);
        std::filesystem::remove_all(folder_);
    }
}

}  // namespace
}  // namespace millpond::app
