// From a datagram in the socket to the ring: the polls of a receive thread.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/syscall.h>

#include <millpond/core/clock.hpp>
#include <millpond/feed/generated_feed.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/net/udp_receiver.hpp>
#include <millpond/net/udp_sender.hpp>

#include "gateway/receive/feed_line.hpp"
#include "gateway/receive/notice.hpp"
#include "gateway/receive/publisher.hpp"
#include "gateway/settings/config.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::gateway {
namespace {

constexpr std::size_t kInstruments = 64;
/// As many as a socket with the kernel's default buffer holds.
constexpr std::size_t kDatagrams = 100;

/// The generated market in the wire format of this feed format; nothing where it cannot be generated.
std::optional<feed::GeneratedFeed> generated(const FeedFormat& format) {
    std::string name{format.name()};
    std::ranges::replace(name, '-', '_');
    const auto wire = feed::wire_format(name);
    if (!wire) return std::nullopt;
    return feed::GeneratedFeed{{.format = *wire, .market = {.instruments = kInstruments}}};
}

/// A feed as the gateway opens it, with all that a receive thread has, and who sends to its lines.
class Receiving {
public:
    Receiving(const FeedFormat& format, bool two_lines) : source_(*generated(format)) {
        feed_ =
            config(format, two_lines).chosen().open(config_.feeds.front(), {.instruments = instruments_, .say = {}});
        feed_->for_each_line([&](std::string_view, const net::UdpReceiver& receiver) {
            lines_.push_back(std::make_unique<net::UdpSender>(net::UdpSender::Options{.to = receiver.report().local}));
        });
    }

    /// Puts the next datagrams into the sockets, the same into each line's.
    void send() {
        std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer;
        for (std::size_t i = 0; i < kDatagrams; ++i) {
            const auto datagram = source_.next(buffer, core::utc_nanos());
            for (const auto& line : lines_) sent_ += line->send(datagram) ? 1U : 0U;
        }
    }
    /// Polls until all of them have come, and counts the events that were published; nothing when some did not come.
    [[nodiscard]] std::uint64_t take() {
        constexpr int kMostPolls = 10'000'000;
        const auto before = publisher_.published().read();
        for (int i = 0; i < kMostPolls && taken_ < sent_; ++i) taken_ += feed_->poll(publisher_, notices_, nullptr);
        return taken_ == sent_ ? publisher_.published().read() - before : 0;
    }

private:
    FeedConfig& config(const FeedFormat& format, bool two_lines) {
        auto& feed = config_.feeds.emplace_back();
        feed.format = &format;
        feed.listen = net::SocketAddress::parse("127.0.0.1:0");
        if (two_lines) feed.line_b = net::SocketAddress::parse("127.0.0.2:0");
        complete(config_);
        return config_.feeds.front();
    }

    feed::GeneratedFeed source_;
    Config config_;
    market::RingWriter writer_{{.name = ring_name("hot"),
                                .capacity = 1'024,
                                .max_instruments = kInstruments,
                                .memory = {.prefault = true, .mode = 0600}}};
    feed::InstrumentTable instruments_{kInstruments};
    Notices notices_;
    Publisher publisher_{writer_, instruments_, notices_};
    std::unique_ptr<Feed> feed_;
    std::vector<std::unique_ptr<net::UdpSender>> lines_;
    std::size_t sent_{0};
    std::size_t taken_{0};
};

void expect_no_cost(const FeedFormat& format, bool two_lines) {
    Receiving receiving{format, two_lines};
    const auto send = [&] { receiving.send(); };
    // Until every instrument has its name, and a burst has been as long as it can be.
    constexpr int kRounds = 10;
    std::uint64_t events = 0;
    for (int i = 0; i < kRounds; ++i) {
        send();
        events += receiving.take();
    }
    ASSERT_GE(events, (kRounds - 2) * kDatagrams);  // less the start of an itch day
#if !defined(__SANITIZE_THREAD__)                   // what the race detector itself needs is not the program's
    const auto take = [&] { return receiving.take() >= kDatagrams; };
    constexpr std::array<long, 2> kReceiving{SYS_recvmsg, SYS_recvmmsg};
    millpond::test::expect_no_cost_but(kReceiving, send, take);
#endif
}

TEST(HotPath, FromSocketToRingNeedsNoHeapNoFaultAndNoSystemCallButReceiving) {
    for (const auto* format : builtin_feed_formats()) {
        SCOPED_TRACE(format->name());
        ASSERT_TRUE(generated(*format)) << "this format cannot be generated: the test needs another source";
        expect_no_cost(*format, false);
        if (format->sequenced()) expect_no_cost(*format, true);
    }
}

TEST(DecodeBatch, ARejectedDatagramIsNoticedAndTheNextOneIsPublished) {
    market::RingWriter writer{{.name = ring_name("reject"), .capacity = 64, .max_instruments = kInstruments}};
    feed::InstrumentTable instruments{kInstruments};
    Notices notices;
    Publisher publisher{writer, instruments, notices};
    feed::QuotesDecoder decoder{instruments, {}};
    const std::array<std::byte, 5> rubbish{};
    feed::GeneratedFeed source{{.format = feed::WireFormat::quotes}};
    std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer;
    const std::array datagrams{net::Datagram{.bytes = rubbish},
                               net::Datagram{.bytes = source.next(buffer, core::utc_nanos())}};
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
