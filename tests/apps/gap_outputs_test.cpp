// After a gap, quotes that have not been replaced are incomplete at every output of the program, also for late joiners.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/mach_packet.hpp>
#include <millpond/feed/miax_tom_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/udp_sender.hpp>

#include "tests/apps/gateway_run.hpp"
#include "tests/apps/http_page.hpp"
#include "tests/support/line_client.hpp"
#include "tests/support/web_socket_client.hpp"

namespace millpond::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint32_t kInstruments = 50;
constexpr std::int64_t kTimeoutNs = 60'000'000'000;

using Marks = std::map<std::string, bool>;

std::string symbol_of(std::uint32_t i) { return std::to_string(1'000 + i); }

/// Marks all instruments as incomplete except these.
Marks all_but(const std::set<std::uint32_t>& complete) {
    Marks marks;
    for (std::uint32_t i = 0; i < kInstruments; ++i) marks[symbol_of(i)] = !complete.contains(i);
    return marks;
}

/// Marks in the newest quote line of each symbol.
template <class Lines>
Marks marks_in(const Lines& lines) {
    Marks marks;
    for (const std::string& line : lines) {
        constexpr std::string_view kMark = "\"symbol\":\"";
        const auto at = line.find(kMark);
        if (line.find("\"type\":\"quote\"") == std::string::npos || at == std::string::npos) continue;
        const auto begin = at + kMark.size();
        marks[line.substr(begin, line.find('"', begin) - begin)] =
            line.find("\"incomplete\":true") != std::string::npos;
    }
    return marks;
}

/// Marks that a late reader of the ring sees.
Marks marks_of_ring(const std::string& name) {
    struct Late {
        void on(const feed::Quote& quote) {
            marks[std::string{reader.instrument(quote.instrument)->symbol.view()}] =
                (quote.flags & feed::kIncomplete) != 0;
        }
        void on(const feed::Trade&) {}
        void on(const feed::TradeBreak&) {}
        void on(const feed::Status&) {}
        void on(const feed::Gap&) {}
        void on(const feed::Clear&) {}
        void on(const queue::MissedRange&) {}
        market::RingReader& reader;
        Marks marks;
    };
    market::RingReader reader{{.name = name}};
    Late late{reader, {}};
    reader.join(late);
    return late.marks;
}

bool comes(const std::function<bool()>& done) {
    const auto until = core::monotonic_nanos() + kTimeoutNs;
    while (!done()) {
        if (core::monotonic_nanos() > until) return false;
        std::this_thread::yield();
    }
    return true;
}

/// The sender of a venue's feed.
class Venue {
public:
    virtual ~Venue() = default;
    /// Both sides of an instrument's quote.
    virtual void quote(std::uint32_t i) = 0;
    /// Sends the bid alone; false for venues without such messages.
    virtual bool bid(std::uint32_t i) = 0;
    virtual void lose(std::uint64_t count) = 0;
    /// Sends a complete message of an unknown type.
    virtual void send_unknown() = 0;

    void connect(const std::string& address) {
        sender_ = std::make_unique<net::UdpSender>(net::UdpSender::Options{.to = net::SocketAddress::parse(address)});
    }

protected:
    void send(std::span<const std::byte> bytes) {
        while (!sender_->send(bytes)) std::this_thread::yield();
    }
    std::array<std::byte, 1'400> buffer_{};

private:
    std::unique_ptr<net::UdpSender> sender_;
};

class Miax final : public Venue {
public:
    void quote(std::uint32_t i) override {
        write([&] {
            ASSERT_TRUE(encoder_.bid(1'000 + i, 7, feed::price_from<10'000>(10'000), 10));
            ASSERT_TRUE(encoder_.offer(1'000 + i, 7, feed::price_from<10'000>(20'000), 10));
        });
    }
    bool bid(std::uint32_t i) override {
        write([&] { ASSERT_TRUE(encoder_.bid(1'000 + i, 7, feed::price_from<10'000>(10'500), 11)); });
        return true;
    }
    void lose(std::uint64_t count) override {
        next_ += count;
        encoder_ = feed::MiaxTomEncoder{{.session = 1, .first_sequence = next_}};
    }
    void send_unknown() override {
        encoder_.begin(buffer_);
        ASSERT_TRUE(encoder_.bid(1'000, 7, feed::price_from<10'000>(10'500), 11));
        ++next_;
        const auto bytes = encoder_.finish();
        buffer_[12] = std::byte{'?'};
        send(bytes);
    }

private:
    void write(const std::function<void()>& messages) {
        encoder_.begin(buffer_);
        messages();
        const auto bytes = encoder_.finish();
        std::size_t place = 0;
        feed::MachPacket packet;
        while (place < bytes.size() && !feed::next_mach_packet(bytes, place, packet)) ++next_;
        send(bytes);
    }
    feed::MiaxTomEncoder encoder_{{.session = 1, .first_sequence = 1}};
    std::uint64_t next_{1};
};

class Itch final : public Venue {
public:
    void quote(std::uint32_t i) override {
        to_.set_head(static_cast<std::uint16_t>(i + 1), 1'000);
        ++order_;
        add(to_.order_added(2 * order_, 'B', 100, symbol_of(i), 1'000'000 + order_));
        add(to_.order_added(2 * order_ + 1, 'S', 100, symbol_of(i), 2'000'000 - order_));
    }
    bool bid(std::uint32_t) override { return false; }
    void lose(std::uint64_t count) override { mold_ = feed::MoldUdp64Encoder{"S1", mold_.next_sequence() + count}; }
    void send_unknown() override { add(to_.other('D').first(7)); }

private:
    void add(feed::ItchEncoder::Message message) {
        mold_.begin(buffer_);
        ASSERT_TRUE(mold_.add(message));
        send(mold_.finish());
    }
    feed::ItchEncoder to_;
    feed::MoldUdp64Encoder mold_{"S1"};
    std::uint32_t order_{0};
};

/// A gateway with every sink that needs no broker, clients connected before the gap, and a second gateway fed by its
/// udp sink.
class GapOutputs : public ::testing::Test {
protected:
    void open(std::unique_ptr<Venue> venue, const std::string& format) {
        behind_ = std::make_unique<GatewayRun>(GatewayRun::Options{
            .ring = unique_ring("gap-behind"), .format = "quotes", .more = {"--tcp", "listen=127.0.0.1:0"}});
        first_ = std::make_unique<GatewayRun>(
            GatewayRun::Options{.ring = unique_ring("gap-first"),
                                .format = format,
                                .feed = format == "itch" ? ",max_orders=4096" : "",
                                .more = {"--tcp", "listen=127.0.0.1:0", "--web", "listen=127.0.0.1:0", "--csv",
                                         "flush_ms=10,path=" + csv_, "--udp", "to=" + behind_->feed_address()},
                                .ring_more = ",max_instruments=256"});
        venue_ = std::move(venue);
        venue_->connect(first_->feed_address());
        for (std::uint32_t i = 0; i < kInstruments; ++i) {
            venue_->quote(i);
            if (i % 10 == 9) {
                ASSERT_TRUE(reaches_ring(i + 1)) << i;
            }
        }
        ASSERT_TRUE(comes([&] { return marks_of_ring(first_->ring()) == complete(); }));
        early_ = std::make_unique<test::LineClient>(first_->tcp_port("tcp"));
        ASSERT_TRUE(comes([&] { return read(*early_) == complete(); }));
        const auto url = first_->word_after("web sink 'web': http://");
        web_port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.find(':') + 1)));
        page_ = std::make_unique<test::WebSocketClient>(web_port_);
        ASSERT_TRUE(comes([&] { return read(*page_) == complete(); }));
        ASSERT_TRUE(comes([&] { return marks_of_ring(behind_->ring()) == complete(); }));
    }
    void TearDown() override {
        for (auto* gateway : {first_.get(), behind_.get()}) {
            if (gateway != nullptr) {
                EXPECT_EQ(gateway->end().exit_code, 0);
            }
        }
        std::filesystem::remove(csv_);
    }

    static Marks complete() {
        auto marks = all_but({});
        for (auto& [symbol, incomplete] : marks) incomplete = false;
        return marks;
    }
    [[nodiscard]] bool reaches_ring(std::size_t count) const {
        return comes([&] { return marks_of_ring(first_->ring()).size() == count; });
    }
    template <class Client>
    static Marks read(Client& client) {
        client.receive();
        return marks_in(client.lines());
    }
    [[nodiscard]] std::string csv() const {
        std::ostringstream text;
        text << std::ifstream{csv_}.rdbuf();
        return text.str();
    }

    /// Expects these marks at every output, for existing and for new readers.
    void expect_everywhere(const Marks& marks, std::size_t count) {
        EXPECT_TRUE(comes([&] { return marks_of_ring(first_->ring()) == marks; })) << "shared memory";
        EXPECT_TRUE(comes([&] { return read(*early_) == marks; })) << "tcp";
        EXPECT_TRUE(comes([&] { return read(*page_) == marks; })) << "web";
        EXPECT_TRUE(comes([&] { return marks_of_ring(behind_->ring()) == marks; })) << "udp, the gateway behind";
        test::LineClient late{first_->tcp_port("tcp")};
        EXPECT_TRUE(comes([&] { return read(late) == marks; })) << "tcp, late";
        test::WebSocketClient late_page{web_port_};
        EXPECT_TRUE(comes([&] { return read(late_page) == marks; })) << "web, late";
        EXPECT_TRUE(comes([&] {
            const auto quotes = page_of(web_port_, "/api/quotes");
            std::size_t incomplete = 0;
            for (auto at = quotes.find("\"incomplete\":true"); at != std::string::npos;
                 at = quotes.find("\"incomplete\":true", at + 1))
                ++incomplete;
            return incomplete == count;
        })) << "/api/quotes";
        test::LineClient late_behind{behind_->tcp_port("tcp")};
        EXPECT_TRUE(comes([&] { return read(late_behind) == marks; })) << "tcp of the gateway behind, late";
        const auto number = std::to_string(count);
        for (const auto* gateway : {first_.get(), behind_.get()}) {
            EXPECT_TRUE(comes([&] {
                const auto json = gateway->page("/api/health");
                return json.find("\"instruments_incomplete\":" + number + ",") != std::string::npos &&
                       (json.find("\"stage\":\"quotes incomplete\"") != std::string::npos) == (count != 0);
            })) << gateway->page("/api/health");
            EXPECT_EQ(gateway->metric("millpond_feed_quotes_incomplete"), static_cast<std::int64_t>(count));
        }
        if (count != 0) {
            EXPECT_THAT(first_->page("/api/health"), HasSubstr("incomplete quotes: " + number + ", the first for "));
            EXPECT_THAT(first_->page("/health"), Not(HasSubstr("\r\n\r\ngood\n")));
        }
    }

    std::string csv_{std::filesystem::path{::testing::TempDir()} / (unique_ring("gap") + ".csv")};
    std::unique_ptr<GatewayRun> behind_;
    std::unique_ptr<GatewayRun> first_;
    std::unique_ptr<Venue> venue_;
    std::unique_ptr<test::LineClient> early_;
    std::unique_ptr<test::WebSocketClient> page_;
    std::uint16_t web_port_{0};
};

TEST_F(GapOutputs, OfFiftyMiaxQuotesTheOneThatCameAfterTheGapIsComplete) {
    ASSERT_NO_FATAL_FAILURE(open(std::make_unique<Miax>(), "miax-tom"));
    venue_->lose(100);
    venue_->quote(7);
    expect_everywhere(all_but({7}), 49);
    EXPECT_TRUE(comes([&] { return csv().find(",,,,,,,0,gap\n") != std::string::npos; }));
    // A single side does not complete a quote.
    ASSERT_TRUE(venue_->bid(8));
    expect_everywhere(all_but({7}), 49);
    EXPECT_TRUE(
        comes([&] { return csv().find("1008,1.0500,11,2.0000,10,0.9500,0,incomplete\n") != std::string::npos; }));
    for (std::uint32_t i = 0; i < kInstruments; ++i) venue_->quote(i);
    expect_everywhere(complete(), 0);
}

TEST_F(GapOutputs, AMiaxMessageThatIsNotUnderstoodIsALossToo) {
    ASSERT_NO_FATAL_FAILURE(open(std::make_unique<Miax>(), "miax-tom"));
    venue_->send_unknown();
    venue_->quote(7);
    expect_everywhere(all_but({7}), 49);
    EXPECT_TRUE(first_->program().prints("could not be decoded: its quotes are incomplete until newer ones arrive"));
}

TEST_F(GapOutputs, AfterAGapAllItchQuotesAreIncomplete) {
    ASSERT_NO_FATAL_FAILURE(open(std::make_unique<Itch>(), "itch"));
    venue_->lose(100);
    venue_->quote(7);
    // A book with a gap stays incomplete: the lost messages may include a better price.
    expect_everywhere(all_but({}), kInstruments);
    EXPECT_TRUE(first_->program().prints("are missing: its quotes are incomplete until its next session"));
}

TEST_F(GapOutputs, AnItchMessageOfAWrongLengthIsALossToo) {
    ASSERT_NO_FATAL_FAILURE(open(std::make_unique<Itch>(), "itch"));
    venue_->send_unknown();
    expect_everywhere(all_but({}), kInstruments);
}

}  // namespace
}  // namespace millpond::app
