#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/core/rotated_file.hpp>
#include <millpond/engine/raw_log.hpp>
#include <millpond/files/file_contents.hpp>
#include <millpond/files/pack_file.hpp>

#include "tests/engine/engine_pair.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::engine {
namespace {

constexpr std::int64_t kTime = 1'704'164'645'123'456'789;  // 20240102-03:04:05.123456789
constexpr std::string_view kSession = "FIX.4.4:HOUSE->CLIENT";

class RawLogTest : public testing::Test {
protected:
    RawLogTest() { std::filesystem::create_directories(folder_); }
    ~RawLogTest() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::filesystem::path file() const { return folder_ / "raw.log"; }
    [[nodiscard]] static std::string text_of(const std::filesystem::path& path) {
        std::ifstream in{path, std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
    /// Number of lost pieces according to the file.
    [[nodiscard]] static std::uint64_t lost_by(const std::string& text) {
        constexpr std::string_view kMark = "# lost: ";
        std::uint64_t sum = 0;
        for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1)) {
            sum += std::stoull(text.substr(at + kMark.size()));
        }
        return sum;
    }

private:
    std::filesystem::path folder_ =
        std::filesystem::path{testing::TempDir()} / ("millpond_raw_log_" + std::to_string(getpid()));
};

TEST_F(RawLogTest, ARejectIsLoggedAfterTheBytesAndWithoutTheValue) {
    {
        RawLog log{{.file = file()}};
        log.on_bytes(kSession, Direction::in, "8=FIX.4.4\x01", kTime);
        log.on_rejected("FIX.4.4:A B->C", {.reason = "Incorrect data format for value",
                                           .sequence = 2,
                                           .msg_type = "D\n",
                                           .tag_text = "44",
                                           .value = "hunter2"});
        log.on_rejected(kSession, {.reason = "r", .detail = std::string(500, 'x')});
        EXPECT_EQ(log.counters().pieces.read(), 1U);
    }
    const auto text = text_of(file());
    EXPECT_NE(text.find("< FIX.4.4:HOUSE->CLIENT 8=FIX.4.4\x01\n"
                        "# rejected: FIX.4.4:A_B->C 34=2 35=D? tag 44: Incorrect data format for value\n"
                        "# rejected: FIX.4.4:HOUSE->CLIENT 34=0 35=: xxx"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find("hunter2"), std::string::npos);
    EXPECT_TRUE(text.ends_with("x\n"));
}

TEST_F(RawLogTest, AFileThatBeginsWithLongNotesIsContinued) {
    const auto note = "# rejected: " + std::string(700, 'x') + "\n";
    std::ofstream{file()} << note << "# lost: 1 pieces, 2 bytes\n";
    std::filesystem::permissions(file(), std::filesystem::perms{core::kFileMode});
    {
        RawLog log{{.file = file()}};
        log.on_bytes(kSession, Direction::in, "8=", kTime);
    }
    EXPECT_TRUE(text_of(file()).starts_with(note));
}

TEST_F(RawLogTest, ItsFileHasTheModeThatIsAskedForWhateverTheUmask) {
    const auto before = umask(0);
    const RawLog log{{.file = file(), .file_mode = 0600}};
    umask(before);
    EXPECT_EQ(std::filesystem::status(file()).permissions(), std::filesystem::perms{0600});
    EXPECT_THROW(RawLog{{.file = file()}}, std::system_error);  // another log writes it
}

TEST_F(RawLogTest, EachPieceIsALineWithTimeDirectionAndSession) {
    {
        RawLog log{{.file = file()}};
        log.on_bytes(kSession, Direction::in, "8=FIX.4.4\x01", kTime);
        log.on_bytes("A B", Direction::out, "x", kTime + 1);
    }
    EXPECT_EQ(text_of(file()),
              "20240102-03:04:05.123456789 < FIX.4.4:HOUSE->CLIENT 8=FIX.4.4\x01\n"
              "20240102-03:04:05.123456790 > A_B x\n");
}

TEST_F(RawLogTest, ALineEndAmongTheBytesDoesNotEndTheLine) {
    {
        RawLog log{{.file = file()}};
        log.on_bytes("S", Direction::in, "a\nb\\n", kTime);
    }
    EXPECT_EQ(text_of(file()), "20240102-03:04:05.123456789 < S a\\nb\\\\n\n");
}

TEST_F(RawLogTest, SecretsAreNotWrittenAlsoWhenTheyAreSplitOverPieces) {
    constexpr std::string_view kLogon =
        "8=FIX.4.4\x01"
        "9=80\x01"
        "35=A\x01"
        "95=9\x01"
        "96=a\x01"
        "b=c554=\x01"
        "553=me\x01"
        "554=secret\x01"
        "925=next\x01";
    {
        RawLog log{{.file = file(), .secrets = fix::SecretTags{{553}}}};
        for (const char byte : kLogon) {
            log.on_bytes(kSession, Direction::in, {&byte, 1}, kTime);
            log.on_bytes(kSession, Direction::out, "8=FIX.4.4\x01", kTime);  // another stream
        }
    }
    std::string in;
    std::ifstream lines{file()};
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" < ") != std::string::npos) in += line.substr(line.rfind(' ') + 1);
    }
    EXPECT_EQ(in,
              "8=FIX.4.4\x01"
              "9=80\x01"
              "35=A\x01"
              "95=9\x01"
              "96=*********\x01"
              "553=**\x01"
              "554=******\x01"
              "925=****\x01");
}

TEST_F(RawLogTest, LostPiecesAreCountedAndMarkedInTheFile) {
    const std::string big(900, 'x');
    {
        RawLog log{{.file = file(), .ring_bytes = 4096, .interval = std::chrono::hours{1}}};
        // The writer has checked the queue once, or is about to; then it sleeps until the end.
        while (log.counters().lost_pieces.read() < 2) log.on_bytes("S", Direction::out, big, kTime);
        EXPECT_EQ(log.counters().lost_bytes.read(), 1800U);
    }
    EXPECT_EQ(lost_by(text_of(file())), 2U);
}

TEST_F(RawLogTest, APieceThatIsLongForTheRingIsWrittenInParts) {
    std::string big(2500, 'x');
    for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>('a' + i % 26);
    {
        RawLog log{{.file = file(), .ring_bytes = 4096, .interval = std::chrono::hours{1}}};
        log.on_bytes("S", Direction::out, big, kTime);
        EXPECT_EQ(log.counters().bytes.read(), big.size());
        EXPECT_EQ(log.counters().lost_pieces.read(), 0U);
    }
    std::string written;
    std::ifstream in{file()};
    for (std::string line; std::getline(in, line);) written += line.substr(line.find(" > S ") + 5);
    EXPECT_EQ(written, big);
}

TEST_F(RawLogTest, EveryPieceIsWrittenOrCountedAsLost) {
    std::uint64_t accepted = 0;
    std::uint64_t lost = 0;
    constexpr std::uint64_t kPieces = 20'000;
    {
        RawLog log{{.file = file(), .ring_bytes = 16'384, .interval = std::chrono::milliseconds{1}}};
        std::string bytes;
        for (std::uint64_t i = 0; i < kPieces; ++i) {
            bytes.assign(i % 700, static_cast<char>('a' + i % 26));
            log.on_bytes(kSession, Direction::in, bytes, kTime);
            if (i % 16 == 0) std::this_thread::yield();
        }
        accepted = log.counters().pieces.read();
        lost = log.counters().lost_pieces.read();
    }
    EXPECT_EQ(accepted + lost, kPieces);
    std::uint64_t written = 0;
    std::ifstream in{file()};
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("# lost: ")) continue;
        ++written;
        const auto bytes = line.substr(std::string{"20240102-03:04:05.123456789 < "}.size() + kSession.size() + 1);
        ASSERT_EQ(bytes.find_first_not_of(bytes.empty() ? 'x' : bytes.front()), std::string::npos) << "torn";
    }
    EXPECT_EQ(written, accepted);
    EXPECT_EQ(lost_by(text_of(file())), lost);
}

TEST_F(RawLogTest, AFileThatIsMovedIsFollowedByANewOne) {
    const auto moved = file().string() + ".moved";
    {
        RawLog log{{.file = file()}};
        log.on_bytes("S", Direction::in, "first", kTime);
        while (log.counters().written_bytes.read() == 0) std::this_thread::yield();
        std::filesystem::rename(file(), moved);
        log.on_bytes("S", Direction::in, "second", kTime);
    }
    EXPECT_NE(text_of(moved).find("first"), std::string::npos);
    EXPECT_EQ(text_of(moved).find("second"), std::string::npos);
    EXPECT_NE(text_of(file()).find("second"), std::string::npos);
}

TEST_F(RawLogTest, AnEarlierLogIsContinuedAfterItsLastLine) {
    std::string earlier = "20240102-03:04:05.123456789 < S first\n20240102-03:04:05.123456790 > S tor";
    std::ofstream{file()} << earlier;
    std::filesystem::permissions(file(), std::filesystem::perms{0640});
    {
        RawLog log{{.file = file()}};
        log.on_bytes("S", Direction::in, "second", kTime);
    }
    earlier += "\n20240102-03:04:05.123456789 < S second\n";
    EXPECT_EQ(text_of(file()), earlier);
    {
        const RawLog log{{.file = file(), .rotate_bytes = earlier.size() + 1}};
    }
    EXPECT_EQ(text_of(file()), earlier) << "nothing was written";
    {
        RawLog log{{.file = file(), .rotate_bytes = earlier.size() + 1}};
        log.on_bytes("S", Direction::in, "third", kTime);
    }
    EXPECT_NE(text_of(file().string() + ".1").find("third"), std::string::npos) << "its bytes count";
}

TEST_F(RawLogTest, TheAgeOfAnEarlierLogIsThatOfItsFirstLine) {
    std::ofstream{file()} << "20240102-03:04:05.123456789 < S first\n";
    std::filesystem::permissions(file(), std::filesystem::perms{0640});
    const RawLog log{{.file = file(), .rotate_after = std::chrono::hours{24}}};
    while (log.counters().rotations.read() == 0) std::this_thread::yield();
    EXPECT_NE(text_of(file().string() + ".1").find("first"), std::string::npos);
}

TEST_F(RawLogTest, AnEarlierLogThatBeginsWithLossesIsContinuedToo) {
    const std::string losses = "# lost: 3 pieces, 615 bytes\n# lost: 39 bytes that could not be written\n";
    for (const std::string& earlier : {losses, losses + "20240102-03:04:05.123456789 < S first\n"}) {
        std::ofstream{file()} << earlier;
        std::filesystem::permissions(file(), std::filesystem::perms{0640});
        {
            RawLog log{{.file = file()}};
            log.on_bytes("S", Direction::in, "second", kTime);
        }
        EXPECT_EQ(text_of(file()), earlier + "20240102-03:04:05.123456789 < S second\n");
        EXPECT_FALSE(std::filesystem::exists(file().string() + ".1"));
    }
    const RawLog log{{.file = file(), .rotate_after = std::chrono::hours{24}}};
    while (log.counters().rotations.read() == 0) std::this_thread::yield();  // by the time of the first piece
}

TEST_F(RawLogTest, AnEarlierLogWithOtherPermissionsIsNotContinued) {
    std::ofstream{file()} << "20240102-03:04:05.123456789 < S first\n";
    std::filesystem::permissions(file(), std::filesystem::perms{0644});
    {
        RawLog log{{.file = file(), .file_mode = 0600}};
        log.on_bytes("S", Direction::in, "second", kTime);
    }
    EXPECT_EQ(text_of(file()).find("first"), std::string::npos);
    EXPECT_NE(text_of(file().string() + ".1").find("first"), std::string::npos);
}

TEST_F(RawLogTest, SecretsBehindAConnectionThatEndedInTheMiddleOfAMessageAreHidden) {
    constexpr std::string_view kCut =
        "8=FIX.4.4\x01"
        "9=9000\x01"
        "35=B\x01"
        "354=8000\x01"
        "355=x";
    constexpr std::string_view kLogon =
        "8=FIX.4.4\x01"
        "9=80\x01"
        "35=A\x01"
        "554=secret\x01"
        "925=next\x01";
    {
        RawLog log{{.file = file()}};
        for (const auto direction : {Direction::in, Direction::out}) log.on_bytes(kSession, direction, kCut, kTime);
        log.on_connect(kSession);
        for (const auto direction : {Direction::in, Direction::out}) log.on_bytes(kSession, direction, kLogon, kTime);
    }
    const auto text = text_of(file());
    EXPECT_EQ(text.find("secret"), std::string::npos) << text;
    EXPECT_EQ(text.find("next"), std::string::npos) << text;
    EXPECT_EQ(std::ranges::count(text, '\n'), 4);
}

TEST_F(RawLogTest, ALostBeginningOfAConnectionHidesSecretsToo) {
    const std::string cut =
        std::string{
            "8=FIX.4.4\x01"
            "9=9000\x01"
            "35=B\x01"
            "354=8000\x01"
            "355="} +
        std::string(2500, 'x');
    {
        RawLog log{{.file = file(), .ring_bytes = 4096, .interval = std::chrono::milliseconds{1}}};
        log.on_bytes(kSession, Direction::in, cut, kTime);
        const auto lost = [&] { return log.counters().lost_pieces.read(); };
        for (int i = 0; i < 100'000 && lost() == 0; ++i) log.on_connect(std::string(1500, 'n'));
        log.on_connect(kSession);
        while (!log.counters().written_bytes.read()) std::this_thread::yield();
        const auto before = log.counters().pieces.read();
        while (log.counters().pieces.read() == before) {
            log.on_bytes(kSession, Direction::in,
                         "8=FIX.4.4\x01"
                         "35=A\x01"
                         "554=secret\x01",
                         kTime);
        }
    }
    EXPECT_EQ(text_of(file()).find("secret"), std::string::npos);
}

TEST_F(RawLogTest, FurtherSecretsAreHiddenFromTheCallOnAlsoInTheMiddleOfAValue) {
    {
        RawLog log{{.file = file()}};
        log.on_bytes(kSession, Direction::in,
                     "8=FIX.4.4\x01"
                     "9=9\x01"
                     "35=A\x01"
                     "9407=open",
                     kTime);
        while (log.counters().written_bytes.read() == 0) std::this_thread::yield();
        log.hide_too(fix::SecretTags{{9407}});
        log.on_bytes(kSession, Direction::in, "key\x01", kTime);
        log.on_bytes(kSession, Direction::out,
                     "8=FIX.4.4\x01"
                     "9=9\x01"
                     "35=A\x01"
                     "9407=key\x01",
                     kTime);
    }
    const auto text = text_of(file());
    EXPECT_EQ(text.find("key"), std::string::npos) << text;
    EXPECT_NE(text.find("9407=open\n"), std::string::npos) << text;
    EXPECT_NE(text.find(" ***\x01\n"), std::string::npos) << text;
    EXPECT_NE(text.find("9407=***\x01\n"), std::string::npos) << text;
}

TEST_F(RawLogTest, AFullFileIsRenamedAndSoIsAFileOfAnotherKind) {
    std::ofstream{file()} << "of an earlier run";
    {
        RawLog log{{.file = file(), .rotate_bytes = 1}};
        log.on_bytes("S", Direction::in, "first", kTime);
        while (log.counters().rotations.read() == 0) std::this_thread::yield();
        log.on_bytes("S", Direction::in, "second", kTime);
    }
    EXPECT_EQ(text_of(file().string() + ".1"), "of an earlier run");
    EXPECT_NE(text_of(file().string() + ".2").find("first"), std::string::npos);
    EXPECT_NE(text_of(file().string() + ".3").find("second"), std::string::npos);
}

/// The file's contents, decompressed.
std::string contents_of(const std::filesystem::path& path) {
    files::FileContents contents{path};
    std::string text;
    for (auto bytes = contents.next(); !bytes.empty(); bytes = contents.next()) {
        text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return text;
}

TEST_F(RawLogTest, FullFilesAreCompressedWithTheirModeAndHideTheirSecrets) {
    if (!files::can_pack()) GTEST_SKIP() << "this build has no zstd";
    std::ofstream{file().string() + ".3"} << "plain, from a process that was killed";
    std::ofstream{file().string() + ".3.zst.part"} << "what it had written";
    std::ofstream{file().string() + ".2.zst"} << "of an earlier run";
    {
        RawLog log{{.file = file(), .rotate_bytes = 1, .compress = true, .file_mode = 0600}};
        while (log.counters().compressed.read() == 0) std::this_thread::yield();
        log.on_bytes(kSession, Direction::in,
                     "8=FIX.4.4\x01"
                     "9=20\x01"
                     "35=A\x01"
                     "554=secret\x01",
                     kTime);
        while (log.counters().compressed.read() == 1) std::this_thread::yield();
        EXPECT_EQ(log.counters().compress_failures.read(), 0U);
    }
    EXPECT_EQ(contents_of(file().string() + ".3.zst"), "plain, from a process that was killed");
    EXPECT_EQ(text_of(file().string() + ".2.zst"), "of an earlier run");
    const auto newest = file().string() + ".4.zst";
    EXPECT_EQ(contents_of(newest),
              "20240102-03:04:05.123456789 < FIX.4.4:HOUSE->CLIENT "
              "8=FIX.4.4\x01"
              "9=20\x01"
              "35=A\x01"
              "554=******\x01"
              "\n");
    EXPECT_EQ(std::filesystem::status(newest).permissions(), std::filesystem::perms{0600});
    for (const auto* gone : {".3", ".3.zst.part", ".4", ".4.zst.part"}) {
        EXPECT_FALSE(std::filesystem::exists(file().string() + gone)) << gone;
    }
}

TEST_F(RawLogTest, AFileThatIsOldIsFullAndOnlyTheNewestStay) {
    RawLog log{{.file = file(), .rotate_after = std::chrono::nanoseconds{1}, .keep = 2}};
    for (std::uint64_t i = 1; i <= 5; ++i) {
        log.on_bytes("S", Direction::in, std::to_string(i), kTime);
        while (log.counters().rotations.read() < i) std::this_thread::yield();
    }
    const auto numbers = [&] { return core::RotatedFile{file()}.renamed(); };
    while (numbers().size() > 2) std::this_thread::yield();
    EXPECT_EQ(numbers(), (std::set<std::uint64_t>{4, 5}));
    EXPECT_NE(text_of(file().string() + ".5").find(" 5\n"), std::string::npos);
}

TEST_F(RawLogTest, AFileThatCannotBeCompressedStaysAndIsCounted) {
    if (!files::can_pack()) GTEST_SKIP() << "this build has no zstd";
    // A folder has the name of the compressed file.
    std::filesystem::create_directories(file().string() + ".1.zst/x");
    {
        std::ofstream{file().string() + ".1"} << "text";
        RawLog log{{.file = file(), .compress = true}};
        while (log.counters().compress_failures.read() == 0) std::this_thread::yield();
    }
    EXPECT_EQ(text_of(file().string() + ".1"), "text");
    EXPECT_FALSE(std::filesystem::exists(file().string() + ".1.zst.part"));
}

TEST_F(RawLogTest, ADeathDuringCompressionLeavesThePlainFileOrTheWholeCompressedOne) {
    if (!files::can_pack()) GTEST_SKIP() << "this build has no zstd";
    const auto path = file().string() + ".1";
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919) + '\n';
    for (int round = 0; round < 30; ++round) {
        for (const auto* end : {"", ".zst", ".zst.part"}) std::filesystem::remove(path + end);
        std::ofstream{path} << text;
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const auto child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const std::atomic<bool> stop{false};
            static_cast<void>(::write(ends[1], "x", 1));
            static_cast<void>(files::pack_file(path, 0640, stop));
            _exit(0);
        }
        char started = 0;
        ASSERT_EQ(::read(ends[0], &started, 1), 1);
        const auto end = core::monotonic_nanos() + round * 500'000;
        while (core::monotonic_nanos() < end) std::this_thread::yield();
        kill(child, SIGKILL);
        ASSERT_EQ(waitpid(child, nullptr, 0), child);
        close(ends[0]), close(ends[1]);
        if (std::filesystem::exists(path + ".zst")) {
            ASSERT_EQ(contents_of(path + ".zst"), text);
        } else {
            ASSERT_EQ(text_of(path), text);
        }
        // The next log completes it.
        const std::atomic<bool> stop{false};
        if (std::filesystem::exists(path)) {
            ASSERT_FALSE(files::pack_file(path, 0640, stop));
        }
        ASSERT_EQ(contents_of(path + ".zst"), text);
        ASSERT_FALSE(std::filesystem::exists(path) || std::filesystem::exists(path + ".zst.part"));
    }
}

TEST_F(RawLogTest, AFullDiskIsCountedAndHarmsNoSession) {
    RawLog log{{.file = "/dev/full"}};
    log.on_bytes("S", Direction::in, "bytes", kTime);
    while (log.counters().failed_bytes.read() == 0) std::this_thread::yield();
    EXPECT_EQ(log.counters().written_bytes.read(), 0U);
    EXPECT_EQ(log.counters().pieces.read(), 1U);
}

TEST_F(RawLogTest, BytesThatCouldNotBeWrittenAreReportedOnceTheDiskHasSpaceAgain) {
    struct rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    auto small = before;
    small.rlim_cur = 60;
    {
        const std::chrono::milliseconds interval{1};
        RawLog log{{.file = file(), .interval = interval}};
        log.on_bytes("S", Direction::in, "first", kTime);
        while (log.counters().written_bytes.read() == 0) std::this_thread::yield();
        setrlimit(RLIMIT_FSIZE, &small);
        log.on_bytes("S", Direction::in, "second", kTime);
        while (log.counters().failed_bytes.read() == 0) std::this_thread::yield();
        setrlimit(RLIMIT_FSIZE, &before);
        std::this_thread::sleep_for(20 * interval);  // rounds without output keep the count of losses
        log.on_bytes("S", Direction::in, "third", kTime);
    }
    EXPECT_EQ(text_of(file()),
              "20240102-03:04:05.123456789 < S first\n"
              "# lost: 39 bytes that could not be written\n"
              "20240102-03:04:05.123456789 < S third\n");
}

/// Makes the process open files as another user and group during its lifetime.
class OtherUser {
public:
    OtherUser() : became_(setegid(kId) == 0 && seteuid(kId) == 0) {}
    OtherUser(const OtherUser&) = delete;
    OtherUser& operator=(const OtherUser&) = delete;
    ~OtherUser() {
        static_cast<void>(seteuid(getuid()));
        static_cast<void>(setegid(getgid()));
    }
    static constexpr unsigned kId = 65534;
    [[nodiscard]] bool became() const { return became_; }

private:
    bool became_;
};

TEST_F(RawLogTest, TheLogOfAnotherUserIsContinuedWhereItMayBeWrittenAndAnErrorElsewhere) {
    const std::string earlier = "20240102-03:04:05.123456789 < S first\n";
    std::ofstream{file()} << earlier;
    if (chown(file().c_str(), getuid(), OtherUser::kId) != 0) GTEST_SKIP() << "not root";
    std::filesystem::permissions(file().parent_path(), std::filesystem::perms{0755});
    for (const mode_t mode : {0600U, 0640U}) {
        std::filesystem::permissions(file(), std::filesystem::perms{mode});
        const OtherUser other;
        ASSERT_TRUE(other.became());
        try {
            const RawLog log{{.file = file(), .file_mode = mode}};
            FAIL() << std::oct << mode;
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::errc::permission_denied);
            EXPECT_NE(std::string{error.what()}.find("cannot write " + file().string()), std::string::npos);
        }
    }
    EXPECT_EQ(text_of(file()), earlier) << "and it is left as it was";
    std::filesystem::permissions(file(), std::filesystem::perms{0660});
    {
        const OtherUser other;
        RawLog log{{.file = file(), .file_mode = 0660}};
        log.on_bytes("S", Direction::in, "second", kTime);
    }
    EXPECT_EQ(text_of(file()), earlier + "20240102-03:04:05.123456789 < S second\n");
}

TEST_F(RawLogTest, AFileThatCannotBeOpenedIsAnErrorThatNamesIt) {
    try {
        RawLog log{{.file = "/nonexistent/raw.log"}};
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_NE(std::string{error.what()}.find("/nonexistent/raw.log"), std::string::npos);
    }
    EXPECT_THROW((RawLog{{.file = file(), .ring_bytes = 5000}}), std::invalid_argument);
}

TEST_F(RawLogTest, TheIoThreadMakesNoAllocationAndNoSystemCall) {
    RawLog log{{.file = file(), .ring_bytes = 1U << 16U, .interval = std::chrono::hours{1}}};
    const std::string bytes(200, 'x');
    log.on_bytes(kSession, Direction::in, bytes, kTime);
    test::expect_free_of_cost([&] {
        for (int i = 0; i < 1000; ++i) log.on_bytes(kSession, Direction::out, bytes, kTime);
        return true;
    });
    EXPECT_GT(log.counters().lost_pieces.read(), 0U);
}

/// Records direction and MsgType of each message.
class TypesSeen final : public WireTap {
public:
    void on_bytes(std::string_view, Direction direction, std::string_view bytes, std::int64_t) noexcept override {
        constexpr std::string_view kType =
            "\x01"
            "35=";
        for (auto at = bytes.find(kType); at != std::string_view::npos; at = bytes.find(kType, at + 1)) {
            types += direction == Direction::in ? " <" : " >";
            types += bytes[at + kType.size()];
        }
    }
    std::string types;
};

TEST(WireTapTest, EachConnectionIsAnnouncedBeforeItsFirstBytes) {
    class Seen final : public WireTap {
    public:
        void on_connect(std::string_view) noexcept override { events += 'c'; }
        void on_bytes(std::string_view, Direction, std::string_view, std::int64_t) noexcept override {
            if (!events.ends_with('b')) events += 'b';
        }
        std::string events;
    };
    Seen seen;
    EnginePair pair;
    pair.accepted->set_tap(&seen);
    ASSERT_TRUE(pair.log_on());
    EXPECT_EQ(seen.events, "cb");
    pair.accepted->request_logout({});
    ASSERT_TRUE(run_until(pair.io, [&] { return !pair.house.closed.empty(); }));
    pair.accepted->request_logon();
    ASSERT_TRUE(run_until(pair.io, [&] { return seen.events.size() > 2; }));
    EXPECT_TRUE(seen.events.starts_with("cbc")) << seen.events;
    pair.accepted->set_tap(nullptr);
}

TEST(WireTapTest, AMessageIsTappedBeforeItsEffects) {
    TypesSeen seen;
    EnginePair pair;
    pair.house.on_order = [](SessionLink& link, const fix::Message& order) {
        const auto id = order.text(fix::tag::kClOrdId).value_or("");
        EXPECT_TRUE(link.send("8", [&](fix::Writer& writer) { writer.add<fix::tag::kClOrdId>(id); }));
    };
    pair.accepted->set_tap(&seen);
    ASSERT_TRUE(pair.log_on());
    memory::MessagePool<Order> pool{64};
    AsyncSender<Order, OrderEncoder> sender{*pair.initiated, pool};
    ASSERT_EQ(sender.try_send(sender.try_make(Order{1, 1, {}})), Handed::queued);
    ASSERT_TRUE(run_until(pair.io, [&] { return !pair.desk.orders.empty(); }));
    EXPECT_EQ(seen.types, " <A >A <D >8");
    pair.accepted->set_tap(nullptr);
}

}  // namespace
}  // namespace millpond::engine
