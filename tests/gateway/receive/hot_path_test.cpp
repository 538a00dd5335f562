// From a datagram in memory to the ring: what a receive thread does between two receive calls.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>

#include "gateway/receive/feed_line.hpp"
#include "gateway/receive/notice.hpp"
#include "gateway/receive/publisher.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::gateway {
namespace {

constexpr std::size_t kDatagrams = 4'000;
constexpr std::size_t kInstruments = 256;

/// Datagrams of a generated feed, kept.
class Datagrams {
public:
    explicit Datagrams(feed::WireFormat format) : bytes_(kDatagrams) {
        feed::GeneratedFeed::Options options;
        options.format = format;
        feed::GeneratedFeed source{options};
        const auto begin = core::utc_nanos();
        for (std::size_t i = 0; i < kDatagrams; ++i) {
            const auto datagram = source.next(bytes_[i], begin + static_cast<std::int64_t>(i) * 1'000);
            datagrams_.push_back({.bytes = datagram, .receive_utc_ns = begin, .receive_ticks = core::ticks()});
        }
    }
    /// The next quarter.
    [[nodiscard]] std::span<const net::Datagram> next() {
        constexpr auto kQuarter = kDatagrams / 4;
        const auto result = std::span{datagrams_}.subspan(taken_, kQuarter);
        taken_ += kQuarter;
        return result;
    }

private:
    std::vector<std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes>> bytes_;
    std::vector<net::Datagram> datagrams_;
    std::size_t taken_{0};
};

template <class Decoder>
class HotPath : public ::testing::Test {
protected:
    static constexpr feed::WireFormat format() {
        if (std::is_same_v<Decoder, feed::Bbo28Decoder>) return feed::WireFormat::bbo28;
        if (std::is_same_v<Decoder, feed::QuotesDecoder>) return feed::WireFormat::quotes;
        if (std::is_same_v<Decoder, feed::MiaxTomDecoder>) return feed::WireFormat::miax_tom;
        return feed::WireFormat::itch;
    }

    /// What a receive thread has, without sockets.
    struct Thread {
        market::RingWriter writer{{.name = ring_name("hot"), .capacity = 1'024, .max_instruments = kInstruments}};
        feed::InstrumentTable instruments{kInstruments};
        Notices notices;
        Publisher publisher{writer, instruments, notices};
        Decoder decoder{instruments, typename Decoder::Options{}};

        void take(std::span<const net::Datagram> datagrams) { decode_batch(datagrams, 0, decoder, publisher, notices); }
    };
};

using Decoders = ::testing::Types<feed::Bbo28Decoder, feed::QuotesDecoder, feed::MiaxTomDecoder, feed::ItchDecoder>;
TYPED_TEST_SUITE(HotPath, Decoders);

TYPED_TEST(HotPath, FromDatagramToRingNeedsNoHeapNoFaultNoSystemCall) {
    Datagrams datagrams{TestFixture::format()};
    typename TestFixture::Thread thread;
    thread.take(datagrams.next());
    const auto work = [&] {
        const auto before = thread.publisher.published().read();
        thread.take(datagrams.next());
        return thread.publisher.published().read() - before >= kDatagrams / 4;
    };
#if defined(__SANITIZE_THREAD__)
    EXPECT_TRUE(work());  // what the race detector itself needs is not the program's
#else
    test::expect_free_of_cost(work);
#endif
}

TEST(DecodeBatch, ARejectedDatagramIsNoticedAndTheNextOneIsPublished) {
    market::RingWriter writer{{.name = ring_name("reject"), .capacity = 64, .max_instruments = 4}};
    feed::InstrumentTable instruments{4};
    Notices notices;
    Publisher publisher{writer, instruments, notices};
    feed::QuotesDecoder decoder{instruments, {}};
    const std::array<std::byte, 5> rubbish{};
    Datagrams good{feed::WireFormat::quotes};
    const std::array datagrams{net::Datagram{.bytes = rubbish}, good.next()[0]};
    decode_batch(datagrams, 3, decoder, publisher, notices);
    Notice notice;
    ASSERT_TRUE(notices.take(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::rejected);
    EXPECT_EQ(notice.channel, 3);
    EXPECT_EQ(notice.bytes, 5U);
    EXPECT_EQ(notice.error.kind, feed::DecodeErrorKind::truncated);
    EXPECT_EQ(publisher.published().read(), 1U);
}

}  // namespace
}  // namespace millpond::gateway
