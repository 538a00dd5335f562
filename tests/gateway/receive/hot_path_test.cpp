// Costs of a receive thread's polls, from a datagram in the socket to the ring.

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

#include "gateway/feeds/itch/settings.hpp"
#include "gateway/receive/feed_of.hpp"
#include "gateway/receive/notice.hpp"
#include "gateway/receive/publisher.hpp"
#include "gateway/settings/config.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/support/free_of_cost.hpp"

namespace millpond::gateway {
namespace {

constexpr std::size_t kInstruments = 64;
/// Number of datagrams that a socket with the kernel's default buffer holds.
constexpr std::size_t kDatagrams = 100;

/// Generated market in this format; nullopt if the generator does not support it.
std::optional<feed::GeneratedFeed> generated(const FeedFormat& format) {
    std::string name{format.name()};
    std::ranges::replace(name, '-', '_');
    const auto wire = feed::wire_format(name);
    if (!wire) return std::nullopt;
    return feed::GeneratedFeed{{.format = *wire, .market = {.instruments = kInstruments}}};
}

/// A feed opened like the gateway opens it, the objects of a receive thread, and senders for the feed's lines.
class Receiving {
public:
    struct Options {
        bool two_lines{false};
        bool books{false};  ///< With levels and orders.
    };
    Receiving(const FeedFormat& format, const Options& options)
        : source_(*generated(format)),
          writer_({.name = ring_name("hot"),
                   .capacity = 1'024,
                   .max_instruments = kInstruments,
                   .depth = options.books ? kDepth : 0,
                   .memory = {.prefault = true, .mode = 0600}}) {
        const auto& settings = config(format, options).format;
        writer_.set_depth(0, settings.depth());
        feed_ = settings.open(config_.feeds.front(), {.instruments = instruments_, .log = {}});
        feed_->for_each_line([&](std::string_view, const Line& receiver) {
            lines_.push_back(std::make_unique<net::UdpSender>(net::UdpSender::Options{.to = receiver.report().local}));
        });
    }

    /// Sends the next datagrams, the same ones to each line.
    void send() {
        std::array<std::byte, feed::GeneratedFeed::kMaxDatagramBytes> buffer;
        for (std::size_t i = 0; i < kDatagrams; ++i) {
            const auto datagram = source_.next(buffer, core::utc_nanos());
            for (const auto& line : lines_) sent_ += line->send(datagram) ? 1U : 0U;
        }
    }
    /// Polls until all sent datagrams are received; returns the number of published events, or 0 if some are missing.
    [[nodiscard]] std::uint64_t receive_all() {
        constexpr int kMaxPolls = 10'000'000;
        const auto before = publisher_.published().read();
        for (int i = 0; i < kMaxPolls && received_ < sent_; ++i)
            received_ += feed_->poll(publisher_, notices_, nullptr);
        return received_ == sent_ ? publisher_.published().read() - before : 0;
    }

private:
    static constexpr std::uint32_t kDepth = 10;

    FeedConfig& config(const FeedFormat& format, const Options& options) {
        auto& feed = config_.feeds.emplace_back();
        feed.format = FormatSettings{format};
        feed.listen = net::SocketAddress::parse("127.0.0.1:0");
        if (options.books) {
            auto& itch = feed.use<itch::Settings>();
            itch.depth = kDepth;
            itch.orders = true;
        }
        if (options.two_lines) feed.line_b = net::SocketAddress::parse("127.0.0.2:0");
        complete(config_);
        return config_.feeds.front();
    }

    feed::GeneratedFeed source_;
    Config config_;
    market::RingWriter writer_;
    feed::InstrumentTable instruments_{kInstruments};
    Notices notices_;
    Publisher publisher_{writer_, instruments_, notices_};
    std::unique_ptr<Feed> feed_;
    std::vector<std::unique_ptr<net::UdpSender>> lines_;
    std::size_t sent_{0};
    std::size_t received_{0};
};

void expect_no_cost(const FeedFormat& format, const Receiving::Options& options) {
    Receiving receiving{format, options};
    const auto send = [&] { receiving.send(); };
    // Rounds until every instrument has its name and the longest burst has occurred.
    constexpr int kRounds = 10;
    std::uint64_t events = 0;
    for (int i = 0; i < kRounds; ++i) {
        send();
        events += receiving.receive_all();
    }
    ASSERT_GE(events, (kRounds - 2) * kDatagrams);  // without the start of an ITCH day
#if !defined(__SANITIZE_THREAD__)                   // the race detector's own costs do not count
    const auto receive = [&] { return receiving.receive_all() >= kDatagrams; };
    constexpr std::array<long, 2> kReceiving{SYS_recvmsg, SYS_recvmmsg};
    millpond::test::expect_no_cost_but(kReceiving, send, receive);
#endif
}

TEST(HotPath, FromSocketToRingNeedsNoHeapNoFaultAndNoSystemCallButReceiving) {
    for (const auto* format : builtin_feed_formats()) {
        SCOPED_TRACE(format->name());
        ASSERT_TRUE(generated(*format)) << "this format cannot be generated: the test needs another source";
        expect_no_cost(*format, {});
        if (format->sequenced()) expect_no_cost(*format, {.two_lines = true});
    }
}

TEST(HotPath, LevelsAndOrdersFromSocketToRingNeedNoHeapNoFaultAndNoSystemCallButReceiving) {
    expect_no_cost(itch::Settings::format(), {.books = true});
    expect_no_cost(itch::Settings::format(), {.two_lines = true, .books = true});
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
    ASSERT_TRUE(notices.pop(notice));
    EXPECT_EQ(notice.kind, Notice::Kind::rejected);
    EXPECT_EQ(notice.channel, 3);
    EXPECT_EQ(notice.bytes, 5U);
    EXPECT_EQ(notice.error.kind, feed::DecodeErrorKind::truncated);
    EXPECT_EQ(publisher.published().read(), 1U);
}

}  // namespace
}  // namespace millpond::gateway
