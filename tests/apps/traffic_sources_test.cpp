#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/feed/moldudp64_packet.hpp>

#include "apps/millpond/traffic/generated_source.hpp"
#include "apps/millpond/traffic/itch_source.hpp"
#include "apps/millpond/traffic/pcap_source.hpp"
#include "tests/apps/list_source.hpp"
#include "tests/support/scratch_file.hpp"

namespace millpond::traffic {
namespace {

using namespace std::string_view_literals;
using millpond::test::ScratchFile;
using test::texts_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000'000;

/// A system event of 12 bytes at a time of the day, preceded by its length.
std::string event(std::int64_t nanos, char code) {
    std::string record(14, '\0');
    record[1] = 12;
    record[2] = 'S';
    record[13] = code;
    feed::itch_layout::store_time(reinterpret_cast<std::byte*>(record.data() + 2), nanos);
    return record;
}

struct MoldDatagram {
    std::int64_t due_ns;
    std::uint32_t messages;
    std::string session;
    std::uint64_t sequence;
    std::uint16_t count;
    std::string codes;  // the last byte of each message
};

std::vector<MoldDatagram> mold_datagrams(Source& source) {
    std::vector<MoldDatagram> all;
    Outgoing out;
    while (source.next(out)) {
        const auto* bytes = out.bytes.data();
        MoldDatagram one{out.due_ns,
                         out.messages,
                         {reinterpret_cast<const char*>(bytes), 10},
                         core::load_be<std::uint64_t>(bytes + 10),
                         core::load_be<std::uint16_t>(bytes + 18),
                         {}};
        for (std::size_t at = 20; at < out.bytes.size();) {
            at += std::size_t{2} + core::load_be<std::uint16_t>(bytes + at);
            one.codes += static_cast<char>(bytes[at - 1]);
        }
        all.push_back(one);
    }
    return all;
}

TEST(ItchSource, PacksMessagesOfOneTimeIntoADatagramAndEndsTheSession) {
    const millpond::test::ScratchFile file{
        "millpond_source.itch",
        event(5 * kSecond, 'a') + event(5 * kSecond, 'b') + event(5 * kSecond + 7, 'c') + event(6 * kSecond, 'd')};
    ItchSource source{file.path(), {.session = "SESSION"}};
    const auto all = mold_datagrams(source);
    ASSERT_EQ(all.size(), 6U);
    EXPECT_EQ(source.error(), "");
    EXPECT_EQ(all[0].codes, "ab");
    EXPECT_EQ(all[0].sequence, 1U);
    EXPECT_EQ(all[0].messages, 2U);
    EXPECT_EQ(all[0].session, "SESSION   ");
    EXPECT_EQ(all[1].codes, "c");
    EXPECT_EQ(all[1].due_ns, 7);
    EXPECT_EQ(all[1].sequence, 3U);
    EXPECT_EQ(all[2].codes, "d");
    EXPECT_EQ(all[2].due_ns, kSecond);
    for (std::size_t i = 3; i < 6; ++i) {
        EXPECT_EQ(all[i].count, 0xFFFF);
        EXPECT_EQ(all[i].sequence, 5U);
        EXPECT_EQ(all[i].messages, 0U);
        EXPECT_EQ(all[i].due_ns, kSecond);
    }
}

TEST(ItchSource, FillsPausesWithHeartbeatsThatNameTheNextSequence) {
    const millpond::test::ScratchFile file{"millpond_pause.itch", event(0, 'a') + event(5 * kSecond / 2, 'b')};
    ItchSource source{file.path(), {.heartbeat_ns = kSecond}};
    const auto all = mold_datagrams(source);
    ASSERT_EQ(all.size(), 7U);
    for (std::size_t i = 1; i < 3; ++i) {
        EXPECT_EQ(all[i].count, 0U);
        EXPECT_EQ(all[i].sequence, 2U);
        EXPECT_EQ(all[i].due_ns, static_cast<std::int64_t>(i) * kSecond);
    }
    EXPECT_EQ(all[3].codes, "b");
    EXPECT_EQ(all[3].due_ns, 5 * kSecond / 2);
}

TEST(ItchSource, ADatagramHoldsAtMostTheMessagesAskedFor) {
    const millpond::test::ScratchFile file{"millpond_most.itch", event(0, 'a') + event(0, 'b') + event(0, 'c')};
    ItchSource source{file.path(), {.max_messages = 2}};
    const auto all = mold_datagrams(source);
    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(all[0].codes, "ab");
    EXPECT_EQ(all[1].codes, "c");
}

TEST(ItchSource, ManyMessagesOfOneTimeFillSeveralDatagramsInOrder) {
    std::string bytes;
    std::string codes;
    for (int i = 0; i < 300; ++i) {
        codes += static_cast<char>('a' + i % 26);
        bytes += event(kSecond, codes.back());
    }
    const millpond::test::ScratchFile file{"millpond_many.itch", bytes};
    ItchSource source{file.path(), {}};
    std::string got;
    std::uint64_t sequence = 1;
    for (const auto& each : mold_datagrams(source)) {
        EXPECT_EQ(each.sequence, sequence);
        sequence += each.messages;
        got += each.codes;
    }
    EXPECT_EQ(got, codes);
}

TEST(ItchSource, DamageEndsTheFileWithoutAnEndOfSession) {
    const millpond::test::ScratchFile file{"millpond_damaged.itch", event(0, 'a') + std::string("\0\5short", 7)};
    ItchSource source{file.path(), {}};
    EXPECT_EQ(mold_datagrams(source).size(), 1U);
    EXPECT_EQ(source.error(), "'" + file.path() + "': message 2 has 5 bytes, those of ITCH have 11 to 1378");
    const millpond::test::ScratchFile cut{"millpond_cut.itch", event(0, 'a') + event(1, 'b').substr(0, 9)};
    ItchSource cut_source{cut.path(), {}};
    EXPECT_EQ(mold_datagrams(cut_source).size(), 1U);
    EXPECT_THAT(cut_source.error(), HasSubstr("message 2 at byte 14: the file ends after 7 of the message's 12 bytes"));
}

TEST(ItchSource, ASessionThatIsTooLongIsRefused) {
    const millpond::test::ScratchFile file{"millpond_session.itch", event(0, 'a')};
    EXPECT_THROW(ItchSource(file.path(), {.session = "ELEVENCHARS"}), std::invalid_argument);
}

std::string data_file(const char* name) {
    const char* folder = std::getenv("MILLPOND_TEST_DATA");  // NOLINT(concurrency-mt-unsafe): one thread
    return folder == nullptr ? std::string{} : (std::filesystem::path(folder) / name).string();
}

TEST(ItchSource, ARealFileComesOutWholeAndInOrder) {
    const auto path = data_file("aapl_20200130_first10k.itch");
    if (path.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA is not set";
    std::ifstream in{path, std::ios::binary};
    const std::string file{std::istreambuf_iterator<char>(in), {}};
    ItchSource source{path, {.heartbeat_ns = 0}};
    std::string blocks;
    std::uint64_t sequence = 1;
    std::int64_t latest = 0;
    Outgoing out;
    while (source.next(out)) {
        const auto count = core::load_be<std::uint16_t>(out.bytes.data() + 18);
        if (count == 0xFFFF) break;
        EXPECT_EQ(core::load_be<std::uint64_t>(out.bytes.data() + 10), sequence);
        sequence += count;
        latest = out.due_ns;
        blocks.append(reinterpret_cast<const char*>(out.bytes.data()) + 20, out.bytes.size() - 20);
    }
    EXPECT_TRUE(blocks == file);
    EXPECT_EQ(sequence, 10'001U);
    EXPECT_NEAR(static_cast<double>(latest) * 1e-9, 4 * 3600 + 52 * 60 + 16,
                1.0);  // duration from 03:07:14 to 07:59:30
}

TEST(PcapSource, KeepsTheRecordedDistancesAndChoosesByDestination) {
    const auto path = data_file("Miax.Tom.Mach.v1.9.Example.pcap");
    if (path.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA is not set";
    PcapSource all{path};
    Outgoing out;
    std::int64_t latest = 0;
    std::uint64_t count = 0;
    while (all.next(out)) {
        EXPECT_GE(out.due_ns, latest);
        latest = out.due_ns;
        ++count;
    }
    EXPECT_EQ(count, 20'560U);
    EXPECT_NEAR(static_cast<double>(latest) * 1e-9, 59.99, 0.01);
    EXPECT_EQ(all.fraction(), 1.0);
    PcapSource chosen{path, net::SocketAddress::parse("224.0.105.2:0")};
    EXPECT_TRUE(chosen.next(out));
    PcapSource none{path, net::SocketAddress::parse("224.0.105.2:51001")};
    EXPECT_FALSE(none.next(out));
    EXPECT_EQ(none.passed_over(), 20'560U);
}

GeneratedSource::Options generated(feed::WireFormat format) {
    GeneratedSource::Options options;
    options.feed.format = format;
    options.feed.market = {.seed = 3, .instruments = 50};
    options.steps_per_second = 1000;
    options.max_steps = 500;
    return options;
}

TEST(GeneratedSource, TheSameOptionsGiveTheSameBytesInEveryFormatAndAnotherSeedOthers) {
    for (const auto format : feed::kWireFormats) {
        auto options = generated(format);
        GeneratedSource first{options};
        GeneratedSource second{options};
        const auto bytes = texts_of(first);
        EXPECT_GE(bytes.size(), 500U);
        EXPECT_EQ(bytes, texts_of(second));
        options.feed.market.seed = 4;
        GeneratedSource other{options};
        EXPECT_NE(bytes, texts_of(other));
    }
}

TEST(GeneratedSource, KeepsItsRateWhateverADatagramHolds) {
    for (const std::size_t pack : {1U, 5U, 1000U}) {
        auto options = generated(feed::WireFormat::quotes);
        options.feed.steps_per_datagram = pack;
        GeneratedSource source{options};
        Outgoing out;
        std::uint64_t before = 0;
        while (source.next(out)) {
            EXPECT_EQ(out.due_ns, static_cast<std::int64_t>(before) * 1'000'000);
            before += out.messages;
        }
        EXPECT_GE(before, 500U);
        EXPECT_EQ(source.fraction(), static_cast<double>(before) / 500.0);
    }
}

TEST(GeneratedSource, ABurstLeavesAtOnceAndTheRateStays) {
    auto options = generated(feed::WireFormat::bbo28);
    options.burst = 10;
    GeneratedSource source{options};
    Outgoing out;
    for (int i = 0; source.next(out); ++i) EXPECT_EQ(out.due_ns, i / 10 * 10'000'000);
}

TEST(GeneratedSource, ASlowFeedHasHeartbeatsInBetween) {
    auto options = generated(feed::WireFormat::quotes);
    options.steps_per_second = 0.4;
    options.max_steps = 2;
    GeneratedSource source{options};
    std::vector<std::uint32_t> messages;
    std::vector<std::int64_t> dues;
    Outgoing out;
    while (source.next(out)) {
        messages.push_back(out.messages);
        dues.push_back(out.due_ns);
    }
    EXPECT_THAT(messages, ElementsAre(1U, 0U, 0U, 1U));
    EXPECT_THAT(dues, ElementsAre(0, kSecond, 2 * kSecond, 5 * kSecond / 2));
}

TEST(GeneratedSource, OptionsOutOfRangeAreRefused) {
    auto options = generated(feed::WireFormat::quotes);
    options.steps_per_second = 0;
    EXPECT_THROW(GeneratedSource{options}, std::invalid_argument);
    options = generated(feed::WireFormat::quotes);
    options.burst = 0;
    EXPECT_THROW(GeneratedSource{options}, std::invalid_argument);
}

}  // namespace
}  // namespace millpond::traffic
