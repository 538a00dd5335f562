#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

namespace millpond::market {

/// A unique name of a ring.
[[nodiscard]] inline std::string fresh_name() {
    static std::atomic<int> count{0};
    return "test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

/// Removes the objects of a test's ring.
class NameGuard {
public:
    explicit NameGuard(std::string name) : name_(std::move(name)) {}
    NameGuard(const NameGuard&) = delete;
    NameGuard& operator=(const NameGuard&) = delete;
    ~NameGuard() {
        remove_dead_readers(name_);
        memory::Region::unlink_shared(ring_object_name(name_));
        unlink(("/dev/shm" + lock_object_name(name_)).c_str());
    }

private:
    std::string name_;
};

[[nodiscard]] inline RingWriterOptions small_ring(const std::string& name) {
    RingWriterOptions options;
    options.name = name;
    options.capacity = 64;
    options.max_instruments = 8;
    options.max_channels = 4;
    options.max_readers = 4;
    return options;
}

/// Names instruments 0 .. count - 1 "S0", "S1", ... of venue "TEST".
inline void name_instruments(RingWriter& writer, std::uint32_t count) {
    for (std::uint32_t id = 0; id < count; ++id) {
        (void)writer.name(id, feed::Venue{"TEST"}, feed::Symbol{"S" + std::to_string(id)});
    }
}

/// A quote whose fields all follow from `value`.
[[nodiscard]] inline feed::Quote quote_of(feed::InstrumentId id, std::uint16_t channel, std::uint64_t value) {
    feed::Quote quote;
    quote.instrument = id;
    quote.channel = channel;
    quote.bid_price = static_cast<feed::Price>(value * 10);
    quote.ask_price = static_cast<feed::Price>(value * 10 + 1);
    quote.bid_size = value + 2;
    quote.ask_size = value + 3;
    quote.exchange_utc_ns = static_cast<std::int64_t>(value + 4);
    quote.receive_utc_ns = static_cast<std::int64_t>(value + 5);
    quote.receive_ticks = value + 6;
    quote.feed_sequence = value;
    return quote;
}

[[nodiscard]] inline bool consistent(const feed::Quote& quote) {
    const auto value = quote.feed_sequence;
    const auto expected = quote_of(quote.instrument, quote.channel, value);
    return quote.bid_price == expected.bid_price && quote.ask_price == expected.ask_price &&
           quote.bid_size == expected.bid_size && quote.ask_size == expected.ask_size &&
           quote.exchange_utc_ns == expected.exchange_utc_ns && quote.receive_utc_ns == expected.receive_utc_ns &&
           quote.receive_ticks == expected.receive_ticks;
}

/// A subscriber's state: the picture that events make, and the number of events of each kind.
struct Picture {
    void on(const feed::Quote& quote) {
        ++quotes;
        if (quote.bid_size == 0 && quote.ask_size == 0) {
            newest.erase(quote.instrument);
        } else {
            newest[quote.instrument] = quote;
        }
    }
    void on(const feed::Trade& trade) { trades.push_back(trade.trade_id); }
    void on(const feed::TradeBreak& broken) { trade_breaks.push_back(broken.trade_id); }
    void on(const feed::Status& status) {
        if (status.instrument == feed::kNoInstrument) {
            channel_states[status.channel] = status.state;
        } else {
            states[status.instrument] = status.state;
        }
    }
    void on(const feed::Gap& gap) {
        gaps.push_back(gap.first);
        for (auto& [id, quote] : newest) {
            if (quote.channel == gap.channel) quote.flags |= feed::kIncomplete;
        }
    }
    void on(const feed::Clear& clear) {
        ++clears;
        std::erase_if(newest, [&](const auto& entry) {
            return clear.instrument == feed::kNoInstrument ? entry.second.channel == clear.channel
                                                           : entry.first == clear.instrument;
        });
    }
    void on(const queue::MissedRange& range) { missed.push_back(range); }

    /// The newest quote of each instrument that has one: its feed sequence.
    [[nodiscard]] std::map<feed::InstrumentId, std::uint64_t> sequences() const {
        std::map<feed::InstrumentId, std::uint64_t> result;
        for (const auto& [id, quote] : newest) result[id] = quote.feed_sequence;
        return result;
    }
    /// The instruments whose newest quote is incomplete.
    [[nodiscard]] std::set<feed::InstrumentId> incomplete() const {
        std::set<feed::InstrumentId> result;
        for (const auto& [id, quote] : newest) {
            if ((quote.flags & feed::kIncomplete) != 0) result.insert(id);
        }
        return result;
    }
    [[nodiscard]] bool all_consistent() const {
        for (const auto& [id, quote] : newest) {
            if (!consistent(quote)) return false;
        }
        return true;
    }

    std::map<feed::InstrumentId, feed::Quote> newest;
    std::map<feed::InstrumentId, feed::TradingState> states;
    std::map<std::uint16_t, feed::TradingState> channel_states;
    std::vector<std::uint64_t> trades;
    std::vector<std::uint64_t> trade_breaks;
    std::vector<std::uint64_t> gaps;
    std::vector<queue::MissedRange> missed;
    std::uint64_t quotes{0};
    std::uint64_t clears{0};
};

inline void poll_all(RingReader& reader, Picture& picture) {
    while (reader.poll(picture, 64) != 0) {
    }
}

}  // namespace millpond::market
