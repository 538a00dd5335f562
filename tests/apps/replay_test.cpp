#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <millpond/files/pcap_reader.hpp>
#include <millpond/files/pcap_writer.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "apps/millpond/traffic/itch_source.hpp"
#include "tests/apps/datagrams.hpp"
#include "tests/apps/list_source.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string capture() {
    const char* folder = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): one thread
    return folder == nullptr ? std::string{}
                             : (std::filesystem::path(folder) / "Miax.Tom.Mach.v1.9.Example.pcap").string();
}

std::vector<std::string> payloads(const std::string& file) {
    files::PcapReader reader{file};
    std::vector<std::string> texts;
    files::CapturedDatagram datagram;
    while (reader.next(datagram))
        texts.emplace_back(reinterpret_cast<const char*>(datagram.payload.data()), datagram.payload.size());
    return texts;
}

TEST(Replay, DeliversEveryDatagramOfARealCaptureUnchanged) {
    const auto file = capture();
    if (file.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA is not set";
    constexpr std::size_t kBuffer = 64U << 20;  // holds the whole capture, in case the test is slower than the program
    net::UdpReceiver receiver{{.local = net::SocketAddress::parse("127.0.0.1:0"), .receive_buffer = kBuffer}};
    if (receiver.report().receive_buffer < kBuffer) GTEST_SKIP() << receiver.report().fallbacks.front();
    Program program{{"replay", file, "--to", receiver.report().local.to_string(), "--speed", "max"}};
    const auto expected = payloads(file);
    EXPECT_TRUE(receive(receiver, expected.size()) == expected);
    const auto outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("sent 20560 datagrams, 1425216 bytes to "));
    EXPECT_THAT(outcome.out, HasSubstr("send errors 0"));
    EXPECT_EQ(receiver.counters().truncated.read(), 0U);
    EXPECT_EQ(receiver.refresh_kernel_drops(), 0U);
}

TEST(Replay, ACompressedFileSendsWhatThePlainOneDoesUntilItsDamage) {
    constexpr int kQuotes = 2'000;
    for (const std::string ending : {"pcap", "itch"}) {
        const millpond::test::ScratchFile file{millpond::test::scratch_name("packed." + ending), ""};
        ASSERT_EQ(
            run({"generate", "--out", file.path(), "--format", "itch", "--count", std::to_string(kQuotes)}).exit_code,
            0);
        const auto sent_of = [](const std::string& path) {
            net::UdpReceiver receiver{{.local = net::SocketAddress::parse("127.0.0.1:0"), .receive_buffer = 16U << 20}};
            std::vector<std::string> arguments{"replay",  path,  "--to",   receiver.report().local.to_string(),
                                               "--speed", "max", "--quiet"};
            if (path.find(".itch") != std::string::npos) arguments.insert(arguments.end(), {"--session", "PACKED"});
            auto outcome = run(arguments);
            std::vector<std::string> texts;
            for (auto datagrams = receiver.poll(); !datagrams.empty(); datagrams = receiver.poll()) {
                for (const auto& each : datagrams)
                    texts.emplace_back(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
            }
            return std::pair{std::move(outcome), std::move(texts)};
        };
        const auto plain = sent_of(file.path());
        ASSERT_EQ(plain.first.exit_code, 0) << plain.first.err;
        const auto packed = file.path() + ".gz";
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
        ASSERT_EQ(std::system(("gzip -c '" + file.path() + "' > '" + packed + "'").c_str()), 0);
        const auto whole = sent_of(packed);
        EXPECT_EQ(whole.first.exit_code, 0) << whole.first.err;
        EXPECT_TRUE(whole.second == plain.second) << ending;

        std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
        const auto cut = sent_of(packed);
        std::filesystem::remove(packed);
        EXPECT_EQ(cut.first.exit_code, 1);
        EXPECT_THAT(cut.first.err, HasSubstr("the file ends within its compressed data"));
        ASSERT_GT(cut.second.size(), 100U);
        ASSERT_LT(cut.second.size(), plain.second.size());
        EXPECT_TRUE(std::equal(cut.second.begin(), cut.second.end() - 1, plain.second.begin())) << ending;
    }
}

TEST(Replay, SendsAnItchFileAsOneSessionWhichItEnds) {
    const char* folder = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): one thread
    if (folder == nullptr) GTEST_SKIP() << "MILLPOND_TEST_DATA is not set";
    const auto file = (std::filesystem::path(folder) / "aapl_20200130_first10k.itch").string();
    constexpr std::size_t kBuffer = 64U << 20;
    net::UdpReceiver receiver{{.local = net::SocketAddress::parse("127.0.0.1:0"), .receive_buffer = kBuffer}};
    if (receiver.report().receive_buffer < kBuffer) GTEST_SKIP() << receiver.report().fallbacks.front();
    const auto outcome = run({"replay", file, "--to", receiver.report().local.to_string(), "--speed", "max",
                              "--session", "REPLAY", "--quiet"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("(10000 messages)"));
    traffic::ItchSource source{file, {.session = "REPLAY01", .heartbeat_ns = 0}};
    const auto expected = traffic::test::texts_of(source);
    EXPECT_TRUE(receive(receiver, expected.size()) == expected);
}

TEST(Replay, CtrlCEndsALoopWithASummary) {
    const auto file = capture();
    if (file.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA is not set";
    net::UdpReceiver receiver{{.local = net::SocketAddress::parse("127.0.0.1:0")}};
    Program program{{"replay", file, "--to", receiver.report().local.to_string(), "--loop"}};
    ASSERT_GE(receive(receiver, 1).size(), 1U);
    program.signal(SIGINT);
    const auto outcome = program.wait();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr(", stopped by a signal"));
}

// The file has a system event, an empty record, and another system event.
TEST(Replay, ARecordOfNoBytesInTheMiddleIsAnErrorWithThePlace) {
    std::string event(14, '\0');
    event[1] = 12;
    event[2] = 'S';
    event[13] = 'O';
    const test::ScratchFile file{test::scratch_name("gap.itch"), event + std::string(2, '\0') + event};
    const auto outcome = run({"replay", file.path(), "--to", "127.0.0.1:9", "--speed", "max", "--quiet"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("message 2 at byte 14: a message of no bytes, and more after it"));
    const test::ScratchFile whole{test::scratch_name("end.itch"), event + std::string(2, '\0')};
    EXPECT_EQ(run({"replay", whole.path(), "--to", "127.0.0.1:9", "--speed", "max", "--quiet"}).exit_code, 0);
}

TEST(Replay, ACaptureOfSeveralAddressesNamesThem) {
    std::string text;
    files::append_pcap_header(text);
    for (const auto* const to : {"239.1.1.1:5000", "239.1.1.2:5001", "239.1.1.1:5000"}) {
        ASSERT_TRUE(files::append_pcap_datagram(
            text, {1, net::SocketAddress::parse("10.0.0.1:1"), net::SocketAddress::parse(to), {}}));
    }
    const test::ScratchFile file{test::scratch_name("two.pcap"), text};
    const std::vector<std::string> send{"replay", file.path(), "--to", "127.0.0.1:9", "--speed", "max", "--quiet"};
    EXPECT_THAT(run(send).out, HasSubstr("sent to one; --only ADDRESS:PORT chooses among 239.1.1.1:5000, "
                                         "239.1.1.2:5001\n"));
    auto chosen = send;
    chosen.insert(chosen.end(), {"--only", "239.1.1.1:5000"});
    EXPECT_THAT(run(chosen).out, Not(HasSubstr("sent to one")));
}

TEST(Replay, ACaptureOfWhichNothingCanBeSentIsAnErrorThatSaysWhatItHolds) {
    std::string nothing;
    files::append_pcap_header(nothing);
    auto tunnels = nothing;
    auto elsewhere = nothing;
    std::string inner(8 + 14, '\0');
    inner[0] = 8;  // VXLAN: the network identifier is valid
    const auto from = net::SocketAddress::parse("10.0.0.1:1");
    const auto bytes = std::as_bytes(std::span{inner});
    ASSERT_TRUE(files::append_pcap_datagram(tunnels, {1, from, net::SocketAddress::parse("10.0.0.2:4789"), bytes}));
    ASSERT_TRUE(files::append_pcap_datagram(elsewhere, {1, from, net::SocketAddress::parse("10.0.0.2:5000"), bytes}));
    const auto outcome_of = [](const std::string& contents) {
        const test::ScratchFile file{test::scratch_name("nothing.pcap"), contents};
        return run({"replay", file.path(), "--to", "127.0.0.1:9", "--only", "10.0.0.2:5001", "--speed", "max", "--loop",
                    "--quiet"});
    };
    auto outcome = outcome_of(nothing);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err,
                HasSubstr("nothing.pcap': no UDP datagram that can be read: 0 frames, 0 datagrams; times: capture\n"));
    outcome = outcome_of(tunnels);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(
        outcome.err,
        HasSubstr("nothing.pcap': no UDP datagram that can be read: 1 frames, 0 datagrams, not IP 1, in VXLAN 1; "));
    EXPECT_THAT(outcome.out, HasSubstr("in VXLAN 1;"));
    outcome = outcome_of(elsewhere);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("nothing.pcap': none of its 1 datagrams is to 10.0.0.2:5001\n"));
}

TEST(Replay, AFileThatIsNoCaptureIsRefusedByName) {
    const auto outcome = run({"replay", MILLPOND_PROGRAM, "--to", "127.0.0.1:9"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("neither a journal, a capture (pcap, pcapng) nor a file of ITCH messages"));
}

TEST(Replay, MisuseIsTwoAndNamesTheOption) {
    EXPECT_EQ(run({"replay", "x.pcap"}).exit_code, 2);
    const auto address = run({"replay", "x.pcap", "--to", "localhost:1"});
    EXPECT_EQ(address.exit_code, 2);
    EXPECT_THAT(address.err, HasSubstr("--to: address 'localhost:1'"));
    const auto speed = run({"replay", "x.pcap", "--to", "127.0.0.1:9", "--speed", "fast"});
    EXPECT_EQ(speed.exit_code, 2);
    EXPECT_THAT(speed.err, HasSubstr("--speed: expects 'max' or a number from 0.001 to 1000000, found 'fast'"));
}

}  // namespace
}  // namespace millpond::app
