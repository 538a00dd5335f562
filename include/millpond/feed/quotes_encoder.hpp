#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <millpond/core/endian.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/quotes_layout.hpp>

namespace millpond::feed {

/// Writes `quotes` datagrams (quotes_layout.hpp) of one channel and session into buffers of the caller.
///
/// Call begin(buffer), add(...) until it refuses or nothing is left, finish(now), then send the result. Finish a
/// datagram before you begin the next. Without entries the datagram is a heartbeat; one a second is usual.
///
/// Threads: one.
class QuotesEncoder {
public:
    using Buffer = std::span<std::byte, quotes_layout::kMaxDatagramBytes>;

    struct Options {
        std::uint16_t channel{0};
        std::uint64_t session{0};  ///< Must increase from session to session: use the UTC time in nanoseconds.
        std::uint32_t depth{0};    ///< Levels of a side that are sent, up to kMaxDepth; 0: none.
    };

    struct Level {
        Price price{0};
        std::uint64_t size{0};    ///< 0: the level is gone.
        std::uint32_t orders{0};  ///< 0 if unknown.
        friend bool operator==(const Level&, const Level&) = default;
    };

    /// What one group changes of an instrument: its quote, its levels or both; together at most kMaxLevels levels.
    struct Entry {
        const Quote* quote{nullptr};  ///< nullptr: unchanged.
        std::span<const Level> bids{};
        std::span<const Level> asks{};
        std::int64_t exchange_utc_ns{0};
        bool all_levels{false};         ///< There are no other levels.
        bool levels_incomplete{false};  ///< Other levels may exist or be wrong.
        bool repeated{false};           ///< The quote and all levels, unchanged, for receivers that lack them.
        bool begins_cycle{false};       ///< The first one of a cycle in which all instruments are repeated.
    };

    explicit QuotesEncoder(const Options& options) noexcept : options_(options) {
        assert(options.depth <= quotes_layout::kMaxDepth);
    }

    void begin(Buffer buffer) noexcept;

    /// Returns false if the entry no longer fits; the datagram is then unchanged. The symbol must not be empty.
    [[nodiscard]] bool add_entry(const Entry& entry, const Venue& venue, const Symbol& symbol,
                                 unsigned decimals = kDefaultDecimals) noexcept;
    [[nodiscard]] bool add(const Quote& quote, const Venue& venue, const Symbol& symbol,
                           unsigned decimals = kDefaultDecimals) noexcept {
        return add_entry(Entry{.quote = &quote, .exchange_utc_ns = quote.exchange_utc_ns}, venue, symbol, decimals);
    }

    /// Completes the datagram and returns it; it is inside the buffer passed to begin.
    [[nodiscard]] std::span<const std::byte> finish(std::int64_t send_utc_ns) noexcept;

    /// Voids all quotes and levels: receivers discard them with the next datagram. Not between begin and finish.
    void clear() noexcept {
        assert(out_ == nullptr);
        ++generation_;
    }

    /// Skips `count` sequence numbers, which reports to receivers that the sender itself has lost events. Not between
    /// begin and finish.
    void skip(std::uint64_t count) noexcept {
        assert(out_ == nullptr);
        sequence_ += count;
    }

    /// Entries in the current datagram.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Sequence number of the next entry to be added.
    [[nodiscard]] std::uint64_t next_sequence() const noexcept { return sequence_ + count_; }

private:
    static std::byte* write_levels(std::byte* out, std::span<const Level> levels) noexcept;

    Options options_;
    std::uint64_t sequence_{1};
    std::uint32_t generation_{0};
    std::byte* out_{nullptr};
    std::size_t used_{0};
    std::size_t count_{0};
};

inline void QuotesEncoder::begin(Buffer buffer) noexcept {
    assert(out_ == nullptr);
    out_ = buffer.data();
    used_ = quotes_layout::kHeaderBytes;
    count_ = 0;
}

inline bool QuotesEncoder::add_entry(const Entry& entry, const Venue& venue, const Symbol& symbol,
                                     unsigned decimals) noexcept {
    namespace at = quotes_layout;
    assert(out_ != nullptr && !symbol.empty() && decimals <= kPriceDecimals);
    assert(entry.bids.size() + entry.asks.size() <= at::kMaxLevels);
    const auto venue_text = venue.view();
    const auto symbol_text = symbol.view();
    const auto levels = entry.bids.size() + entry.asks.size();
    const auto bytes = at::kNamesAt + venue_text.size() + symbol_text.size() + levels * at::kLevelBytes;
    if (count_ == at::kMaxEntries || used_ + bytes > at::kMaxDatagramBytes) return false;
    const auto quote = entry.quote != nullptr ? *entry.quote : Quote{};
    std::uint16_t flags = quote.flags & kQuoteFlags;
    if (entry.quote == nullptr) flags |= at::kNoQuote;
    if (entry.levels_incomplete) flags |= at::kLevelsIncomplete;
    if (entry.all_levels) flags |= at::kAllLevels;
    if (entry.repeated) flags |= at::kRepeated;
    if (entry.begins_cycle) flags |= at::kCycle;
    auto* out = out_ + used_;
    out[at::kSymbolLengthAt] = static_cast<std::byte>(symbol_text.size());
    out[at::kVenueLengthAt] = static_cast<std::byte>(venue_text.size());
    core::store_le(out + at::kFlagsAt, flags);
    out[at::kDecimalsAt] = static_cast<std::byte>(decimals);
    out[at::kBidLevelsAt] = static_cast<std::byte>(entry.bids.size());
    out[at::kAskLevelsAt] = static_cast<std::byte>(entry.asks.size());
    out[at::kEntryReservedAt] = std::byte{0};
    core::store_le(out + at::kBidPriceAt, quote.bid_price);
    core::store_le(out + at::kAskPriceAt, quote.ask_price);
    core::store_le(out + at::kBidSizeAt, quote.bid_size);
    core::store_le(out + at::kAskSizeAt, quote.ask_size);
    core::store_le(out + at::kExchangeTimeAt, entry.exchange_utc_ns);
    out += at::kNamesAt;
    std::memcpy(out, venue_text.data(), venue_text.size());
    out += venue_text.size();
    std::memcpy(out, symbol_text.data(), symbol_text.size());
    out = write_levels(out + symbol_text.size(), entry.bids);
    write_levels(out, entry.asks);
    used_ += bytes;
    ++count_;
    return true;
}

inline std::byte* QuotesEncoder::write_levels(std::byte* out, std::span<const Level> levels) noexcept {
    namespace at = quotes_layout;
    for (const auto& level : levels) {
        core::store_le(out + at::kLevelPriceAt, level.price);
        core::store_le(out + at::kLevelSizeAt, level.size);
        core::store_le(out + at::kLevelOrdersAt, level.orders);
        out += at::kLevelBytes;
    }
    return out;
}

inline std::span<const std::byte> QuotesEncoder::finish(std::int64_t send_utc_ns) noexcept {
    namespace at = quotes_layout;
    assert(out_ != nullptr);
    core::store_le(out_ + at::kMagicAt, at::kMagic);
    out_[at::kVersionAt] = std::byte{at::kVersion};
    out_[at::kDepthAt] = static_cast<std::byte>(options_.depth);
    core::store_le(out_ + at::kChannelAt, options_.channel);
    core::store_le(out_ + at::kSessionAt, options_.session);
    core::store_le(out_ + at::kSequenceAt, sequence_);
    core::store_le(out_ + at::kSendTimeAt, send_utc_ns);
    core::store_le(out_ + at::kGenerationAt, generation_);
    core::store_le(out_ + at::kCountAt, static_cast<std::uint16_t>(count_));
    core::store_le(out_ + at::kLengthAt, static_cast<std::uint16_t>(used_));
    sequence_ += count_;
    const std::span<const std::byte> datagram{out_, used_};
    out_ = nullptr;
    count_ = 0;
    return datagram;
}

}  // namespace millpond::feed
