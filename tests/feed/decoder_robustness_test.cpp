#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "fuzz/decoder_check.hpp"
#include "tests/feed/real_data.hpp"

namespace millpond::feed {
namespace {

using Datagrams = std::vector<std::vector<std::byte>>;

constexpr std::uint32_t kDepth = 3;

/// A table with capacity for only some of the instruments, and its decoder.
template <class Decoder>
struct Bench {
    explicit Bench(std::uint32_t depth = 0) : decoder{make(instruments, depth)} {}

    InstrumentTable instruments{60};
    Decoder decoder;
    DecoderCheck<Decoder> check{instruments, decoder};

    static Decoder make(InstrumentTable& instruments, std::uint32_t depth) {
        if constexpr (std::is_same_v<Decoder, ItchDecoder>) {
            return ItchDecoder{instruments, {.order_books = {.books = 50, .orders = 90, .level_chunks = 70}}};
        } else if constexpr (std::is_same_v<Decoder, QuotesDecoder>) {
            return QuotesDecoder{instruments, {.depth = depth}};
        } else {
            return Decoder{instruments, {}};
        }
    }
};

/// Datagrams of a `quotes` feed with levels.
Datagrams ladders(std::size_t count) {
    std::mt19937 random{38};
    QuotesEncoder encoder{{.channel = 0, .session = 1, .depth = kDepth}};
    std::array<std::byte, quotes_layout::kMaxDatagramBytes> buffer;
    std::vector<QuotesEncoder::Level> side(kDepth, {.price = 5, .size = 7, .orders = 1});
    Datagrams all;
    for (std::size_t i = 0; i < count; ++i) {
        encoder.begin(buffer);
        for (auto entries = random() % 4; entries != 0; --entries) {
            const Quote quote{.bid_price = 5, .bid_size = 3};
            for (auto& level : side) level.price = static_cast<Price>(random() % 1'000);
            EXPECT_TRUE(encoder.add_entry({.quote = random() % 2 == 0 ? &quote : nullptr,
                                           .bids = std::span{side}.first(1 + random() % kDepth),
                                           .asks = std::span{side}.first(random() % kDepth),
                                           .all_levels = random() % 2 == 0,
                                           .levels_incomplete = random() % 4 == 0,
                                           .repeated = random() % 4 == 0,
                                           .begins_cycle = random() % 8 == 0},
                                          Venue{"XNAS"}, Symbol{"S" + std::to_string(random() % 70)}));
        }
        const auto bytes = encoder.finish(0);
        if (random() % 50 == 0) encoder.skip(1);
        all.emplace_back(bytes.begin(), bytes.end());
    }
    return all;
}

Datagrams generated(WireFormat format, std::size_t count) {
    GeneratedFeed feed{{.format = format, .steps_per_datagram = 3}};
    std::array<std::byte, GeneratedFeed::kMaxDatagramBytes> buffer;
    Datagrams all;
    std::int64_t utc_ns = 1'700'000'000'000'000'000;
    for (std::size_t i = 0; i < count; ++i) {
        const auto bytes = i % 50 == 49 ? feed.heartbeat(buffer, utc_ns) : feed.next(buffer, utc_ns += 10'000'000);
        all.emplace_back(bytes.begin(), bytes.end());
    }
    return all;
}

/// Changes, cuts, repeats or inserts bytes; sometimes nothing, so that good datagrams come between.
std::vector<std::byte> mutated(std::vector<std::byte> bytes, std::mt19937& random) {
    for (auto changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
        const auto place = random() % bytes.size();
        switch (random() % 6) {
            case 0: bytes[place] = static_cast<std::byte>(random()); break;
            case 1: bytes[place] ^= static_cast<std::byte>(1U << random() % 8); break;
            case 2: bytes[place] = std::byte{0xFF}; break;
            case 3: bytes.resize(place); break;
            case 4: bytes.insert(bytes.end(), random() % 40, static_cast<std::byte>(random())); break;
            default: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(place), bytes.begin(), bytes.end());
        }
    }
    return bytes;
}

template <class Decoder>
void play_mutated(const Datagrams& datagrams, std::size_t rounds, std::uint32_t depth = 0) {
    std::mt19937 random{17};
    Bench<Decoder> bench{depth};
    for (std::size_t round = 0; round < rounds; ++round) {
        for (const auto& datagram : datagrams) ASSERT_EQ(bench.check.play(mutated(datagram, random)), "");
    }
    EXPECT_GT(bench.decoder.counters().malformed.read(), 0U);
    EXPECT_GT(bench.decoder.counters().quotes.read(), 0U);
    EXPECT_EQ(bench.decoder.counters().levels.read() != 0, depth != 0);
}

template <class Decoder>
void play_random() {
    std::mt19937 random{23};
    Bench<Decoder> bench;
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::byte> bytes(random() % 200);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random());
        ASSERT_EQ(bench.check.play(bytes), "");
    }
}

/// After any amount of garbage, a decoder that then receives the whole feed reports the same as a decoder without
/// garbage.
template <class Decoder>
void expect_recovery(WireFormat format) {
    const auto datagrams = generated(format, 5'000);
    Bench<Decoder> clean;
    for (const auto& datagram : datagrams) ASSERT_EQ(clean.check.play(datagram), "");
    std::mt19937 random{29};
    Bench<Decoder> bench;
    for (int i = 0; i < 5'000; ++i) {
        std::vector<std::byte> bytes(random() % 100);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random() % 20);
        ASSERT_EQ(bench.check.play(bytes), "");
    }
    const auto before = bench.decoder.counters().quotes.read();
    for (const auto& datagram : datagrams) ASSERT_EQ(bench.check.play(datagram), "");
    const auto heard = bench.decoder.counters().quotes.read() - before;
    // Garbage may have named a session, so that good datagrams count as those of an earlier session.
    EXPECT_GE(heard * 10, clean.decoder.counters().quotes.read() * 8);
}

TEST(DecoderRobustness, RandomBytesNeverBreakAPromise) {
    play_random<Bbo28Decoder>();
    play_random<QuotesDecoder>();
    play_random<MiaxTomDecoder>();
    play_random<ItchDecoder>();
}

TEST(DecoderRobustness, MutatedBbo28NeverBreaksAPromise) {
    play_mutated<Bbo28Decoder>(generated(WireFormat::bbo28, 2'000), 5);
}
TEST(DecoderRobustness, MutatedQuotesNeverBreakAPromise) {
    play_mutated<QuotesDecoder>(generated(WireFormat::quotes, 2'000), 5);
    play_mutated<QuotesDecoder>(ladders(2'000), 5, kDepth);
}
TEST(DecoderRobustness, MutatedMiaxTomNeverBreaksAPromise) {
    play_mutated<MiaxTomDecoder>(generated(WireFormat::miax_tom, 2'000), 5);
}
TEST(DecoderRobustness, MutatedItchNeverBreaksAPromise) {
    play_mutated<ItchDecoder>(generated(WireFormat::itch, 2'000), 5);
}

TEST(DecoderRobustness, AfterRubbishTheGoodDatagramsAreHeard) {
    expect_recovery<Bbo28Decoder>(WireFormat::bbo28);
    expect_recovery<QuotesDecoder>(WireFormat::quotes);
    expect_recovery<MiaxTomDecoder>(WireFormat::miax_tom);
    expect_recovery<ItchDecoder>(WireFormat::itch);
}

TEST(DecoderRobustness, MutatedCapturesNeverBreakAPromise) {
    const auto miax = real_file("Miax.Tom.Mach.v1.9.Example.pcap");
    const auto aapl = real_file("aapl_20200130_first10k.itch");
    if (miax.empty() || aapl.empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA names no folder with the captures";
    Datagrams captured;
    for (auto& datagram : captured_datagrams(miax)) captured.push_back(std::move(datagram.bytes));
    play_mutated<MiaxTomDecoder>(captured, 1);

    Datagrams orders;
    MoldUdp64Encoder mold{"AAPL"};
    std::array<std::byte, 1472> buffer;
    const auto messages = itch_messages(aapl);
    for (std::size_t next = 0; next < messages.size();) {
        mold.begin(buffer);
        for (int i = 0; i < 3 && next < messages.size(); ++i) ASSERT_TRUE(mold.add(messages[next++]));
        const auto bytes = mold.finish();
        orders.emplace_back(bytes.begin(), bytes.end());
    }
    play_mutated<ItchDecoder>(orders, 2);
}

}  // namespace
}  // namespace millpond::feed
