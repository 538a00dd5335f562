#include "service/history_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/scratch_file.hpp"

namespace millpond::service {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr std::int64_t kKeptSecondNs = 1'000'000'000;
constexpr std::int64_t kKeptBegin = 20'000 * 86'400;
constexpr SeriesKind kKeptSeries[] = {{"rate", Combine::mean}, {"lost", Combine::sum}};
constexpr SourceKind kKeptPart{"part", "", kKeptSeries};

/// A daemon with a history of one part, and its files.
class Daemon {
public:
    explicit Daemon(const std::filesystem::path& folder, std::string_view part = "a")
        : history_(std::array<History::Capacity, 1>{{{&kKeptPart, 2}}}),
          part_(*history_.add(kKeptPart, part)),
          files_({.folder = folder, .name = "main", .mode = 0640}, history_, events_,
                 [this](Severity severity, std::string_view, const std::string& text) {
                     const std::lock_guard lock{mutex_};
                     logged_ += severity == Severity::warning ? text + '\n' : "not a warning";
                 }) {
        files_.load();
        files_.start();
    }
    void sample(std::int64_t second, double rate) { history_.sample(second).set(part_, {rate, 1}); }
    void event(std::string_view text) {
        events_.add({.kind = EventKind::gap, .source = text, .text = text, .since = 7, .range = std::pair{3, 4}},
                    {.utc_ns = kKeptBegin * kKeptSecondNs, .monotonic_ns = 1});
    }
    void start(std::string_view text) {
        events_.add({.kind = EventKind::start, .source = "daemon", .text = text},
                    {.utc_ns = kKeptBegin * kKeptSecondNs, .monotonic_ns = 1});
    }
    void stop_event() {
        events_.add({.kind = EventKind::stop, .source = "daemon"},
                    {.utc_ns = kKeptBegin * kKeptSecondNs, .monotonic_ns = 1});
    }
    /// Stops, which writes the files, and returns the log.
    std::string end() {
        files_.stop();
        const std::lock_guard lock{mutex_};
        return logged_;
    }
    [[nodiscard]] std::vector<float> rates(std::int64_t from, std::size_t count, std::int64_t step = 1) const {
        std::vector<float> values;
        history_.visit(
            {.from = from, .step = step, .samples = count}, [](const History::View&) { return true; },
            [&](const History::View& view) { values = view.series[0]; });
        return values;
    }
    [[nodiscard]] const EventLog& events() const { return events_; }

private:
    History history_;
    EventLog events_;
    History::Handle part_;
    std::mutex mutex_;
    std::string logged_;
    HistoryFiles files_;
};

class HistoryFilesTest : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path path(const char* name) const { return folder_ / name; }
    [[nodiscard]] std::string content(const char* name) const {
        std::ifstream in{path(name), std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    void replace(const char* name, std::string_view bytes) const {
        std::ofstream{path(name), std::ios::binary | std::ios::trunc} << bytes;
    }

    std::filesystem::path folder_{std::filesystem::path{testing::TempDir()} / test::scratch_name("history") / "state"};
};

TEST_F(HistoryFilesTest, ARestartContinuesTheSamplesAndTheOutageIsAHole) {
    {
        Daemon daemon{folder_};
        for (int i = 0; i < 3; ++i) daemon.sample(kKeptBegin + i, 10 + i);
        daemon.event("before");
        EXPECT_EQ(daemon.end(), "");
    }
    Daemon daemon{folder_};
    daemon.sample(kKeptBegin + 6, 16);
    EXPECT_THAT(daemon.rates(kKeptBegin, 7), ElementsAre(10, 11, 12, IsNan(), IsNan(), IsNan(), 16));
    EXPECT_THAT(daemon.rates(kKeptBegin, 1, 60), ElementsAre(12.25)) << "the minute has seconds of both runs";
    daemon.event("after");
    const auto events = daemon.events().select({});
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].text(), "before");
    EXPECT_EQ(events[0].since, 7);
    EXPECT_EQ(events[0].last, 4U);
    EXPECT_EQ(events[1].number, 10'002U) << "the first run did not log its stop: later numbers may have been used";
    struct stat facts{};
    ASSERT_EQ(stat(path("main.events").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0640U);
}

TEST_F(HistoryFilesTest, MinutesContinueAfterALongOutage) {
    {
        Daemon daemon{folder_};
        for (int i = 0; i < 90; ++i) daemon.sample(kKeptBegin + i, 5);
        daemon.end();
    }
    constexpr std::int64_t kLater = kKeptBegin + 2 * 3'600;
    Daemon daemon{folder_};
    for (int i = 0; i < 90; ++i) daemon.sample(kLater + i, 7);
    const auto minutes = daemon.rates(kKeptBegin, 122, 60);
    EXPECT_EQ(minutes[0], 5);
    EXPECT_EQ(minutes[1], 5);
    for (std::size_t i = 2; i < 120; ++i) ASSERT_THAT(minutes[i], IsNan());
    EXPECT_EQ(minutes[120], 7);
}

TEST_F(HistoryFilesTest, AFullLogSurvivesARestart) {
    {
        Daemon daemon{folder_};
        for (int i = 0; i < 10'300; ++i) daemon.start(std::to_string(i));
        daemon.end();
    }
    const Daemon daemon{folder_};
    EXPECT_EQ(daemon.events().numbers().oldest, 7'801U);
    const auto events = daemon.events().select({.limit = 10'000});
    ASSERT_EQ(events.size(), EventLog::kReserved);
    for (const auto& event : events) ASSERT_EQ(event.text(), std::to_string(event.number - 1));
}

TEST_F(HistoryFilesTest, NumbersContinueAfterAStop) {
    std::uint64_t id = 0;
    {
        Daemon daemon{folder_};
        daemon.start("first");
        daemon.stop_event();
        id = daemon.events().id();
        daemon.end();
    }
    Daemon daemon{folder_};
    daemon.start("second");
    EXPECT_EQ(daemon.events().numbers().newest, 3U);
    EXPECT_EQ(daemon.events().id(), id);
    EXPECT_NE(EventLog{}.id(), id) << "another log";
}

// The clock is wrong until the network sets it.
TEST_F(HistoryFilesTest, AStartWithAnEarlyClockKeepsTheSamples) {
    {
        Daemon daemon{folder_};
        daemon.sample(kKeptBegin + 40, 1);
        daemon.sample(kKeptBegin + 50, 2);
        daemon.end();
    }
    {
        Daemon daemon{folder_};
        daemon.sample(1'000, 8);
        EXPECT_EQ(daemon.end(), "");
    }
    Daemon daemon{folder_};
    daemon.sample(kKeptBegin + 60, 3);
    EXPECT_THAT(daemon.rates(kKeptBegin + 40, 1), ElementsAre(1));
    EXPECT_THAT(daemon.rates(kKeptBegin + 50, 1), ElementsAre(2));
    EXPECT_THAT(daemon.rates(kKeptBegin + 60, 1), ElementsAre(3));
    EXPECT_EQ(daemon.end(), "");
}

TEST_F(HistoryFilesTest, AFileOfMoreThan64MiBIsRead) {
    std::filesystem::create_directories(folder_);
    {
        StateFileWriter writer{path("large"), History::kFile, 0600};
        const std::string block(std::size_t{1} << 20U, 'x');
        for (int i = 0; i < 65; ++i) writer.block(block);
        writer.commit();
    }
    StateFile file;
    EXPECT_TRUE(file.read(path("large"), History::kFile));
    EXPECT_EQ(file.blocks.size(), 65U);
}

TEST_F(HistoryFilesTest, SamplesOfAnotherPartAreIgnored) {
    {
        Daemon daemon{folder_};
        daemon.sample(kKeptBegin, 1);
        daemon.end();
    }
    Daemon other{folder_, "b"};
    EXPECT_THAT(other.rates(kKeptBegin, 1), ElementsAre(IsNan()));
    EXPECT_EQ(other.end(), "");
}

TEST_F(HistoryFilesTest, ADamagedFileIsNamedAndIgnoredAndReplaced) {
    {
        Daemon daemon{folder_};
        daemon.sample(kKeptBegin, 1);
        daemon.event("before");
        daemon.end();
    }
    for (const char* name : {"main.events", "main.samples"}) {
        const auto good = content(name);
        ASSERT_GT(good.size(), 100U);
        // Bytes of the head, of lengths, sums and contents, and of the end.
        for (std::size_t at = 0; at < good.size(); at += at < 120 || at + 40 > good.size() ? 1U : 997U) {
            auto bad = good;
            bad[at] = static_cast<char>(bad[at] ^ 0x20);
            replace(name, bad);
            StateFile file;
            const auto kind = std::string_view{name} == "main.events" ? EventLog::kFile : History::kFile;
            EXPECT_ANY_THROW(static_cast<void>(file.read(path(name), kind))) << name << ' ' << at;
        }
        for (const std::size_t size : {std::size_t{0}, std::size_t{10}, good.size() / 2, good.size() - 1}) {
            replace(name, good.substr(0, size));
            Daemon daemon{folder_};
            daemon.event("after");
            const auto logged = daemon.end();
            EXPECT_THAT(logged, AllOf(HasSubstr("'" + path(name).string() + "' is ignored: "))) << size;
            EXPECT_EQ(content(name).substr(0, 24), good.substr(0, 24)) << "it is a good file again";
        }
        replace(name, good + "x");
        EXPECT_THAT(Daemon{folder_}.end(), HasSubstr("is ignored: "));
        auto newer = good;
        newer[16] = 9;
        replace(name, newer);
        EXPECT_THAT(Daemon{folder_}.end(), HasSubstr("is ignored: has version 9, and this program reads 1"));
    }
}

// The checksums are right: the contents are not.
TEST_F(HistoryFilesTest, AFileWithWrongContentsIsIgnored) {
    std::filesystem::create_directories(folder_);
    const auto write = [&](StateFileKind kind, const std::vector<std::string>& blocks) {
        StateFileWriter writer{path(kind.name == "events" ? "main.events" : "main.samples"), kind, 0600};
        for (const auto& block : blocks) writer.block(block);
        writer.commit();
    };
    BlockBuilder head;
    head.integer(std::uint64_t{1});
    head.integer(std::uint64_t{1});
    BlockBuilder names;
    names.integer(std::int64_t{kKeptBegin});
    names.integer(std::uint32_t{1});
    const std::string sixteen(16, '\xff');
    for (const auto& blocks :
         std::vector<std::vector<std::string>>{{},
                                               {"x"},
                                               {sixteen},
                                               {std::string{head.bytes()}},
                                               {std::string{head.bytes()}, "x"},
                                               {std::string{head.bytes()}, std::string(100, '\xff')},
                                               {std::string{names.bytes()}, sixteen}}) {
        write(EventLog::kFile, blocks);
        write(History::kFile, blocks);
        Daemon daemon{folder_};
        EXPECT_EQ(daemon.events().numbers().newest, 0U);
        const auto logged = daemon.end();
        EXPECT_THAT(logged, AllOf(HasSubstr("main.events' is ignored: "), HasSubstr("main.samples' is ignored: ")));
    }
}

TEST_F(HistoryFilesTest, AFolderThatCannotBeWrittenIsLoggedAndNothingElseFails) {
    std::filesystem::create_directories(folder_.parent_path());
    std::ofstream{folder_} << "a file";
    Daemon daemon{folder_};
    daemon.sample(kKeptBegin, 1);
    daemon.event("x");
    EXPECT_THAT(daemon.end(), HasSubstr("history: no state is kept: "));
    EXPECT_THAT(daemon.rates(kKeptBegin, 1), ElementsAre(1));
}

TEST_F(HistoryFilesTest, AFullDiskLeavesTheFilesBefore) {
    {
        Daemon daemon{folder_};
        daemon.sample(kKeptBegin, 1);
        daemon.event("before");
        daemon.end();
    }
    const auto before = content("main.events");
    {
        Daemon daemon{folder_};
        daemon.event("after");
        rlimit old{};
        getrlimit(RLIMIT_FSIZE, &old);
        const rlimit full{100, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &full);
        const auto logged = daemon.end();
        setrlimit(RLIMIT_FSIZE, &old);
        EXPECT_THAT(logged, AllOf(HasSubstr("events are not saved: cannot write"),
                                  HasSubstr("samples are not saved: cannot write")));
    }
    EXPECT_EQ(content("main.events"), before);
    const std::filesystem::directory_iterator files{folder_};
    EXPECT_EQ(std::distance(begin(files), end(files)), 3) << "events, samples and lock";
}

TEST_F(HistoryFilesTest, ASecondDaemonWithTheSameFilesIsLoggedAndKeepsNothing) {
    Daemon first{folder_};
    first.sample(kKeptBegin, 1);
    {
        Daemon second{folder_};
        second.sample(kKeptBegin, 2);
        second.event("second");
        EXPECT_THAT(second.end(), AllOf(HasSubstr("history: no state is kept: "), HasSubstr("main.lock'"),
                                        HasSubstr("another process")));
        EXPECT_FALSE(std::filesystem::exists(path("main.samples")));
    }
    EXPECT_EQ(first.end(), "");
    EXPECT_NE(content("main.samples"), "");
    EXPECT_FALSE(std::filesystem::exists(path("main.events"))) << "there was no event";
}

TEST_F(HistoryFilesTest, AfterItHasEndedAnotherDaemonContinues) {
    {
        Daemon{folder_}.sample(kKeptBegin, 1);
    }
    const Daemon daemon{folder_};
    EXPECT_THAT(daemon.rates(kKeptBegin, 1), ElementsAre(1));
}

TEST_F(HistoryFilesTest, IncompleteFilesOfAKilledDaemonAreRemoved) {
    std::filesystem::create_directories(folder_);
    for (const char* name : {".main.samples.0123456789abcdef.part", ".main.events.0123456789abcdef.part",
                             ".main2.events.0123456789abcdef.part", ".main.events"}) {
        replace(name, "x");
    }
    EXPECT_EQ(Daemon{folder_}.end(), "");
    std::vector<std::string> left;
    for (const auto& file : std::filesystem::directory_iterator{folder_}) left.push_back(file.path().filename());
    EXPECT_THAT(left, testing::UnorderedElementsAre("main.lock", "main.samples", ".main.events",
                                                    ".main2.events.0123456789abcdef.part"));
}

}  // namespace
}  // namespace millpond::service
