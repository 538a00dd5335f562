#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <regex>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/feed/moldudp64_packet.hpp>
#include <millpond/files/itch_file_reader.hpp>
#include <millpond/files/pcap_reader.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "apps/millpond/traffic/generated_source.hpp"
#include "service/time_zone.hpp"
#include "tests/apps/datagrams.hpp"
#include "tests/apps/list_source.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;

struct Generated {
    Outcome outcome;
    std::vector<std::string> datagrams;
};

/// Everything that `generate` sends at full speed with these options.
Generated generate(std::vector<std::string> options) {
    // The buffer holds all datagrams until the program has ended.
    net::UdpReceiver receiver{{.local = net::SocketAddress::parse("127.0.0.1:0"), .receive_buffer = 32U << 20}};
    options.insert(options.begin(), {"generate", "--to", receiver.report().local.to_string(), "--speed", "max"});
    Generated result;
    result.outcome = run(options);
    for (auto datagrams = receiver.poll(); !datagrams.empty(); datagrams = receiver.poll()) {
        for (const auto& each : datagrams)
            result.datagrams.emplace_back(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
    }
    EXPECT_EQ(receiver.refresh_kernel_drops(), 0U);
    return result;
}

TEST(Generate, TheSameSeedGivesTheSameBytesOnTheWireInEveryFormat) {
    for (const std::string format : {"bbo28", "quotes", "miax-tom", "itch", "iex-tops", "iex-deep", "iex-deep-plus"}) {
        const std::vector<std::string> options{"--format", format, "--count", "1000", "--symbols", "20"};
        auto seeded = options;
        seeded.insert(seeded.end(), {"--seed", "2"});
        const auto first = generate(options);
        EXPECT_EQ(first.outcome.exit_code, 0);
        EXPECT_GE(first.datagrams.size(), 1000U);
        EXPECT_THAT(first.outcome.out, HasSubstr("send errors 0"));
        EXPECT_TRUE(generate(options).datagrams == first.datagrams) << format;
        EXPECT_FALSE(generate(seeded).datagrams == first.datagrams) << format;
    }
}

TEST(Generate, ACaptureHoldsTheDatagramsThatAreSent) {
    for (const std::string format : {"bbo28", "quotes", "miax-tom", "itch", "iex-tops", "iex-deep", "iex-deep-plus"}) {
        const std::vector<std::string> options{"--format", format, "--count", "1000", "--symbols", "20"};
        const millpond::test::ScratchFile file{millpond::test::scratch_name("generated.pcap"), ""};
        auto to_file = options;
        to_file.insert(to_file.begin(), {"generate", "--out", file.path()});
        const auto outcome = run(to_file);
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        files::PcapReader reader{file.path()};
        files::CapturedDatagram datagram;
        std::vector<std::string> payloads;
        std::int64_t latest_ns = 0;
        while (reader.next(datagram)) {
            payloads.emplace_back(reinterpret_cast<const char*>(datagram.payload.data()), datagram.payload.size());
            EXPECT_GE(datagram.utc_ns, latest_ns);
            latest_ns = datagram.utc_ns;
        }
        EXPECT_EQ(reader.error(), "");
        EXPECT_TRUE(payloads == generate(options).datagrams) << format;
    }
}

TEST(Generate, AnItchFileHoldsTheMessagesOfTheCapture) {
    const millpond::test::ScratchFile file{millpond::test::scratch_name("generated.itch"), ""};
    const millpond::test::ScratchFile capture{millpond::test::scratch_name("same.pcap"), ""};
    for (const auto& path : {file.path(), capture.path()}) {
        const auto outcome = run({"generate", "--out", path, "--format", "itch", "--count", "5000"});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }
    std::vector<std::string> expected;
    const auto keep = [](std::vector<std::string>& to) {
        return [&to](std::span<const std::byte> bytes) {
            to.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        };
    };
    files::PcapReader datagrams{capture.path()};
    files::CapturedDatagram datagram;
    while (datagrams.next(datagram)) EXPECT_FALSE(feed::MoldUdp64Packet::read(datagram.payload, keep(expected)).error);
    files::ItchFileReader reader{file.path()};
    std::vector<std::string> messages;
    std::span<const std::byte> message;
    while (reader.next(message)) keep(messages)(message);
    EXPECT_EQ(reader.error(), "");
    EXPECT_GE(messages.size(), 5'000U);
    EXPECT_TRUE(messages == expected);
}

TEST(Generate, AFileNeedsAnEndAndKeepsWhatWasThereWhenItCannotBeWritten) {
    EXPECT_THAT(run({"generate", "--out", "x.pcap"}).err, HasSubstr("a file must be finite"));
    EXPECT_THAT(run({"generate"}).err, HasSubstr("give either --to ADDRESS:PORT or --out FILE"));
    EXPECT_THAT(run({"generate", "--out", "x.itch", "--count", "1"}).err, HasSubstr("add --format itch"));
    EXPECT_THAT(run({"generate", "--out", "x.pcap", "--count", "1", "--drop", "0.5"}).err, HasSubstr("--drop"));
    const auto outcome = run({"generate", "--out", "/dev/full/x.pcap", "--count", "1"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("cannot write '/dev/full/x.pcap'"));
}

TEST(Generate, PrintsExactlyTheFaultsThatItPlanted) {
    const auto clean = generate({"--count", "5000"});
    const auto faulty = generate({"--count", "5000", "--drop", "0.02", "--duplicate", "0.02", "--swap", "0.02"});
    std::smatch planted;
    const std::regex line{
        "injected faults: dropped (\\d+) datagrams \\((\\d+) messages\\), duplicated (\\d+) .*swapped (\\d+) "};
    ASSERT_TRUE(std::regex_search(faulty.outcome.out, planted, line)) << faulty.outcome.out;
    const auto dropped = std::stoul(planted[1]);
    const auto duplicated = std::stoul(planted[3]);
    EXPECT_GT(dropped, 0U);
    EXPECT_GT(duplicated, 0U);
    EXPECT_GT(std::stoul(planted[4]), 0U);
    EXPECT_EQ(planted[1], planted[2]);
    EXPECT_EQ(faulty.datagrams.size(), clean.datagrams.size() - dropped + duplicated);
    EXPECT_THAT(faulty.outcome.out,
                HasSubstr("sent " + std::to_string(clean.datagrams.size() - dropped + duplicated) + " datagrams"));
}

TEST(Generate, CtrlCEndsAnEndlessFeedWithASummary) {
    net::UdpReceiver receiver{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
    Program program{{"generate", "--to", receiver.report().local.to_string(), "--live", "--rate", "1000"}};
    ASSERT_GE(receive(receiver, 10).size(), 10U);
    program.signal(SIGINT);
    const auto outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr(", stopped by a signal"));
}

TEST(Generate, LiveItchCountsItsTimesFromTheMidnightThatAFeedExpects) {
    constexpr std::int64_t kHour = 3'600'000'000'000;
    for (const std::string zone : {"America/New_York", "Asia/Tokyo"}) {
        std::vector<std::string> options{"--format", "itch", "--live", "--count", "1"};
        if (zone != "America/New_York") options.insert(options.end(), {"--timezone", zone});
        const auto generated = generate(options);
        ASSERT_EQ(generated.outcome.exit_code, 0) << generated.outcome.err;
        const auto* const message = reinterpret_cast<const std::byte*>(generated.datagrams.at(0).data()) + 22;
        const auto now = core::utc_nanos();
        const auto expected = now - service::midnight_utc_ns(zone, "", now);
        const auto distance = (expected - feed::itch_layout::load_time(message) + 24 * kHour) % (24 * kHour);
        EXPECT_LT(distance, kHour) << zone;
    }
    const auto wrong = run({"generate", "--to", "127.0.0.1:9", "--format", "itch", "--live", "--timezone", "Mars"});
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("--timezone: 'Mars' is not in the zone database"));
}

TEST(Generate, MisuseIsTwoAndNamesTheOption) {
    const auto format = run({"generate", "--to", "127.0.0.1:9", "--format", "fix"});
    EXPECT_EQ(format.exit_code, 2);
    EXPECT_THAT(
        format.err,
        HasSubstr("--format: 'fix' is not one of bbo28, quotes, miax-tom, itch, iex-tops, iex-deep, iex-deep-plus"));
    const auto fraction = run({"generate", "--to", "127.0.0.1:9", "--count", "1", "--drop", "1.5"});
    EXPECT_EQ(fraction.exit_code, 2);
    EXPECT_THAT(fraction.err, HasSubstr("--drop: expects a number from 0 to 1, found '1.5'"));
    EXPECT_EQ(run({"generate", "--to", "127.0.0.1:9", "--symbols", "0"}).exit_code, 2);
}

/// Writes ten changes with `generate --out`.
Outcome generate_to(const std::string& path) { return run({"generate", "--quiet", "--count", "10", "--out", path}); }

TEST(Generate, ADeviceIsWrittenAndNotReplaced) {
    const auto full = ::testing::TempDir() + test::scratch_name("full");
    std::filesystem::create_symlink("/dev/full", full);
    const auto outcome = generate_to(full);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("cannot write '" + full + "': No space left on device"));
    EXPECT_TRUE(std::filesystem::is_symlink(full) && std::filesystem::is_character_file(full));
    std::filesystem::remove(full);
}

TEST(Generate, APipeGetsTheCaptureAndStaysAPipe) {
    const auto pipe = ::testing::TempDir() + test::scratch_name("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    EXPECT_EQ(generate_to(pipe).exit_code, 0);
    std::array<char, 4> magic{};
    EXPECT_EQ(read(reader, magic.data(), magic.size()), 4);
    EXPECT_EQ(std::string(magic.data(), 4), std::string("\x4d\x3c\xb2\xa1", 4)) << "pcap, nanoseconds";
    close(reader);
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
    std::filesystem::remove(pipe);
}

TEST(Generate, ALinkStaysAndItsFileIsReplaced) {
    const test::ScratchFile file{test::scratch_name("target.pcap"), "old"};
    const auto link = ::testing::TempDir() + test::scratch_name("link.pcap");
    std::filesystem::create_symlink(file.path(), link);
    EXPECT_EQ(generate_to(link).exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_GT(std::filesystem::file_size(file.path()), 100U);
    EXPECT_FALSE(std::filesystem::exists(file.path() + ".part"));
    std::filesystem::remove(link);
}

}  // namespace
}  // namespace millpond::app
