#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/market/books.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>
#include <millpond/net/udp_receiver.hpp>

#include "gateway/sinks/sink_thread.hpp"
#include "gateway/sinks/udp/udp_sink.hpp"
#include "service/config_error.hpp"
#include "tests/gateway/sinks/ring_fixture.hpp"
#include "tests/gateway/sinks/settings_with.hpp"

namespace millpond::gateway::udp {
namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;
constexpr std::int64_t kPatienceNs = 20'000'000'000;
constexpr feed::InstrumentId kLadders = 6;
constexpr std::uint32_t kFeedDepth = 4;

const service::LogFunction kSilent = [](service::Severity, std::string_view, const std::string&) {};

using Levels = std::vector<SentLevels::Level>;

/// Both sides of a book, the best levels first.
struct Sides {
    Levels bids;
    Levels asks;
    friend bool operator==(const Sides&, const Sides&) = default;
};

Levels best(market::Book::Levels levels, std::uint32_t depth) {
    Levels result;
    for (const auto& level : levels) {
        if (result.size() < depth) result.push_back({level.price, level.size, level.orders});
    }
    return result;
}
Sides best(const market::Book& book, std::uint32_t depth) {
    return {best(book.bids(), depth), best(book.asks(), depth)};
}

/// All levels of an instrument, and the events that a feed of depth kFeedDepth makes of their changes.
class Market {
public:
    [[nodiscard]] Sides best(std::uint32_t depth) const {
        Sides sides;
        for (auto it = bids_.rbegin(); it != bids_.rend() && sides.bids.size() < depth; ++it)
            sides.bids.push_back(level_of(*it));
        for (auto it = asks_.begin(); it != asks_.end() && sides.asks.size() < depth; ++it)
            sides.asks.push_back(level_of(*it));
        return sides;
    }
    void clear() {
        bids_.clear();
        asks_.clear();
    }
    /// Changes a level, and returns the events.
    std::vector<feed::Level> change(std::mt19937& random) {
        const auto before = best(kFeedDepth);
        const auto side = random() % 2 == 0 ? feed::Side::bid : feed::Side::ask;
        auto& levels = side == feed::Side::bid ? bids_ : asks_;
        const auto price = static_cast<feed::Price>(random() % 9) + (side == feed::Side::bid ? 0 : 100);
        if (random() % 3 == 0) {
            levels.erase(price);
        } else {
            levels[price] = {1 + random() % 5, static_cast<std::uint32_t>(random() % 3)};
        }
        const auto after = best(kFeedDepth);
        std::vector<feed::Level> events;
        add_changes(side, side == feed::Side::bid ? before.bids : before.asks,
                    side == feed::Side::bid ? after.bids : after.asks, events);
        if (!events.empty()) events.back().flags |= feed::kLast;
        return events;
    }
    [[nodiscard]] std::vector<feed::Level> snapshot() const {
        std::vector<feed::Level> events(1);
        const auto all = best(kFeedDepth);
        for (const auto& level : all.bids) events.push_back(event_of(feed::Side::bid, level));
        for (const auto& level : all.asks) events.push_back(event_of(feed::Side::ask, level));
        for (auto& event : events) event.flags |= feed::kSnapshot;
        events.back().flags |= feed::kLast;
        return events;
    }

private:
    struct Total {
        std::uint64_t size{0};
        std::uint32_t orders{0};
    };
    static SentLevels::Level level_of(const std::pair<const feed::Price, Total>& entry) {
        return {entry.first, entry.second.size, entry.second.orders};
    }
    static feed::Level event_of(feed::Side side, const SentLevels::Level& level) {
        feed::Level event;
        event.side = side;
        event.price = level.price;
        event.size = level.size;
        event.orders = level.orders;
        return event;
    }
    static void add_changes(feed::Side side, const Levels& before, const Levels& after,
                            std::vector<feed::Level>& events) {
        for (const auto& level : before) {
            const bool stays = std::ranges::find(after, level.price, &SentLevels::Level::price) != after.end();
            const bool is_behind =
                after.size() == kFeedDepth &&
                (side == feed::Side::bid ? level.price < after.back().price : level.price > after.back().price);
            if (!stays && !is_behind) events.push_back(event_of(side, {.price = level.price}));
        }
        for (const auto& level : after) {
            if (std::ranges::find(before, level) == before.end()) events.push_back(event_of(side, level));
        }
    }

    std::map<feed::Price, Total> bids_;
    std::map<feed::Price, Total> asks_;
};

/// A receiving gateway: its decoder, and the books of its readers. Each group is compared with what was sent.
class Receiver {
public:
    /// What was sent with the group whose exchange time is the index.
    struct Sent {
        Sides sides;
        bool complete{false};
    };

    Receiver(std::uint32_t depth, const std::vector<Sent>& sent) : depth_(depth), sent_(&sent) {}

    void decode(const std::vector<std::byte>& datagram) { ASSERT_TRUE(decoder_.decode(datagram, {}, *this).ok()); }
    template <class Event>
    void on(const Event& event) {
        if (!books_.on(event)) return;
        if constexpr (requires { event.exchange_utc_ns; }) check(event.instrument, event.exchange_utc_ns);
    }
    [[nodiscard]] const market::Book* book(std::string_view symbol) const {
        const auto id = instruments_.find(feed::Venue{"X"}, feed::Symbol{symbol});
        return id == feed::kNoInstrument ? nullptr : books_.find(id);
    }
    [[nodiscard]] bool is_complete(std::string_view symbol) const {
        const auto* const found = book(symbol);
        return found != nullptr && found->complete();
    }
    [[nodiscard]] const feed::QuotesDecoder& decoder() const { return decoder_; }
    /// Number of groups after which a book was complete.
    [[nodiscard]] std::uint64_t complete_groups() const { return complete_groups_; }

private:
    void check(feed::InstrumentId id, std::int64_t group) {
        const auto* const found = books_.find(id);
        if (found == nullptr || !found->complete()) return;
        const auto& wanted = sent_->at(static_cast<std::size_t>(group));
        ASSERT_TRUE(wanted.complete) << "an incomplete book looks complete";
        ASSERT_EQ(best(*found, depth_), wanted.sides);
        ++complete_groups_;
    }

    std::uint32_t depth_;
    const std::vector<Sent>* sent_;
    feed::InstrumentTable instruments_{16};
    feed::QuotesDecoder decoder_{instruments_, {.depth = depth_}};
    market::Books books_{{.max_instruments = 16},
                         [this](std::uint16_t) { return market::ChannelDepth{depth_, false}; }};
    std::uint64_t complete_groups_{0};
};

class UdpLevels : public ::testing::Test {
protected:
    explicit UdpLevels(std::uint32_t depth = 3)
        : socket_({.local = net::SocketAddress::parse("127.0.0.1:0")}),
          depth_(depth),
          sink_(settings(), 42,
                [this](service::Severity, std::string_view, const std::string& text) { logged_ += text; }) {
        writer_.set_depth(0, {.depth = kFeedDepth, .orders = false});
        writer_.set_depth(1, {.depth = depth - 1, .orders = false});
        sink_.open(reader_);
        for (feed::InstrumentId id = 0; id < kLadders; ++id)
            sink_.name(id, feed::Venue{"X"}, feed::Symbol{symbol(id)}, feed::kDefaultDecimals);
    }
    [[nodiscard]] Settings settings() const {
        return test::settings_with<Settings>([this](Settings& s) {
            s.to = socket_.report().local;
            s.depth = depth_;
            s.refresh_seconds = 1;
        });
    }
    static std::string symbol(feed::InstrumentId id) { return "S" + std::to_string(id); }

    /// A change within the feed's depth.
    std::vector<feed::Level> change(feed::InstrumentId id) {
        for (;;) {
            if (auto events = markets_[id].change(random_); !events.empty()) return events;
        }
    }
    /// Passes a group to the sink.
    void send(feed::InstrumentId id, std::vector<feed::Level> events) {
        if (events.empty()) return;
        if ((events.front().flags & feed::kSnapshot) != 0) complete_[id] = true;
        sent_.push_back({.sides = markets_[id].best(3), .complete = complete_[id]});
        for (auto& event : events) {
            event.instrument = id;
            event.exchange_utc_ns = static_cast<std::int64_t>(sent_.size() - 1);
            if (!complete_[id]) event.flags |= feed::kIncomplete;
            ASSERT_EQ(sink_.on(event, ++number_), Admission::kept);
        }
    }
    /// Changes the sink's levels of an instrument.
    void send_change(feed::InstrumentId id) {
        while (sink_.held() == 0) send(id, change(id));
    }
    /// Runs a round of the sink a millisecond later, and returns its datagrams.
    std::vector<std::vector<std::byte>> step() {
        sink_.step(now_ += kMillisecondNs);
        return datagrams_of(sink_);
    }
    /// The datagrams of the only sink that sends.
    std::vector<std::vector<std::byte>> datagrams_of(const UdpSink& sink) {
        std::vector<std::vector<std::byte>> all;
        const auto deadline = core::monotonic_nanos() + kPatienceNs;
        while (taken_ < sink.sender().counters().datagrams.read() && core::monotonic_nanos() < deadline) {
            for (const auto& datagram : socket_.poll()) {
                all.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
                ++taken_;
            }
        }
        EXPECT_EQ(taken_, sink.sender().counters().datagrams.read());
        return all;
    }
    void deliver(Receiver& receiver) {
        for (const auto& datagram : step()) receiver.decode(datagram);
    }
    /// Time for all entries to be repeated at least once.
    void deliver_a_cycle(Receiver& receiver) {
        for (int i = 0; i < 2'100; ++i) deliver(receiver);
    }
    void expect_equal(const Receiver& receiver) {
        for (feed::InstrumentId id = 0; id < kLadders; ++id) {
            const auto* const book = receiver.book(symbol(id));
            ASSERT_NE(book, nullptr);
            ASSERT_TRUE(book->complete()) << symbol(id);
            EXPECT_EQ(best(*book, 3), markets_[id].best(3));
        }
    }

    std::string name_{ring_name("udp-levels")};
    market::RingWriter writer_{{.name = name_,
                                .capacity = 64,
                                .max_instruments = 16,
                                .max_channels = 4,
                                .depth = kFeedDepth,
                                .memory = {.prefault = true, .mode = 0600}}};
    market::RingReader reader_{{.name = name_}};
    net::UdpReceiver socket_;
    std::uint32_t depth_;
    UdpSink sink_;
    std::string logged_;
    std::array<Market, kLadders> markets_;
    std::array<bool, kLadders> complete_{};
    std::vector<Receiver::Sent> sent_{{.sides = {}, .complete = true}};  // first that of a Clear
    std::uint64_t number_{0};
    std::uint64_t taken_{0};
    std::int64_t now_{1'000 * kMillisecondNs};
    std::mt19937 random_{38};
};

TEST_F(UdpLevels, AReceivingGatewayHasTheSendersBooksCutToTheDepth) {
    Receiver receiver{3, sent_};
    for (feed::InstrumentId id = 0; id < kLadders; ++id) send(id, markets_[id].snapshot());
    for (int i = 0; i < 3'000; ++i) {
        const auto id = static_cast<feed::InstrumentId>(random_() % kLadders);
        send(id, markets_[id].change(random_));
        if (random_() % 3 == 0) deliver(receiver);
    }
    deliver(receiver);
    EXPECT_EQ(sink_.held(), 0U);
    expect_equal(receiver);
    EXPECT_EQ(receiver.decoder().counters().gaps.read(), 0U);
    EXPECT_GT(receiver.complete_groups(), 1'000U);
}

TEST_F(UdpLevels, AGroupWithAQuoteIsOneEntry) {
    Receiver receiver{3, sent_};
    send(0, markets_[0].snapshot());
    deliver(receiver);
    auto events = change(0);
    events.back().flags = 0;
    send(0, events);
    auto quote = quote_of(0, 5);
    quote.flags = feed::kLast;
    quote.exchange_utc_ns = static_cast<std::int64_t>(sent_.size() - 1);
    const auto entries = receiver.decoder().sequence().next();
    sink_.on(quote, ++number_);
    deliver(receiver);
    EXPECT_EQ(receiver.decoder().sequence().next(), entries + 1);
    EXPECT_EQ(receiver.decoder().counters().quotes.read(), 1U);
    EXPECT_TRUE(receiver.is_complete("S0"));
    EXPECT_EQ(sink_.held(), 0U);
}

TEST_F(UdpLevels, ALostDatagramLeavesAllBooksOfTheFeedIncompleteUntilTheyAreRepeated) {
    Receiver receiver{3, sent_};
    for (feed::InstrumentId id = 0; id < kLadders; ++id) {
        send(id, markets_[id].change(random_));
        send(id, markets_[id].snapshot());
    }
    deliver_a_cycle(receiver);
    expect_equal(receiver);
    send_change(0);
    (void)step();  // lost
    send_change(1);
    for (feed::InstrumentId id = 0; id < kLadders; ++id) EXPECT_TRUE(receiver.is_complete(symbol(id)));
    deliver(receiver);
    std::size_t complete = 0;
    for (feed::InstrumentId id = 0; id < kLadders; ++id) complete += receiver.is_complete(symbol(id)) ? 1U : 0U;
    EXPECT_EQ(complete, 0U);
    deliver_a_cycle(receiver);
    expect_equal(receiver);
}

TEST_F(UdpLevels, AfterMissedEntriesTheBooksAreThoseOfTheBoard) {
    Receiver receiver{3, sent_};
    writer_.name(0, feed::Venue{"X"}, feed::Symbol{"S0"});
    writer_.name(1, feed::Venue{"X"}, feed::Symbol{"S1"});
    auto made = std::make_unique<UdpSink>(settings(), 43, kSilent);
    const auto& sink = *made;
    SinkThread thread{{.ring = name_, .name = "udp"}, std::move(made), kSilent};
    const auto publish = [&](feed::InstrumentId id, std::vector<feed::Level> events) {
        sent_.push_back({.sides = markets_[id].best(3), .complete = true});
        for (auto& event : events) {
            event.instrument = id;
            event.exchange_utc_ns = static_cast<std::int64_t>(sent_.size() - 1);
            ASSERT_TRUE(writer_.publish(event));
        }
    };
    const auto round = [&] {
        thread.round(now_ += kMillisecondNs);
        for (const auto& datagram : datagrams_of(sink)) receiver.decode(datagram);
    };
    publish(0, markets_[0].snapshot());
    round();
    for (int i = 0; i < 30; ++i) {
        const auto read = writer_.newest();
        publish(0, change(0));
        if (i == 10) publish(1, markets_[1].snapshot());  // its first levels are lost
        while (writer_.newest() < read + 2 * writer_.capacity()) publish(0, change(0));
        for (int n = 0; n < 3; ++n) round();
        ASSERT_TRUE(receiver.is_complete("S0"));
        EXPECT_EQ(best(*receiver.book("S0"), 3), markets_[0].best(3));
        if (i < 10) continue;
        ASSERT_TRUE(receiver.is_complete("S1"));
        publish(1, change(1));
        round();
        EXPECT_EQ(best(*receiver.book("S1"), 3), markets_[1].best(3));
    }
    EXPECT_NE(thread.account().missed, 0U);
    EXPECT_TRUE(thread.account().closes());
}

TEST_F(UdpLevels, LevelsOfAGroupThatALossOrAClearCutsCountAsMissed) {
    send(0, markets_[0].snapshot());
    (void)step();
    const auto send_open_group = [&](feed::InstrumentId id) {
        auto events = change(id);
        events.back().flags = 0;
        send(id, events);
        return events.size();
    };
    auto dropped = send_open_group(0);
    EXPECT_EQ(sink_.held(), dropped);
    sink_.missed(number_ + 1, number_ + 1);
    EXPECT_EQ(sink_.held(), 0U);
    EXPECT_EQ(sink_.refused_events(), dropped);
    send(0, markets_[0].snapshot());
    const auto waiting = send_open_group(0);
    sink_.on(feed::Clear{.channel = 1}, ++number_);
    (void)step();
    EXPECT_EQ(sink_.held(), waiting) << "the Clear is of another channel";
    sink_.on(feed::Clear{.channel = 0}, ++number_);
    (void)step();
    dropped += waiting;
    EXPECT_EQ(sink_.held(), 0U);
    EXPECT_EQ(sink_.refused_events(), dropped);
}

TEST_F(UdpLevels, AReceiverThatJoinsLateIsCompleteWithinACycle) {
    for (feed::InstrumentId id = 0; id < kLadders; ++id) send(id, markets_[id].snapshot());
    (void)step();
    Receiver receiver{3, sent_};
    send_change(0);
    deliver(receiver);
    EXPECT_FALSE(receiver.is_complete("S0"));
    deliver_a_cycle(receiver);
    expect_equal(receiver);
    const auto levels = receiver.decoder().counters().levels.read();
    deliver_a_cycle(receiver);
    EXPECT_EQ(receiver.decoder().counters().levels.read(), levels) << "nothing was lost since";
}

TEST_F(UdpLevels, RepeatedLevelsHaveTheTimeOfTheirLastChangeBesideAnOlderQuote) {
    send(0, markets_[0].snapshot());
    auto quote = quote_of(0, 5);
    quote.flags = feed::kLast;
    quote.exchange_utc_ns = static_cast<std::int64_t>(sent_.size() - 1);
    sink_.on(quote, ++number_);
    for (int i = 0; i < 20; ++i) send_change(0);
    (void)step();
    Receiver receiver{3, sent_};
    deliver_a_cycle(receiver);
    EXPECT_TRUE(receiver.is_complete("S0"));
}

TEST_F(UdpLevels, ABookIsCompleteOnlyIfItIsExactWhateverIsLostDoubledLateOrCleared) {
    Receiver receiver{3, sent_};
    std::vector<std::byte> late;
    for (int i = 0; i < 20'000; ++i) {
        const auto id = static_cast<feed::InstrumentId>(random_() % kLadders);
        switch (random_() % 200) {
            case 0:
                complete_ = {};
                sink_.on(feed::Gap{.channel = 0}, ++number_);
                break;
            case 1:
                complete_ = {};
                sink_.missed(number_ + 1, number_ + 3);
                number_ += 3;
                break;
            case 2:
                sink_.on(feed::Clear{.channel = 0}, ++number_);
                complete_.fill(true);  // and empty
                for (auto& market : markets_) market.clear();
                break;
            case 3: sink_.on(feed::Clear{.channel = 1}, ++number_); break;
            case 4:
            case 5:
            case 6:
            case 7:
            case 8:
            case 9: send(id, markets_[id].snapshot()); break;
            default: send(id, markets_[id].change(random_));
        }
        if (random_() % 4 != 0) continue;
        for (auto& datagram : step()) {
            const auto fate = random_() % 100;
            if (fate < 2) continue;
            if (fate < 4) {
                late = std::move(datagram);
                continue;
            }
            receiver.decode(datagram);
            if (fate < 8) receiver.decode(datagram);
            if (fate < 12 && !late.empty()) receiver.decode(std::exchange(late, {}));
        }
    }
    EXPECT_GT(receiver.decoder().counters().gaps.read(), 20U);
    EXPECT_GT(receiver.decoder().counters().clears.read(), 20U);
    EXPECT_GT(receiver.complete_groups(), 500U);
    for (feed::InstrumentId id = 0; id < kLadders; ++id) send(id, markets_[id].snapshot());
    deliver_a_cycle(receiver);
    expect_equal(receiver);
    EXPECT_EQ(sink_.held(), 0U);
}

TEST_F(UdpLevels, LevelsOfAFeedThatSendsFewerAreFilteredAndReported) {
    feed::Level level;
    level.instrument = 0;
    level.channel = 1;
    level.flags = feed::kSnapshot | feed::kLast;
    EXPECT_EQ(sink_.on(level, 1), Admission::filtered);
    EXPECT_EQ(logged_, "udp sink 'udp': does not send the levels of channel 1, whose depth 2 is less than 3");
}

TEST(UdpDepth, IsLimitedByTheDatagramAndNotConflated) {
    const std::vector<SinkConfig> none;
    const auto error_of = [&](std::uint32_t depth, Delivery mode) -> std::string {
        SinkConfig config{Settings::kind()};
        auto& settings = *config.as<Settings>();
        settings.to = net::SocketAddress::parse("127.0.0.1:1");
        settings.depth = depth;
        settings.mode = mode;
        try {
            config.complete({.user = "[[udp]] 'a'", .sinks = none});
        } catch (const service::ConfigError& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_EQ(error_of(33, Delivery::every), "");
    EXPECT_EQ(error_of(34, Delivery::every),
              "[[udp]] 'a': depth 34 is more than 33: 68 levels of 20 bytes and 128 other bytes need a datagram of "
              "1488 bytes, but the largest has 1472");
    EXPECT_EQ(error_of(5, Delivery::conflate), "[[udp]] 'a': depth 5 needs mode 'every': levels are not conflated");
    EXPECT_EQ(error_of(0, Delivery::conflate), "");
}

}  // namespace
}  // namespace millpond::gateway::udp
