// IEX DEEP and DEEP+: their messages, and books compared with a plain reading of the same messages.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_deep_plus.hpp>
#include <millpond/feed/iex_encoder.hpp>

#include "tests/feed/real_data.hpp"
#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

using Bytes = std::vector<std::byte>;

struct LevelView {
    std::uint64_t size{0};
    std::uint32_t orders{0};
    friend bool operator==(const LevelView&, const LevelView&) = default;
};
using SideView = std::map<Price, LevelView>;

/// Keeps all events, and the books that a reader of levels makes of them.
struct Reader : Recorder {
    using Recorder::on;
    std::vector<Order> orders;
    std::vector<Level> levels;
    std::size_t depth{0};
    std::map<InstrumentId, std::array<SideView, 2>> books;
    std::map<InstrumentId, std::map<std::uint64_t, Order>> live;
    std::map<InstrumentId, bool> is_open;  // a group without its last event

    void on(const Quote& quote) {
        Recorder::on(quote);
        end(quote.instrument, quote.flags);
    }
    void on(const Trade& trade) {
        Recorder::on(trade);
        end(trade.instrument, trade.flags);
    }
    void on(const Order& event) {
        orders.push_back(event);
        auto& mine = live[event.instrument];
        switch (event.action) {
            case OrderAction::clear: mine.clear(); break;
            case OrderAction::add: mine[event.order_id] = event; break;
            case OrderAction::modify:
                ASSERT_TRUE(mine.contains(event.order_id));
                mine[event.order_id].price = event.price;
                mine[event.order_id].size_left = event.size_left;
                break;
            default:
                ASSERT_TRUE(mine.contains(event.order_id));
                ASSERT_EQ(mine[event.order_id].price, event.price);
                mine[event.order_id].size_left -= event.size;
                ASSERT_EQ(mine[event.order_id].size_left, event.size_left);
                if (event.size_left == 0) mine.erase(event.order_id);
        }
        end(event.instrument, event.flags);
    }
    void on(const Level& event) {
        levels.push_back(event);
        auto& book = books[event.instrument];
        if (event.side == Side::none) {
            book = {};
        } else if (event.size == 0) {
            EXPECT_EQ(side(event).erase(event.price), 1U);
        } else {
            side(event)[event.price] = {event.size, event.orders};
        }
        end(event.instrument, event.flags);
    }

private:
    SideView& side(const Level& event) { return books[event.instrument][event.side == Side::bid ? 0 : 1]; }
    void end(InstrumentId id, std::uint16_t flags) {
        if (depth == 0) return;
        is_open[id] = (flags & kLast) == 0;
        if ((flags & kLast) == 0) return;
        while (books[id][0].size() > depth) books[id][0].erase(books[id][0].begin());
        while (books[id][1].size() > depth) books[id][1].erase(std::prev(books[id][1].end()));
    }
};

template <class Decoder>
class IexBook : public testing::Test {
protected:
    static constexpr bool kPlus = std::is_same_v<Decoder, IexDeepPlusDecoder>;
    static constexpr std::uint16_t kProtocol = kPlus ? iex_layout::kDeepPlus : iex_layout::kDeep;

    explicit IexBook(std::uint32_t depth = 3) {
        typename Decoder::Options options;
        options.order_books = {.books = 128, .orders = 1'024, .level_chunks = 256};
        options.depth = depth;
        options.orders = kPlus;
        decoder_.emplace(instruments_, options);
        seen_.depth = depth;
    }
    DecodeResult receive(std::span<const std::byte> bytes) {
        now_ += 1'000'000;
        const ExactCopy copy{bytes};
        const auto result =
            decoder_->decode(copy.span(), {.receive_utc_ns = now_, .receive_ticks = 6, .channel = 0}, seen_);
        const auto& all = decoder_->counters();
        EXPECT_EQ(all.messages.read(), all.applied.read() + all.ignored.read() + all.unknown.read() + all.stale.read() +
                                           all.refused.read() + all.rejected.read());
        EXPECT_EQ(all.levels.read(), seen_.levels.size());
        EXPECT_EQ(all.orders.read(), seen_.orders.size());
        return result;
    }
    DecodeResult send(const std::vector<Bytes>& messages, std::uint64_t first = 0, std::uint32_t session = 1) {
        if (first == 0) first = next_;
        IexEncoder encoder{
            {.protocol = kProtocol, .session = {.number = session, .channel = 1}, .first_sequence = first}};
        std::array<std::byte, 1'472> buffer;
        encoder.begin(buffer);
        for (const auto& message : messages) EXPECT_TRUE(encoder.add(message));
        next_ = encoder.next_sequence();
        return receive(encoder.finish(9));
    }
    void publish_snapshots() {
        static_cast<void>(
            decoder_->publish_snapshots(32, {.receive_utc_ns = now_, .receive_ticks = 0, .channel = 0}, seen_));
    }
    static Bytes kept(IexMessageWriter::Bytes bytes) { return {bytes.begin(), bytes.end()}; }
    Bytes level(char side, std::int64_t price, std::uint32_t size, bool complete = true,
                std::string_view symbol = "AAPL") {
        return kept(writer_.level(side, symbol, size, price, complete));
    }
    Bytes add(std::uint64_t id, char side, std::uint32_t size, std::int64_t price, std::string_view symbol = "AAPL") {
        return kept(writer_.order_added(symbol, id, side, size, price));
    }
    [[nodiscard]] std::string_view name(InstrumentId id) const { return instruments_.symbol(id).view(); }
    [[nodiscard]] std::uint64_t counter(std::string_view wanted) const {
        std::uint64_t value = 0;
        decoder_->visit_counters([&](std::string_view name, std::string_view, const core::Tally& tally) {
            if (name == wanted) value = tally.read();
        });
        return value;
    }

    InstrumentTable instruments_{128};
    std::optional<Decoder> decoder_;
    Reader seen_;
    IexMessageWriter writer_;
    std::uint64_t next_{1};
    std::int64_t now_{1'700'000'000'000'000'000};
};

using IexDeepTest = IexBook<IexDeepDecoder>;
using IexDeepPlusTest = IexBook<IexDeepPlusDecoder>;

Price venue(std::int64_t price) { return price * 100'000; }

/// The example of IEX Transport Protocol 1.26, pages 10 and 11: a trade and a level of DEEP.
TEST_F(IexDeepTest, TheSegmentOfTheSpecificationIsRead) {
    const auto result =
        receive(from_hex("01 00 0480 01000000 00008742 4800 0200 8ca6210000000000 cac3000000000000 ec45c22096866d14"
                         "2600 54 00 ac63c02096866d14 5a49455854202020 64000000 241d0f0000000000 968f060000000000"
                         "1e00 38 01 ac63c02096866d14 5a49455854202020 e4250000 241d0f0000000000"));
    EXPECT_TRUE(result.ok());
    ASSERT_EQ(seen_.trades.size(), 1U);
    EXPECT_EQ(seen_.trades[0].trade_id, 429'974U);
    EXPECT_EQ(seen_.trades[0].flags, kLast);
    ASSERT_EQ(seen_.levels.size(), 1U);
    EXPECT_EQ(seen_.levels[0].price, 99'050'000'000);
    EXPECT_EQ(seen_.levels[0].size, 9'700U);
    EXPECT_EQ(seen_.levels[0].orders, 0U);
    EXPECT_EQ(seen_.levels[0].side, Side::bid);
    ASSERT_EQ(seen_.quotes.size(), 1U);
    EXPECT_EQ(seen_.quotes[0].bid_price, 99'050'000'000);
    EXPECT_EQ(seen_.quotes[0].bid_size, 9'700U);
    EXPECT_EQ(seen_.quotes[0].flags, kIncomplete | kLast);  // message 50122 is not the session's first
    EXPECT_EQ(seen_.quotes[0].exchange_utc_ns, 1'471'980'632'572'715'948);
}

/// The example of IEX DEEP 1.08, pages 18 and 19.
TEST_F(IexDeepTest, InTransitionTheOldBestPricesStay) {
    send({kept(writer_.system_event('O')), level('5', 253'000, 100), level('5', 252'000, 100), level('5', 251'000, 100),
          level('8', 250'000, 100), level('8', 249'000, 100)});
    ASSERT_EQ(seen_.quotes.back().bid_price, venue(250'000));
    ASSERT_EQ(seen_.quotes.back().ask_price, venue(251'000));
    ASSERT_EQ(seen_.quotes.back().flags, kLast);
    const auto events = seen_.order.size() + seen_.levels.size();
    send({level('5', 251'000, 0, false)});
    EXPECT_EQ(seen_.order.size() + seen_.levels.size(), events);
    send({level('5', 252'000, 0)});
    EXPECT_EQ(seen_.quotes.back().ask_price, venue(253'000));
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
    EXPECT_EQ(seen_.books[0][1], (SideView{{venue(253'000), {100, 0}}}));
}

TEST_F(IexDeepTest, OtherInstrumentsAndTradesComeBetweenTheMessagesOfAGroup) {
    send({kept(writer_.system_event('O')), level('5', 110, 100), level('8', 100, 100)});
    send({level('8', 101, 100, false), level('8', 50, 1, true, "MSFT"), kept(writer_.trade("AAPL", 5, 105, 1)),
          level('5', 50, 1, false, "MSFT")});
    EXPECT_EQ(seen_.trades.size(), 1U);
    EXPECT_EQ(seen_.quotes.back().bid_price, venue(50));
    send({level('5', 109, 200)});
    EXPECT_EQ(seen_.quotes.back().bid_price, venue(101));
    EXPECT_EQ(seen_.quotes.back().ask_price, venue(109));
    EXPECT_EQ(seen_.quotes.back().ask_size, 200U);
}

TEST_F(IexDeepTest, AnUnknownLevelOfSizeZeroIsIgnored) {
    send({kept(writer_.system_event('O')), level('5', 110, 100)});
    const auto events = seen_.levels.size();
    send({level('5', 111, 0), level('5', 111, 50, false), level('5', 111, 0)});
    EXPECT_EQ(seen_.levels.size(), events);
    EXPECT_EQ(seen_.quotes.back().flags & kIncomplete, 0);
}

TEST_F(IexDeepTest, AGroupThatIsNotCompleteAfterASecondMakesTheInstrumentIncomplete) {
    send({kept(writer_.system_event('O')), level('5', 110, 100), level('5', 50, 1, true, "MSFT")});
    send({level('5', 109, 100, false)});
    now_ += IexDeep::kOpenNs - 2'000'000;
    send({});
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
    send({});
    EXPECT_EQ(name(seen_.quotes.back().instrument), "AAPL");
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    EXPECT_EQ(seen_.quotes.back().ask_price, venue(110));
    EXPECT_EQ(counter("groups_dropped"), 1U);
    send({level('5', 49, 1, true, "MSFT")});
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
}

TEST_F(IexDeepTest, AGapDropsTheGroupAndBooksAreIncompleteUntilTheNextSession) {
    send({kept(writer_.system_event('O')), level('5', 110, 100)});
    send({level('5', 109, 100, false)});
    send({level('5', 108, 100)}, next_ + 1);
    EXPECT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    EXPECT_EQ(seen_.quotes.back().ask_price, venue(108));
    EXPECT_FALSE(seen_.books[0][1].contains(venue(109)));
    EXPECT_EQ(counter("groups_dropped"), 1U);
    send({kept(writer_.system_event('O')), level('5', 120, 100)}, 1, 2);
    send({level('8', 119, 100)}, 3, 2);
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
    EXPECT_EQ(seen_.books[0][1], (SideView{{venue(120), {100, 0}}}));
}

TEST_F(IexDeepTest, AGroupWithTooManyChangesMakesTheInstrumentIncomplete) {
    send({kept(writer_.system_event('O')), level('5', 110, 100)});
    for (std::size_t i = 0; i <= IexDeep::kMaxChanges; ++i)
        send({level('8', 1 + static_cast<std::int64_t>(i % 90), 1, false)});
    EXPECT_EQ(counter("groups_dropped"), 1U);
    EXPECT_EQ(decoder_->counters().refused.read(), 1U);
    EXPECT_EQ(decoder_->counters().applied.read(), 2 + IexDeep::kMaxChanges);
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
}

TEST_F(IexDeepTest, APriceThatDoesNotFitDropsTheGroup) {
    send({kept(writer_.system_event('O')), level('5', 110, 100)});
    send({level('5', 109, 100, false), level('5', 7'000'000'000, 1)});
    EXPECT_EQ(counter("groups_dropped"), 1U);
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    send({level('5', 108, 100)});
    EXPECT_FALSE(seen_.books[0][1].contains(venue(109)));
}

TEST_F(IexDeepTest, AMessageThatCannotBeReadDropsAllGroups) {
    for (const bool is_short : {true, false}) {
        SCOPED_TRACE(is_short);
        const auto dropped = counter("groups_dropped");
        send({kept(writer_.system_event('O')), level('5', 110, 100)}, 1, is_short ? 1 : 2);
        send({level('5', 109, 100, false)}, 0, is_short ? 1 : 2);
        auto unreadable = level('8', 50, 1, true, is_short ? "MSFT" : "");
        if (is_short) unreadable.pop_back();
        send({unreadable, level('5', 108, 100)}, 0, is_short ? 1 : 2);
        EXPECT_EQ(seen_.gaps.size(), is_short ? 1U : 2U);
        EXPECT_EQ(counter("groups_dropped"), dropped + 1);
        EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
        EXPECT_EQ(seen_.books[0][1], (SideView{{venue(108), {100, 0}}, {venue(110), {100, 0}}}));
    }
}

TEST_F(IexDeepTest, TheStartOfMessagesMakesBooksCompleteOnlyBeforeTheFirstLevel) {
    send({kept(writer_.system_event('O')), level('5', 110, 100)}, 5);
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
    for (const bool is_group : {false, true}) {
        SCOPED_TRACE(is_group);
        const auto session = is_group ? 3U : 2U;
        send({level('5', 110, 100, !is_group)}, 5, session);
        send({kept(writer_.system_event('O')), level('5', 109, 100)}, 0, session);
        EXPECT_EQ(seen_.quotes.back().ask_price, venue(109));
        EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    }
}

TEST_F(IexDeepTest, APriceThatDoesNotFitMakesItsInstrumentIncomplete) {
    send({kept(writer_.system_event('O')), level('5', 110, 100), level('5', 7'000'000'000, 1, true, "BRKA")});
    EXPECT_EQ(name(seen_.quotes.back().instrument), "BRKA");
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    EXPECT_EQ(counter("prices_refused"), 1U);
    EXPECT_EQ(counter("orders_refused"), 0U);  // which means a full table
    send({level('5', 109, 100)});
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
}

/// Levels of two instruments at random, in groups, against a plain map of levels.
TEST_F(IexDeepTest, BooksOfReadersEqualAPlainReadingAfterEachGroup) {
    std::mt19937 random{39};
    std::array<std::array<SideView, 2>, 2> all;
    send({kept(writer_.system_event('O'))});
    constexpr std::array<std::string_view, 2> kNames{"AAPL", "MSFT"};
    std::array<std::vector<std::function<void()>>, 2> pending;
    for (int step = 0; step < 20'000; ++step) {
        const auto which = random() % 2;
        const bool is_bid = random() % 2 == 0;
        const std::int64_t price =
            is_bid ? 100 - static_cast<std::int64_t>(random() % 9) : 101 + static_cast<std::int64_t>(random() % 9);
        const auto size = random() % 3 == 0 ? 0 : static_cast<std::uint32_t>(1 + random() % 5);
        const bool complete = random() % 3 != 0;
        pending[which].emplace_back([&all, which, is_bid, price, size] {
            auto& side = all[which][is_bid ? 0 : 1];
            side.erase(venue(price));
            if (size != 0) side[venue(price)] = {size, 0};
        });
        if (complete) {
            for (const auto& change : pending[which]) change();
            pending[which].clear();
        }
        send({level(is_bid ? '8' : '5', price, size, complete, kNames[which])});
        for (InstrumentId id = 0; id < instruments_.size(); ++id) {
            const auto& book = all[name(id) == kNames[0] ? 0 : 1];
            SideView bids;
            for (auto it = book[0].rbegin(); it != book[0].rend() && bids.size() < 3; ++it) bids.insert(*it);
            SideView asks;
            for (auto it = book[1].begin(); it != book[1].end() && asks.size() < 3; ++it) asks.insert(*it);
            ASSERT_EQ(seen_.books[id][0], bids) << "step " << step;
            ASSERT_EQ(seen_.books[id][1], asks) << "step " << step;
            ASSERT_FALSE(seen_.is_open[id]);
        }
    }
    EXPECT_EQ(counter("groups_dropped"), 0U);
}

/// The examples of IEX DEEP+ 1.04, pages 20 to 26, in another order: an order is added before it changes.
TEST_F(IexDeepPlusTest, EachExampleOfTheSpecificationBecomesItsEvents) {
    const auto added = from_hex("61 38 b28fa5a0ab866d14 5a49455854202020 968f060000000000 64000000 241d0f0000000000");
    const auto modified =
        from_hex("4d 00 b28fa5a0ab866d14 5a49455854202020 968f060000000000 64000000 241d0f0000000000");
    const auto removed = from_hex("52 00 b28fa5a0ab866d14 5a49455854202020 968f060000000000");
    const auto executed =
        from_hex("4c 00 b28fa5a0ab866d14 5a49455854202020 968f060000000000 64000000 241d0f0000000000 968f020000000000");
    const auto trade = from_hex("54 00 b28fa5a0ab866d14 5a49455854202020 64000000 241d0f0000000000 968f020000000000");
    const auto broken = from_hex("42 00 b28fa5a0ab866d14 5a49455854202020 64000000 241d0f0000000000 968f060000000000");
    const auto cleared = from_hex("43 00 b28fa5a0ab866d14 5a49455854202020");
    send({kept(writer_.system_event('O')), added, modified, removed, added, executed, trade, broken, added, cleared});
    std::vector<OrderAction> actions;
    for (const auto& order : seen_.orders) actions.push_back(order.action);
    using enum OrderAction;
    EXPECT_EQ(actions, (std::vector{OrderAction::clear, OrderAction::add, modify, remove, OrderAction::add, execute,
                                    OrderAction::add, OrderAction::clear}));
    EXPECT_EQ(seen_.orders[1].order_id, 429'974U);
    EXPECT_EQ(seen_.orders[1].price, 99'050'000'000);
    EXPECT_EQ(seen_.orders[1].size, 100U);
    EXPECT_EQ(seen_.orders[1].side, Side::bid);
    EXPECT_EQ(seen_.orders[2].flags & kPriorityLost, kPriorityLost);
    EXPECT_EQ(seen_.orders[5].trade_id, 167'830U);
    ASSERT_EQ(seen_.trades.size(), 2U);
    EXPECT_EQ(seen_.trades[0].price, 99'050'000'000);
    EXPECT_EQ(seen_.trades[0].trade_id, 167'830U);
    EXPECT_EQ(seen_.trades[0].flags & (kHidden | kCross), 0);
    EXPECT_EQ(seen_.trades[1].flags, kHidden | kLast);
    ASSERT_EQ(seen_.trade_breaks.size(), 1U);
    EXPECT_EQ(seen_.quotes.back().bid_size, 0U);
    EXPECT_EQ(seen_.quotes.back().exchange_utc_ns, 1'471'980'724'912'754'610);
    EXPECT_TRUE(seen_.books[0][0].empty());
    EXPECT_EQ(counter("orders_live"), 0U);
}

TEST_F(IexDeepPlusTest, AModificationHasTheNewTotalAndSaysWhetherPriorityIsKept) {
    send({kept(writer_.system_event('O')), add(1, '8', 300, 100), add(2, '8', 50, 99)});
    send({kept(writer_.order_modified("AAPL", 1, 200, 100, true))});
    EXPECT_EQ(seen_.orders.back().action, OrderAction::modify);
    EXPECT_EQ(seen_.orders.back().size, 200U);
    EXPECT_EQ(seen_.orders.back().size_left, 200U);
    EXPECT_EQ(seen_.orders.back().flags & kPriorityLost, 0);
    EXPECT_EQ(seen_.quotes.back().bid_size, 200U);
    send({kept(writer_.order_modified("AAPL", 1, 400, 98, false))});
    EXPECT_EQ(seen_.orders.back().flags & kPriorityLost, kPriorityLost);
    EXPECT_EQ(seen_.orders.back().price, venue(98));
    EXPECT_EQ(seen_.books[0][0], (SideView{{venue(99), {50, 1}}, {venue(98), {400, 1}}}));
    EXPECT_EQ(seen_.quotes.back().bid_price, venue(99));
}

TEST_F(IexDeepPlusTest, APriceThatDoesNotFitMakesItsInstrumentIncompleteAndIsNotAFullTable) {
    constexpr std::int64_t kTooHigh = 7'000'000'000;
    send({kept(writer_.system_event('O')), add(1, '8', 300, 100), add(2, '8', 50, kTooHigh, "BRKA")});
    EXPECT_EQ(counter("prices_refused"), 1U);
    EXPECT_EQ(name(seen_.quotes.back().instrument), "BRKA");
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    send({add(3, '5', 50, 101, "MSFT"), kept(writer_.order_modified("MSFT", 3, 50, kTooHigh, true))});
    EXPECT_EQ(counter("prices_refused"), 2U);
    EXPECT_EQ(counter("orders_refused"), 0U);
    EXPECT_EQ(seen_.quotes.back().ask_size, 0U);  // the order is not at its former price
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    send({add(4, '8', 10, 101)});
    EXPECT_EQ(seen_.quotes.back().bid_price, venue(101));
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
}

TEST_F(IexDeepPlusTest, ANumberMayBeUsedAgainAfterItsRemoval) {
    send({kept(writer_.system_event('O')), add(1, '8', 300, 100), kept(writer_.order_removed("AAPL", 1)),
          add(1, '5', 10, 50, "MSFT"), kept(writer_.order_executed("MSFT", 1, 10, 49, 7)), add(1, '8', 5, 101)});
    EXPECT_EQ(counter("orders_inconsistent"), 0U);
    EXPECT_EQ(counter("orders_live"), 1U);
    EXPECT_EQ(name(seen_.quotes.back().instrument), "AAPL");
    EXPECT_EQ(seen_.quotes.back().bid_price, venue(101));
    EXPECT_EQ(seen_.trades.back().price, venue(49));
}

TEST_F(IexDeepPlusTest, UnknownOrdersAndThoseOfOtherSymbolsMakeTheInstrumentIncomplete) {
    send({kept(writer_.system_event('O')), add(1, '8', 300, 100), add(2, '8', 5, 50, "MSFT")});
    send({kept(writer_.order_executed("AAPL", 9, 10, 99, 7))});
    EXPECT_EQ(seen_.trades.back().size, 10U);  // volume counts
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    EXPECT_EQ(counter("orders_unknown"), 1U);
    send({kept(writer_.order_removed("MSFT", 1))});
    EXPECT_EQ(name(seen_.quotes.back().instrument), "MSFT");
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
    EXPECT_EQ(counter("stocks_contradicted"), 1U);
    EXPECT_EQ(counter("orders_live"), 2U);
    // An emptied book is known again.
    send({kept(writer_.coded('C', ' ', "AAPL")), add(3, '8', 7, 90)});
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
    EXPECT_EQ(seen_.books[0][0], (SideView{{venue(90), {7, 1}}}));
    EXPECT_EQ(counter("orders_live"), 2U);
}

TEST_F(IexDeepPlusTest, AMessageWithAnOrderOfAnotherSymbolMakesBothInstrumentsIncomplete) {
    using Write = std::function<Bytes(IexMessageWriter&)>;
    const Write writes[] = {
        [](auto& to) { return kept(to.order_added("MSFT", 1, '8', 10, 60)); },
        [](auto& to) { return kept(to.order_modified("MSFT", 1, 10, 60, true)); },
        [](auto& to) { return kept(to.order_removed("MSFT", 1)); },
        [](auto& to) { return kept(to.order_executed("MSFT", 1, 10, 99, 7)); },
    };
    std::uint32_t session = 1;
    for (const auto& write : writes) {
        ++session;
        for (int i = 0; i < 2; ++i)  // the second datagram confirms the session
            send({kept(writer_.system_event('O'))}, i == 0 ? 1 : 2, session);
        send({add(1, '8', 300, 100), add(2, '8', 5, 50, "MSFT")}, 0, session);
        EXPECT_EQ(seen_.quotes.back().flags, kLast);
        const auto before = seen_.quotes.size();
        send({write(writer_)}, 0, session);
        std::set<std::string_view> incomplete;
        for (auto i = before; i < seen_.quotes.size(); ++i) {
            EXPECT_EQ(seen_.quotes[i].flags, kIncomplete | kLast);
            incomplete.insert(name(seen_.quotes[i].instrument));
        }
        EXPECT_EQ(incomplete, (std::set<std::string_view>{"AAPL", "MSFT"}));
        EXPECT_EQ(counter("orders_live"), 2U);
    }
}

TEST_F(IexDeepPlusTest, AShortMessageIsAGapAndALongOneIsRead) {
    auto shorter = add(1, '8', 300, 100);
    auto longer = shorter;
    shorter.pop_back();
    longer.push_back(std::byte{1});
    send({kept(writer_.system_event('O')), longer, shorter, add(2, '8', 1, 99)});
    ASSERT_EQ(seen_.gaps.size(), 1U);
    EXPECT_EQ(seen_.gaps[0].reason, GapReason::rejected);
    EXPECT_EQ(seen_.gaps[0].first, 3U);
    EXPECT_EQ(seen_.quotes.back().flags & kIncomplete, kIncomplete);
}

TEST_F(IexDeepPlusTest, AnInstrumentOfABookIsHaltedWhileItsStatusSaysSo) {
    send({kept(writer_.system_event('O')), add(1, '8', 300, 100), kept(writer_.trading_status("AAPL", 'H', "T1"))});
    EXPECT_EQ(seen_.quotes.back().flags, kHalted | kLast);
    send({kept(writer_.trading_status("AAPL", 'T'))});
    EXPECT_EQ(seen_.quotes.back().flags, kLast);
}

/// Levels and orders do not say that they may trade, so that a halt holds until a message ends it.
TEST_F(IexDeepPlusTest, AHaltOfBeforeAGapHoldsUntilItsEnd) {
    send({kept(writer_.system_event('O')), add(1, '8', 300, 100), kept(writer_.coded('O', 'O', "AAPL"))});
    send({add(2, '8', 5, 101)}, next_ + 1);
    EXPECT_EQ(seen_.quotes.back().flags, kHalted | kIncomplete | kLast);
    send({kept(writer_.coded('O', 'N', "AAPL"))});
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
}

TEST_F(IexDeepTest, AHaltOfBeforeAGapHoldsUntilItsEnd) {
    send({kept(writer_.system_event('O')), level('8', 100, 300), kept(writer_.coded('O', 'O', "AAPL"))});
    send({level('8', 101, 5)}, next_ + 1);
    EXPECT_EQ(seen_.quotes.back().flags, kHalted | kIncomplete | kLast);
    send({kept(writer_.coded('O', 'N', "AAPL"))});
    EXPECT_EQ(seen_.quotes.back().flags, kIncomplete | kLast);
}

/// Orders of three instruments at random, also with numbers that are used again, against plain maps.
TEST_F(IexDeepPlusTest, BooksOfReadersEqualAPlainReadingAfterEachMessage) {
    struct Plain {
        std::size_t symbol;
        bool is_bid;
        std::int64_t price;
        std::uint32_t shares;
    };
    constexpr std::array<std::string_view, 3> kNames{"AAPL", "MSFT", "IBM"};
    std::mt19937 random{40};
    std::map<std::uint64_t, Plain> plain;
    send({kept(writer_.system_event('O'))});
    const auto new_price = [&](bool is_bid) {
        return is_bid ? 100 - static_cast<std::int64_t>(random() % 9) : 101 + static_cast<std::int64_t>(random() % 9);
    };
    for (int step = 0; step < 20'000; ++step) {
        const std::uint64_t id = 1 + random() % 60;
        const auto found = plain.find(id);
        if (found == plain.end()) {
            const Plain order{random() % 3, random() % 2 == 0, 0, static_cast<std::uint32_t>(1 + random() % 500)};
            const auto price = new_price(order.is_bid);
            send({add(id, order.is_bid ? '8' : '5', order.shares, price, kNames[order.symbol])});
            plain[id] = {order.symbol, order.is_bid, price, order.shares};
        } else {
            auto& order = found->second;
            const auto symbol = kNames[order.symbol];
            switch (random() % 40) {
                case 0:
                    send({kept(writer_.coded('C', ' ', symbol))});
                    std::erase_if(plain,
                                  [&, which = order.symbol](const auto& each) { return each.second.symbol == which; });
                    break;
                default:
                    if (random() % 3 == 0) {
                        order.price = random() % 2 == 0 ? order.price : new_price(order.is_bid);
                        order.shares = static_cast<std::uint32_t>(1 + random() % 500);
                        send({kept(writer_.order_modified(symbol, id, order.shares, order.price, random() % 2 == 0))});
                    } else if (random() % 2 == 0) {
                        send({kept(writer_.order_removed(symbol, id))});
                        plain.erase(found);
                    } else {
                        const auto shares = static_cast<std::uint32_t>(1 + random() % order.shares);
                        send({kept(writer_.order_executed(symbol, id, shares, order.price, id))});
                        order.shares -= shares;
                        if (order.shares == 0) plain.erase(found);
                    }
            }
        }
        for (InstrumentId instrument = 0; instrument < instruments_.size(); ++instrument) {
            std::array<SideView, 2> book;
            std::size_t live = 0;
            for (const auto& [number, order] : plain) {
                if (kNames[order.symbol] != name(instrument)) continue;
                auto& view = book[order.is_bid ? 0 : 1][venue(order.price)];
                view.size += order.shares;
                ++view.orders;
                ++live;
                ASSERT_TRUE(seen_.live[instrument].contains(number));
                ASSERT_EQ(seen_.live[instrument][number].size_left, order.shares);
                ASSERT_EQ(seen_.live[instrument][number].price, venue(order.price));
            }
            while (book[0].size() > 3) book[0].erase(book[0].begin());
            while (book[1].size() > 3) book[1].erase(std::prev(book[1].end()));
            ASSERT_EQ(seen_.live[instrument].size(), live);
            ASSERT_EQ(seen_.books[instrument], book) << "step " << step;
            ASSERT_FALSE(seen_.is_open[instrument]);
        }
    }
    EXPECT_EQ(counter("orders_unknown") + counter("orders_inconsistent") + counter("orders_refused"), 0U);
}

/// Books that are sent again while numbers are used again.
TEST_F(IexDeepPlusTest, BooksThatAreSentAgainHaveEachOrderOnce) {
    send({kept(writer_.system_event('O')), add(1, '8', 300, 100), add(2, '8', 5, 50, "MSFT"), add(3, '8', 4, 99)});
    decoder_->renew_snapshots();
    ASSERT_TRUE(decoder_->has_snapshots_due());
    send({kept(writer_.order_removed("AAPL", 1)), add(1, '5', 8, 60, "MSFT"), kept(writer_.order_removed("AAPL", 3)),
          add(3, '8', 9, 98)});
    seen_.live.clear();
    while (decoder_->has_snapshots_due()) publish_snapshots();
    EXPECT_EQ(seen_.live[0].size(), 1U);
    EXPECT_EQ(seen_.live[0][3].size_left, 9U);
    EXPECT_EQ(seen_.live[1].size(), 2U);
}

/// A modification stores its order again, perhaps in a part of the store that has been listed.
TEST_F(IexDeepPlusTest, BooksThatAreSentAgainHaveTheOrdersThatWereModifiedMeanwhile) {
    send({kept(writer_.system_event('O'))});
    std::mt19937_64 random{41};
    std::set<std::uint64_t> numbers;
    while (numbers.size() < 900) numbers.insert(random() | 7);  // neighbours across the bounds of the parts
    for (const auto number : numbers) send({add(number, '8', 300, 100)});
    for (int round = 0; round < 10; ++round) {
        decoder_->renew_snapshots();
        while (decoder_->has_snapshots_due()) {
            publish_snapshots();
            for (const auto number : numbers) {
                if (random() % 2 == 0) send({kept(writer_.order_modified("AAPL", number, 200, 100, true))});
            }
        }
        ASSERT_EQ(seen_.live[0].size(), numbers.size()) << "round " << round;
    }
    EXPECT_EQ(std::ranges::count(seen_.orders, OrderAction::clear, &Order::action), 11);
}

TEST_F(IexDeepPlusTest, OrdersAfterAClearHaveThePriorityOfTheirNumbers) {
    send({kept(writer_.system_event('O')), add(9, '8', 300, 100), add(5, '8', 5, 50),
          kept(writer_.coded('C', ' ', "AAPL")), add(3, '8', 5, 50), add(4, '8', 5, 50)});
    EXPECT_EQ(counter("orders_unsorted"), 1U);
    const auto events = seen_.orders.size();
    decoder_->renew_snapshots();
    while (decoder_->has_snapshots_due()) publish_snapshots();
    ASSERT_EQ(seen_.orders.size(), events + 3);
    for (const auto& order : std::span{seen_.orders}.subspan(events)) EXPECT_EQ(order.flags & kIncomplete, 0);
}

TEST_F(IexDeepPlusTest, AClearRemovesAllOrdersOfItsInstrumentOnly) {
    send({kept(writer_.system_event('O'))});
    std::mt19937_64 random{42};
    for (int i = 0; i < 900; ++i)
        send({add(random(), i % 2 == 0 ? '8' : '5', 10, i % 2 == 0 ? 100 : 101, i % 9 == 0 ? "MSFT" : "AAPL")});
    const auto other = seen_.books[0];
    for (const auto* cleared : {"AAPL", "AAPL", "IBM"}) {
        send({kept(writer_.coded('C', ' ', cleared))});
        EXPECT_EQ(counter("orders_live"), 100U);
    }
    EXPECT_EQ(name(0), "MSFT");
    EXPECT_EQ(seen_.books[0], other);
    EXPECT_EQ(seen_.live[0].size(), 100U);
    EXPECT_TRUE(seen_.live[1].empty());
    EXPECT_EQ(seen_.books[1], (std::array<SideView, 2>{}));
}

/// Real packets of IEX.
TEST_F(IexDeepTest, RealPacketsOfLevelsAndHeartbeatsAreRead) {
    if (real_file("iex/Deep.v1.0.Heartbeat.pcap").empty()) GTEST_SKIP() << "MILLPOND_TEST_DATA has no iex folder";
    for (const auto* file : {"Heartbeat", "PriceLevelBuyUpdateMessage", "PriceLevelSellUpdateMessage"}) {
        for (const auto& datagram : captured_datagrams(real_file(std::string{"iex/Deep.v1.0."} + file + ".pcap")))
            EXPECT_TRUE(receive(datagram.bytes).ok());
    }
    EXPECT_EQ(decoder_->counters().heartbeats.read(), 1U);
    ASSERT_EQ(seen_.levels.size(), 2U);
    EXPECT_EQ(name(seen_.levels[0].instrument), "V");
    EXPECT_EQ(seen_.levels[0].price, 202'770'000'000);
    EXPECT_EQ(seen_.levels[0].size, 190U);
    EXPECT_EQ(name(seen_.levels[1].instrument), "UNH");
    EXPECT_EQ(seen_.levels[1].side, Side::ask);
    EXPECT_EQ(seen_.levels[1].size, 82U);
    EXPECT_EQ(seen_.levels[1].price, 344'140'000'000);
}

TEST_F(IexDeepPlusTest, RealPacketsOfEachTypeBecomeTheirEvents) {
    if (real_file("iex/DeepPlus.v1.0.2.a_AddOrder.pcap").empty())
        GTEST_SKIP() << "MILLPOND_TEST_DATA has no iex folder";
    const auto play = [&](const std::string& file) {
        for (const auto& datagram : captured_datagrams(real_file("iex/DeepPlus.v1.0.2." + file + ".pcap")))
            EXPECT_TRUE(receive(datagram.bytes).ok()) << file;
    };
    // In the order of their numbers; the files of H, I, O and P have the same datagram as that of S.
    play("S_SystemEvent");
    EXPECT_EQ(seen_.statuses.size(), 34U);
    EXPECT_EQ(seen_.statuses[0].state, TradingState::start_of_messages);
    EXPECT_EQ(decoder_->counters().bands.read(), 0U);  // this reader has no function for them
    EXPECT_EQ(decoder_->counters().applied.read(), 51U);
    EXPECT_EQ(decoder_->counters().ignored.read(), 16U);
    play("D_SecurityDirectory");
    play("a_AddOrder");
    ASSERT_EQ(seen_.orders.size(), 1U);
    EXPECT_EQ(name(seen_.orders[0].instrument), "IBKR");
    EXPECT_EQ(seen_.orders[0].order_id, 0x0063'0000'0000'000AU);
    EXPECT_EQ(seen_.orders[0].side, Side::ask);
    EXPECT_EQ(seen_.orders[0].price, venue(0x14'D408));
    play("R_OrderDelete");  // the next message
    ASSERT_EQ(seen_.orders.size(), 2U);
    EXPECT_EQ(seen_.orders[1].action, OrderAction::remove);
    EXPECT_EQ(seen_.orders[1].size, 100U);
    EXPECT_EQ(counter("orders_unknown"), 0U);
    play("L_OrderExecuted");
    EXPECT_EQ(seen_.trades.size(), 3U);  // of orders that were added in between
    EXPECT_EQ(counter("orders_unknown"), 3U);
    play("T_Trade");
    EXPECT_EQ(seen_.trades.size(), 7U);
    EXPECT_EQ(seen_.trades.back().flags, kHidden | kLast);
    play("M_OrderModify");
    play("E_SecurityEvent");
    EXPECT_EQ(seen_.statuses.back().reason.view(), "O");
    play("B_TradeBreak");
    EXPECT_EQ(seen_.trade_breaks.size(), 1U);
    EXPECT_EQ(decoder_->counters().unknown.read(), 0U);
    EXPECT_EQ(decoder_->counters().malformed.read(), 0U);
}

}  // namespace
}  // namespace millpond::feed
