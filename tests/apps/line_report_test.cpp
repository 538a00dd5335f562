#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/files/pcap_writer.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/traffic/line_report.hpp"
#include "tests/apps/program.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::traffic {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Reads "SESSION FIRST COUNT ...".
std::optional<LineReport::Numbers> read_numbers(std::span<const std::byte> datagram) {
    std::string_view text{reinterpret_cast<const char*>(datagram.data()), datagram.size()};
    const auto next = [&] {
        const auto word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        return word;
    };
    LineReport::Numbers numbers{.session = feed::SessionName{next()}};
    const auto first = next();
    const auto count = next();
    if (count.empty()) return std::nullopt;
    std::from_chars(first.data(), first.data() + first.size(), numbers.first);
    std::from_chars(count.data(), count.data() + count.size(), numbers.count);
    return numbers;
}

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

class Capture {
public:
    Capture& add(const char* to, std::int64_t after_ns, std::string_view payload, std::uint32_t interface = 0) {
        report_.add({kStart + after_ns, net::SocketAddress::parse("10.0.0.1:1"), net::SocketAddress::parse(to),
                     std::as_bytes(std::span{payload}), interface});
        return *this;
    }
    [[nodiscard]] std::string text(std::size_t gaps = 20) const { return report_.text(gaps); }

private:
    LineReport report_{read_numbers};
};

constexpr const char* kA = "239.1.1.1:5000";
constexpr const char* kB = "239.1.2.1:5000";

TEST(LineReport, SaysWhichLineWasFirstAndByHowMuch) {
    Capture capture;
    for (int i = 0; i < 100; ++i) {
        const auto datagram = "S " + std::to_string(i + 1) + " 1";
        const bool a_first = i < 75;
        const auto lead = a_first ? 1'000 + i : 5'000;
        capture.add(a_first ? kA : kB, i * 1'000'000, datagram).add(a_first ? kB : kA, i * 1'000'000 + lead, datagram);
    }
    const auto text = capture.text();
    EXPECT_THAT(text, HasSubstr("239.1.1.1:5000 and 239.1.2.1:5000: 100 equal datagrams\n"));
    EXPECT_THAT(text, HasSubstr("  239.1.1.1:5000 was first in 75.0 %, by p50 1.04 us, p99 1.07 us\n"));
    EXPECT_THAT(text, HasSubstr("  239.1.2.1:5000 was first in 25.0 %, by p50 5.00 us, p99 5.00 us\n"));
    EXPECT_THAT(text, HasSubstr("session S: messages 1 to 100, 100 received in 100 datagrams; gaps 0, duplicates 0, "
                                "reordered 0\n"));
    EXPECT_THAT(text, Not(HasSubstr("filled")));
}

TEST(LineReport, SaysWhichLineFilledEachGap) {
    Capture capture;
    // A lacks 2, 4 to 5 and 8; B lacks 5, 6 and 8.
    for (const char* datagram : {"S 1 1", "S 3 1", "S 6 1", "S 7 1", "S 9 1"}) capture.add(kA, 1'000'000'000, datagram);
    for (const char* datagram : {"S 1 1", "S 2 1", "S 3 2", "S 7 1", "S 9 1"}) capture.add(kB, 2'000'000'000, datagram);
    const auto text = capture.text();
    const std::string a = "239.1.1.1:5000, session S: gap ";
    EXPECT_THAT(text, HasSubstr(a + "2 before 2023-11-14T22:13:21.000000000, filled by 239.1.2.1:5000\n"));
    EXPECT_THAT(text, HasSubstr(a + "4 to 5 (2 messages) before 2023-11-14T22:13:21.000000000, filled in part by "
                                    "239.1.2.1:5000 (1 messages)\n"));
    EXPECT_THAT(text, HasSubstr(a + "8 before 2023-11-14T22:13:21.000000000, filled by no line\n"));
    EXPECT_THAT(text, HasSubstr("239.1.2.1:5000, session S: gap 5 to 6 (2 messages) before "
                                "2023-11-14T22:13:22.000000000, filled in part by 239.1.1.1:5000 (1 messages)\n"));
    EXPECT_THAT(text, HasSubstr("gaps 3 (4 messages)"));
    EXPECT_THAT(capture.text(1), HasSubstr("239.1.1.1:5000, session S: 2 more gaps\n"));
}

TEST(LineReport, LinesWithoutAnEqualDatagramAreOfOtherFeedsAndFillNothing) {
    Capture capture;
    capture.add(kA, 0, "S 1 1 a").add(kA, 1, "S 3 1 a");
    capture.add(kB, 0, "S 1 1 b").add(kB, 1, "S 2 1 b").add(kB, 2, "S 3 1 b");
    EXPECT_THAT(capture.text(), HasSubstr("gap 2 before 2023-11-14T22:13:20.000000001, filled by no line\n"));
    EXPECT_THAT(capture.text(), Not(HasSubstr("equal datagrams")));
}

TEST(LineReport, ReorderedDatagramsCloseGapsAndCopiesAreDuplicates) {
    Capture capture;
    for (const char* datagram : {"S 1 2", "S 5 2", "S 3 2", "S 3 2", "S 9 1", "S 7 3"}) capture.add(kA, 0, datagram);
    EXPECT_THAT(capture.text(), HasSubstr("messages 1 to 9, 9 received in 6 datagrams; gaps 0, duplicates 1, "
                                          "reordered 2\n"));
    Capture begins_late;
    for (const char* datagram : {"S 5 1", "S 3 1"}) begins_late.add(kA, 0, datagram);
    EXPECT_THAT(begins_late.text(), HasSubstr("messages 3 to 5, 2 received in 2 datagrams; gaps 1 (1 messages)"));
}

TEST(LineReport, AHeartbeatShowsALossAtTheEnd) {
    Capture capture;
    for (const char* datagram : {"S 1 1", "S 2 0", "S 4 0", "S 4 0"}) capture.add(kA, 0, datagram);
    EXPECT_THAT(capture.text(), HasSubstr("messages 1 to 3, 1 received in 1 datagrams; gaps 1 (2 messages)"));
}

TEST(LineReport, AnAddressOnTwoInterfacesIsTwoLines) {
    Capture capture;
    capture.add(kA, 0, "S 1 1").add(kA, 700, "S 1 1", 1).add(kA, 800, "no numbers", 1);
    const auto text = capture.text();
    EXPECT_THAT(text, HasSubstr("239.1.1.1:5000 on interface 0 was first in 100.0 %, by p50 700 ns"));
    EXPECT_THAT(text, HasSubstr("239.1.1.1:5000 on interface 1\n  2 datagrams, 15 bytes in 0.000 s"));
    EXPECT_THAT(text, HasSubstr("  datagrams without numbers: 1\n"));
}

/// A random capture of two lines against a model that remembers every message.
TEST(LineReport, EqualsANaiveModelOnRandomLosses) {
    std::uint64_t state = 1;
    const auto random = [&](std::uint64_t below) {
        state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        return (state >> 33U) % below;
    };
    for (int round = 0; round < 200; ++round) {
        std::vector<std::string> sent;
        std::vector<bool> has(64, false);
        for (std::uint64_t first = 1; first < 60;) {
            const auto count = 1 + random(3);
            sent.push_back("S " + std::to_string(first) + " " + std::to_string(count));
            first += count;
        }
        Capture capture;
        std::uint64_t received = 0;
        std::uint64_t end = 0;
        std::uint64_t begin = 64;
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (i + 1 < sent.size() && random(4) == 0) std::swap(sent[i], sent[i + 1]);
            if (random(4) == 0) continue;
            const auto numbers = *read_numbers(std::as_bytes(std::span{sent[i]}));
            for (auto n = numbers.first; n < numbers.first + numbers.count; ++n) {
                received += has[n] ? 0U : 1U;
                has[n] = true;
            }
            begin = std::min(begin, numbers.first);
            end = std::max(end, numbers.first + numbers.count);
            capture.add(kA, static_cast<std::int64_t>(i), sent[i]);
        }
        if (end == 0) continue;
        std::uint64_t gaps = 0;
        for (auto n = begin; n < end; ++n) gaps += !has[n] && has[n - 1] ? 1U : 0U;
        const auto expected = "messages " + std::to_string(begin) + " to " + std::to_string(end - 1) + ", " +
                              std::to_string(received) + " received";
        const auto text = capture.text();
        ASSERT_THAT(text, HasSubstr(expected)) << round;
        ASSERT_THAT(text, HasSubstr("; gaps " + std::to_string(gaps))) << round;
    }
}

/// A MoldUDP64 datagram with system events, whose session is "0000000001".
std::string mold(std::uint64_t first, std::uint16_t count) {
    std::string text = "0000000001" + std::string(10, '\0');
    auto* const bytes = reinterpret_cast<std::byte*>(text.data());
    core::store_be(bytes + 10, first);
    core::store_be(bytes + 18, count);
    for (int i = 0; i < count; ++i) text += std::string("\0\x0cS\0\0\0\0\0\0\0\0\0\0Q", 14);
    return text;
}

TEST(CaptureReport, DetectsTheFormatAndReportsBothLines) {
    std::string capture;
    files::append_pcap_header(capture);
    const auto add = [&](const char* to, std::int64_t after_ns, const std::string& payload) {
        ASSERT_TRUE(
            files::append_pcap_datagram(capture, {kStart + after_ns, net::SocketAddress::parse("10.0.0.1:1"),
                                                  net::SocketAddress::parse(to), std::as_bytes(std::span{payload})}));
    };
    for (std::uint64_t i = 0; i < 10; ++i) {
        if (i != 4) add(kA, static_cast<std::int64_t>(i) * 1'000, mold(1 + 2 * i, 2));
        add(kB, static_cast<std::int64_t>(i) * 1'000 + 250, mold(1 + 2 * i, 2));
    }
    const test::ScratchFile file{test::scratch_name("lines.pcap"), capture};
    const auto outcome = app::run({"capture-report", file.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("19 frames, 19 datagrams; times: capture; format: itch\n"));
    EXPECT_THAT(outcome.out, HasSubstr("239.1.1.1:5000 was first in 100.0 %, by p50 250 ns, p99 250 ns\n"));
    EXPECT_THAT(outcome.out, HasSubstr("239.1.1.1:5000, session 0000000001: gap 9 to 10 (2 messages) before "
                                       "2023-11-14T22:13:20.000005000, filled by 239.1.2.1:5000\n"));
    const auto replayed =
        app::run({"replay", file.path(), "--to", "127.0.0.1:9", "--speed", "max", "--quiet", "--report"});
    EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
    EXPECT_THAT(replayed.out, HasSubstr("filled by 239.1.2.1:5000\n"));
    EXPECT_THAT(replayed.out, HasSubstr("sent 19 datagrams"));
    const auto refused = app::run({"capture-report", file.path(), "--timestamps", "metamako"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("none of the first 19 packets has the time of metamako"));
    EXPECT_EQ(app::run({"capture-report", file.path(), "--format", "nothing"}).exit_code, 2);
}

}  // namespace
}  // namespace millpond::traffic
