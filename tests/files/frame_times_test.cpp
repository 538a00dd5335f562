#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/files/file_format_error.hpp>
#include <millpond/files/pcap_reader.hpp>

#include "tests/support/bytes.hpp"

namespace millpond::files {
namespace {

using test::Bytes;
using test::hex;
using test::operator+;
using test::text_of;
using ::testing::HasSubstr;

template <class Number>
Bytes little(Number value) {
    Bytes bytes(sizeof value);
    core::store_le(bytes.data(), value);
    return bytes;
}

template <class Number>
Bytes big(Number value) {
    Bytes bytes(sizeof value);
    core::store_be(bytes.data(), value);
    return bytes;
}

/// A capture with nanoseconds; frames are added with their time.
class Capture {
public:
    Capture& add(std::int64_t utc_ns, const Bytes& frame) {
        const auto length = static_cast<std::uint32_t>(frame.size());
        bytes_ = bytes_ + little(static_cast<std::uint32_t>(utc_ns / 1'000'000'000)) +
                 little(static_cast<std::uint32_t>(utc_ns % 1'000'000'000)) + little(length) + little(length) + frame;
        return *this;
    }
    [[nodiscard]] const Bytes& bytes() const { return bytes_; }

private:
    Bytes bytes_{hex("4d3cb2a1 0200 0400 00000000 00000000 00000400 01000000")};
};

struct Read {
    std::vector<std::int64_t> times;
    std::vector<std::string> payloads;
    PcapReader::Counts counts;
    Timestamps timestamps{};
};

Read read(const Bytes& file, Timestamps timestamps) {
    PcapReader reader{file, "test.pcap", timestamps};
    Read all;
    CapturedDatagram datagram;
    while (reader.next(datagram)) {
        all.times.push_back(datagram.utc_ns);
        all.payloads.emplace_back(text_of(datagram.payload));
    }
    all.counts = reader.counts();
    all.timestamps = reader.timestamps();
    return all;
}

std::string refusal(const Bytes& file, Timestamps timestamps) {
    try {
        const PcapReader reader{file, "test.pcap", timestamps};
        return "accepted";
    } catch (const FileFormatError& error) {
        return error.what();
    }
}

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kCaptured = 1'527'552'589 * kSecond + 170'404'442;

/// Ethernet, IPv4 and UDP of a datagram with the payload "quote", 47 bytes.
Bytes datagram() {
    return hex(
        "01005e006902 00351a719cfc 0800 4500 0021 1f36 4000 40 11 0000 0a010203 e0006902 1f90 c738 000d 0000 "
        "71756f7465");
}

// Frame 1 of CiscoDevNet/n3550-timestamp-decoder, test/fusion_hpt_example.pcap, ends with the original FCS 0a56d03e,
// device 0, port 0x2f, 0x5b0c9a4d s, 0x2b9fa023f4 / 2^40 s, a reserved byte and the FCS 5e820efc; its time of capture,
// which the makers' decoder wrote, is 1527552589.170404442.
const Bytes kNexusTrailer = hex("0a56d03e 00 2f 5b0c9a4d 2b9fa023f4 00");
constexpr std::int64_t kNexusTime = kCaptured;

TEST(FrameTimes, ReadsTheTrailerOfNexus3550WithAndWithoutFcs) {
    for (const auto& fcs : {Bytes{}, hex("5e820efc")}) {
        Capture capture;
        for (int i = 0; i < 3; ++i) capture.add(kCaptured + 900 * kSecond + i, datagram() + kNexusTrailer + fcs);
        for (const auto wanted : {Timestamps::automatic, Timestamps::nexus3550}) {
            const auto all = read(capture.bytes(), wanted);
            EXPECT_EQ(all.times, (std::vector<std::int64_t>{kNexusTime, kNexusTime, kNexusTime}));
            EXPECT_EQ(all.payloads, (std::vector<std::string>{"quote", "quote", "quote"}));
            EXPECT_EQ(all.timestamps, Timestamps::nexus3550);
            EXPECT_EQ(all.counts.untimed, 0U);
        }
        const auto plain = read(capture.bytes(), Timestamps::capture);
        EXPECT_EQ(plain.times[2], kCaptured + 900 * kSecond + 2);
    }
}

/// Trailer of Arista 7130 for 1527552590.123456789: seconds 0x5b0c9a4e, nanoseconds 0x075bcd15, device 7, port 9.
Bytes metamako(std::string_view flags, const Bytes& extensions = {}) {
    return hex("d3d3d3d3") + extensions + hex("5b0c9a4e 075bcd15") + hex(flags) + hex("0007 09");
}
constexpr std::int64_t kMetamakoTime = 1'527'552'590 * kSecond + 123'456'789;

TEST(FrameTimes, ReadsTheTrailerOfMetamakoWithExtensions) {
    // Extensions, as Wireshark reads them: data words, then a word with the length in words at bit 6, "last" at bit 5
    // and the tag in the lowest five bits; tag 0x1f has a length of ten bits, less one.
    const auto fraction = hex("80000061");  // tag 1 with one word more, last
    const auto one_word = hex("11111111") + fraction;
    const auto text = hex("41414141 42424242 0000007f");  // tag 0x1f, two words of text, last
    for (const auto& extensions : {Bytes{}, one_word, text, hex("33333333 00000060") + hex("44444444 00000041")}) {
        for (const auto& fcs : {Bytes{}, hex("01020304")}) {
            Capture capture;
            capture.add(kCaptured, datagram() + metamako(extensions.empty() ? "01" : "03", extensions) + fcs);
            for (const auto wanted : {Timestamps::automatic, Timestamps::metamako}) {
                const auto all = read(capture.bytes(), wanted);
                ASSERT_EQ(all.times, (std::vector<std::int64_t>{kMetamakoTime})) << extensions.size();
                EXPECT_EQ(all.payloads, (std::vector<std::string>{"quote"}));
                EXPECT_EQ(all.timestamps, Timestamps::metamako);
            }
        }
    }
}

TEST(FrameTimes, ATrailerFarFromTheCapturesTimeIsValidOnlyWithItsOriginalFcs) {
    // The capturing machine's clock was at 1970: only the CRC of the frame, 0x7c34d788, shows that this is a trailer.
    const auto frame = datagram();
    const auto with_fcs = [&](std::string_view fcs) { return frame + hex(fcs) + hex("00 2f 5b0c9a4d 2b9fa023f4 00"); };
    Capture good;
    good.add(5 * kSecond, with_fcs("88d7347c"));
    Capture bad;
    bad.add(5 * kSecond, with_fcs("00000000"));
    EXPECT_EQ(read(good.bytes(), Timestamps::nexus3550).times, (std::vector<std::int64_t>{kNexusTime}));
    EXPECT_THAT(refusal(bad.bytes(), Timestamps::nexus3550), HasSubstr("none of the first 1 packets"));
}

TEST(FrameTimes, AnUnsynchronizedSwitchIsCounted) {
    Capture capture;
    capture.add(kCaptured, datagram() + metamako("11")).add(kCaptured, datagram() + metamako("01"));
    const auto all = read(capture.bytes(), Timestamps::automatic);
    EXPECT_EQ(all.counts.degraded, 1U);
    EXPECT_EQ(all.counts.datagrams, 2U);
}

TEST(FrameTimes, FramesWithoutATrailerHaveTheCapturesTimeAndAreCounted) {
    Capture capture;
    capture.add(kCaptured, datagram() + kNexusTrailer)
        .add(kCaptured + 1, datagram())
        .add(kCaptured + 2, datagram() + Bytes(16))  // padding
        .add(kCaptured + 3, datagram() + kNexusTrailer)
        .add(kCaptured + 4, datagram() + kNexusTrailer);
    const auto all = read(capture.bytes(), Timestamps::automatic);
    EXPECT_EQ(all.times, (std::vector<std::int64_t>{kNexusTime, kCaptured + 1, kCaptured + 2, kNexusTime, kNexusTime}));
    EXPECT_EQ(all.counts.untimed, 2U);
}

TEST(FrameTimes, AChoiceThatNoneOfTheFirstPacketsHasIsRefusedWithWhatWasFound) {
    Capture plain;
    Capture nexus;
    for (std::size_t i = 0; i < PcapReader::kSampled; ++i) {
        plain.add(kCaptured, datagram());
        nexus.add(kCaptured, datagram() + kNexusTrailer);
    }
    plain.add(kCaptured, datagram() + metamako("01"));  // packet 101
    EXPECT_EQ(refusal(plain.bytes(), Timestamps::metamako),
              "'test.pcap': timestamps: none of the first 100 packets has the time of metamako; found only the "
              "capture's times");
    EXPECT_EQ(
        refusal(nexus.bytes(), Timestamps::metamako),
        "'test.pcap': timestamps: none of the first 100 packets has the time of metamako; found nexus3550 in 100");
    EXPECT_EQ(refusal(nexus.bytes(), Timestamps::keyframes),
              "'test.pcap': timestamps: no keyframe among the first 100 packets");
    EXPECT_EQ(refusal(Capture{}.bytes(), Timestamps::metamako), "'test.pcap': timestamps: there are no packets");
    EXPECT_EQ(read(plain.bytes(), Timestamps::automatic).timestamps, Timestamps::capture);
}

// Frame 1 of arista-eosext/PCAPDecoder, pcaps/ptpKFbeforeFCS.pcap: counter 0xb3de1ada62, UTC 0x163dea7c9d4098f5 ns,
// skew 1003800756 / 912549846 as frame 2 has it, device 888. One tick is 20/7 ns times the skew.
Bytes arista_keyframe(std::uint64_t counter, std::int64_t utc_ns, std::uint16_t device = 888) {
    return hex("abcdabcdabcd 001c73c5b7aa 0800 4500 0052 0000 0000 40 fd 96cb 01020304 6f6f6f6f") + big(counter) +
           big(static_cast<std::uint64_t>(utc_ns)) + Bytes(8) + big(std::uint64_t{1'003'800'756}) +
           big(std::uint64_t{912'549'846}) + Bytes(16) + big(device) + hex("0025 01 00");
}
/// A counter's word leaves out bit 7: its bits 30 to 7 are above it.
Bytes arista_word(std::uint64_t counter) {
    return big(static_cast<std::uint32_t>((counter & 0x7FFF'FF80U) << 1U | (counter & 0x7FU)));
}

TEST(FrameTimes, ReadsTheCountersOfArista7150BetweenKeyframes) {
    constexpr std::uint64_t kCounter = 0xB3DE1ADA62;
    constexpr std::int64_t kUtc = 0x163DEA7C9D4098F5;
    constexpr std::int64_t kAfter = 350'000 * 20LL / 7 * 1'003'800'756 / 912'549'846;  // 350,000 ticks
    for (const auto& fcs : {Bytes{}, hex("0829aa56")}) {
        Capture capture;
        capture.add(kCaptured, datagram() + arista_word(kCounter) + fcs);  // nothing explains it yet
        capture.add(kCaptured, arista_keyframe(kCounter, kUtc) + fcs);
        capture.add(kCaptured + kAfter, datagram() + arista_word(kCounter + 350'000) + fcs);
        capture.add(kCaptured, datagram() + arista_word(kCounter - 350'000) + fcs);  // before the keyframe
        capture.add(kCaptured + 2 * kSecond, datagram() + arista_word(kCounter + 350'000) + fcs);  // too late
        const auto all = read(capture.bytes(), Timestamps::keyframes);
        EXPECT_EQ(all.times,
                  (std::vector<std::int64_t>{kCaptured, kUtc + kAfter, kUtc - kAfter, kCaptured + 2 * kSecond}));
        EXPECT_EQ(all.counts.keyframes, 1U);
        EXPECT_EQ(all.counts.untimed, 2U);
        EXPECT_EQ(all.counts.datagrams, 4U);
    }
}

TEST(FrameTimes, AKeyframeMayBeSentLongAfterItsTime) {
    // As in ptpKFbeforeFCS.pcap: keyframes are captured half a second after their time, other frames at theirs.
    constexpr std::uint64_t kCounter = 0xB3DE1ADA62;
    Capture capture;
    capture.add(kCaptured + kSecond / 2, arista_keyframe(kCounter, kCaptured));
    capture.add(kCaptured + kSecond / 2 + 32'000, datagram() + arista_word(kCounter + 159'090'909));
    EXPECT_EQ(read(capture.bytes(), Timestamps::automatic).counts.untimed, 0U);
    EXPECT_EQ(read(capture.bytes(), Timestamps::automatic).timestamps, Timestamps::keyframes);
}

TEST(FrameTimes, ACounterGivesNoTimeBefore1970) {
    constexpr std::uint64_t kCounter = 0xB3DE1ADA62;
    Capture capture;
    capture.add(0, arista_keyframe(kCounter, 0)).add(0, datagram() + arista_word(kCounter));
    capture.add(0, datagram() + arista_word(kCounter - 350'000));
    const auto all = read(capture.bytes(), Timestamps::keyframes);
    EXPECT_EQ(all.times, (std::vector<std::int64_t>{0, 0}));
    EXPECT_EQ(all.counts.untimed, 1U);
}

TEST(FrameTimes, TimesOfCaptureMayBeAsFarApartAs64BitsPermit) {
    constexpr std::uint64_t kCounter = 0xB3DE1ADA62;
    constexpr auto kNewest = std::numeric_limits<std::int64_t>::max();
    detail::FrameTimes times{Timestamps::keyframes, 0};
    const auto frame = [](std::int64_t utc_ns, const Bytes& bytes) {
        return detail::CapturedFrame{
            .utc_ns = utc_ns, .link = 1, .original = static_cast<std::uint32_t>(bytes.size()), .bytes = bytes};
    };
    const auto keyframe = arista_keyframe(kCounter, kNewest / 2);
    const auto after = datagram() + arista_word(kCounter + 350'000);
    const auto before = datagram() + arista_word(kCounter - 350'000);
    times.on_keyframe(frame(kNewest, keyframe));
    EXPECT_FALSE(times.read(frame(0, after), 0));
    times.on_keyframe(frame(0, keyframe));
    EXPECT_FALSE(times.read(frame(kNewest, before), 0));
    times.on_keyframe(frame(0, arista_keyframe(kCounter, 0)));
    EXPECT_FALSE(times.read(frame(kNewest, before), 0));

    const auto header = [](const char* time) {
        const auto whole = datagram();
        return Bytes{whole.begin(), whole.begin() + 12} + hex(time) + Bytes{whole.begin() + 12, whole.end()};
    };
    const detail::FrameTimes arista{Timestamps::arista7280, 0};
    // 0x7d04 is the newest time's second modulo 2^16; its last nanosecond is after the newest time.
    EXPECT_FALSE(arista.read(frame(kNewest, header("d28b 0001 0120 7d04 3b9ac9ff")), 0));
    EXPECT_FALSE(arista.read(frame(kNewest, header("d28b 0001 0120 dfff 00000000")), 0));
    EXPECT_FALSE(arista.read(frame(0, header("d28b 0001 0020 ffff 00000000")), 0));
}

TEST(FrameTimes, CountersThatFewerThanHalfOfThePacketsHaveAreRefusedWithTheirNumber) {
    constexpr std::uint64_t kCounter = 0xB3DE1ADA62;
    constexpr std::int64_t kUtc = 0x163DEA7C9D4098F5;
    Capture capture;
    capture.add(kCaptured, datagram()).add(kCaptured, arista_keyframe(kCounter, kUtc));
    const std::string start = "'test.pcap': timestamps: ";
    const std::string end = "; found only the capture's times";
    EXPECT_EQ(refusal(capture.bytes(), Timestamps::keyframes), start + "there are no packets after the first keyframe");
    capture.add(kCaptured + 2 * kSecond, datagram() + arista_word(kCounter));
    EXPECT_EQ(refusal(capture.bytes(), Timestamps::keyframes),
              start + "none of the first 1 packets after the first keyframe has the time of keyframes" + end);
    for (int i = 0; i < 2; ++i) capture.add(kCaptured + 2 * kSecond, datagram() + arista_word(kCounter));
    for (int i = 0; i < 2; ++i) capture.add(kCaptured, datagram() + arista_word(kCounter));
    EXPECT_EQ(refusal(capture.bytes(), Timestamps::keyframes),
              start +
                  "only 2 of the first 5 packets after the first keyframe have the time of keyframes, at least "
                  "half must" +
                  end);
    capture.add(kCaptured, datagram() + arista_word(kCounter));
    EXPECT_EQ(read(capture.bytes(), Timestamps::keyframes).counts.untimed, 4U);
}

TEST(FrameTimes, KeyframesOfTwoDevicesExplainNothing) {
    constexpr std::uint64_t kCounter = 0xB3DE1ADA62;
    constexpr std::int64_t kUtc = 0x163DEA7C9D4098F5;
    Capture capture;
    capture.add(kCaptured, arista_keyframe(kCounter, kUtc));
    for (int i = 0; i < 3; ++i) capture.add(kCaptured, datagram() + arista_word(kCounter));
    capture.add(kCaptured, arista_keyframe(kCounter, kUtc, 889)).add(kCaptured, datagram() + arista_word(kCounter));
    const auto all = read(capture.bytes(), Timestamps::automatic);
    EXPECT_EQ(all.timestamps, Timestamps::keyframes);
    EXPECT_EQ(all.times, (std::vector<std::int64_t>{kUtc, kUtc, kUtc, kCaptured}));
    EXPECT_EQ(all.counts.untimed, 1U);
}

// Frames 5 and 6 of CiscoDevNet/n3550-timestamp-decoder, test/exnic-fcsu.pcap: the keyframe's UTC 0x140277c42335be00
// ns, counter 0x659a861333 and frequency 350 MHz; the frame's counter is 0xa8a65d25.
TEST(FrameTimes, ReadsTheCountersOfExablazeBetweenKeyframes) {
    constexpr std::int64_t kUtc = 0x140277C42335BE00;
    const auto body = hex("140277c42335be00 000000659a861333 0000000014dc9380 000000659a861333");
    const auto old_form = hex("ffffffffffff 643f5fedcb23 0800 4500 003c 0000 0000 40 fd 79c6 00000000 ffffffff "
                              "01000000 00000000") +
                          body;
    const auto new_form = hex("ffffffffffff 643f5f8019a1 88b5 45584b46 01000000") + body;
    constexpr std::int64_t kTicks = 0xA8A65D25 - 0x9A861333;
    constexpr std::int64_t kElapsed = kTicks * 20 / 7;
    for (const auto& keyframe : {old_form, new_form}) {
        Capture capture;
        capture.add(kCaptured, keyframe + Bytes(4)).add(kCaptured + kElapsed, datagram() + hex("a8a65d25"));
        const auto all = read(capture.bytes(), Timestamps::automatic);
        EXPECT_EQ(all.times, (std::vector<std::int64_t>{kUtc + kElapsed}));
        EXPECT_EQ(all.counts.keyframes, 1U);
    }
}

TEST(FrameTimes, KeyframesAreNamedWhateverTheSourceOfTimes) {
    Capture capture;
    capture.add(kCaptured, arista_keyframe(1, kCaptured));
    capture.add(kCaptured, hex("ffffffffffff 643f5f8019a1 88b5") + Bytes(40));  // not Exablaze's
    const auto all = read(capture.bytes(), Timestamps::capture);
    EXPECT_EQ(all.counts.keyframes, 1U);
    EXPECT_EQ(all.counts.not_ip, 1U);
}

// Frame 1 of the-tcpdump-group/tcpdump, tests/arista_ether.pcap: captured at 1559162200.091512, the header has the time
// scale TAI, which is UTC there, 64 bits, 0x5ceeed57 s and 0x384f59c8 ns.
TEST(FrameTimes, ReadsTheHeaderOfArista7280) {
    constexpr std::int64_t kArista = 1'559'162'200 * kSecond + 91'512'000;
    constexpr std::int64_t kTime = 1'559'162'199 * kSecond + 944'724'424;
    const auto frame = [](const char* header) {
        const auto whole = datagram();
        return Bytes{whole.begin(), whole.begin() + 12} + hex(header) + Bytes{whole.begin() + 12, whole.end()};
    };
    Capture capture;
    capture.add(kArista, frame("d28b 0001 0010 5ceeed57 384f59c8"))
        .add(kArista, frame("d28b 0001 0010 5ceeed7c 384f59c8"))  // TAI, 37 s ahead
        .add(kArista, frame("d28b 0001 0111 5ceeed57 384f59c8"))  // UTC
        .add(kArista, frame("d28b 0001 0120 ed57 384f59c8"))      // 48 bits
        .add(kArista - 65'536 * kSecond / 2, frame("d28b 0001 0120 ed57 384f59c8"));
    for (const auto wanted : {Timestamps::automatic, Timestamps::arista7280}) {
        const auto all = read(capture.bytes(), wanted);
        EXPECT_EQ(all.times, (std::vector<std::int64_t>{kTime, kTime, kTime, kTime, kTime}));
        EXPECT_EQ(all.payloads, (std::vector<std::string>(5, "quote")));
        EXPECT_EQ(all.timestamps, Timestamps::arista7280);
        EXPECT_EQ(all.counts.time_header, 5U);
    }
}

/// A capture of the three repositories that the folder in MILLPOND_SWITCH_CAPTURES holds; empty if it is not set.
std::string real_capture(const char* name) {
    const char* folder = std::getenv("MILLPOND_SWITCH_CAPTURES");  // NOLINT(concurrency-mt-unsafe): one thread
    return folder == nullptr ? std::string{} : (std::filesystem::path(folder) / name).string();
}

TEST(FrameTimes, FindsTheTimesOfRealCapturesOfSwitches) {
    if (real_capture("").empty()) GTEST_SKIP() << "MILLPOND_SWITCH_CAPTURES is not set";
    struct Case {
        const char* file;
        Timestamps timestamps;
        std::uint64_t keyframes;
        std::uint64_t datagrams;
    };
    for (const auto& each :
         {Case{"fusion_hpt_example.pcap", Timestamps::nexus3550, 0, 0},
          Case{"exa.mode.append-compat.pcap", Timestamps::keyframes, 12, 0},
          Case{"exa.mode.append.pcap", Timestamps::keyframes, 33, 0},
          Case{"exa.mode.fcs-compat.pcap", Timestamps::keyframes, 13, 0},
          Case{"exa.mode.fcs.pcap", Timestamps::keyframes, 18, 0},
          Case{"exnic-fcsu.pcap", Timestamps::keyframes, 23, 18}, Case{"pingout.pcap", Timestamps::keyframes, 2189, 0},
          Case{"ptpKFbeforeFCS.pcap", Timestamps::keyframes, 264, 0},
          Case{"arista_ether.pcap", Timestamps::arista7280, 0, 0},
          Case{"ptpKFreplaceFCS.pcap", Timestamps::keyframes, 115, 0}}) {
        PcapReader reader{real_capture(each.file)};
        CapturedDatagram datagram;
        while (reader.next(datagram)) {
        }
        EXPECT_EQ(reader.timestamps(), each.timestamps) << each.file;
        EXPECT_EQ(reader.counts().keyframes, each.keyframes) << each.file;
        EXPECT_EQ(reader.counts().datagrams, each.datagrams) << each.file;
        EXPECT_EQ(reader.counts().untimed, 0U) << each.file;
        EXPECT_EQ(reader.error(), "") << each.file;
    }
}

TEST(FrameTimes, OpensTheEncapsulationsOfRealCaptures) {
    if (real_capture("").empty()) GTEST_SKIP() << "MILLPOND_SWITCH_CAPTURES is not set";
    const auto counts_of = [](const char* file) {
        PcapReader reader{real_capture(file)};
        CapturedDatagram datagram;
        while (reader.next(datagram)) {
        }
        EXPECT_EQ(reader.error(), "") << file;
        EXPECT_EQ(reader.counts().tunnels, 0U) << file;
        return reader.counts();
    };
    EXPECT_NE(counts_of("erspan-type-i-4.pcap").erspan, 0U);
    EXPECT_NE(counts_of("erspan-type-ii-2.pcap").datagrams, 0U) << "HSRP, to port 1985";
    EXPECT_NE(counts_of("erspan-type-iii-ft-0.pcap").erspan, 0U);
    EXPECT_NE(counts_of("vxlan.pcap").vxlan, 0U);
    EXPECT_NE(counts_of("geneve.pcap").geneve, 0U);
}

}  // namespace
}  // namespace millpond::files
