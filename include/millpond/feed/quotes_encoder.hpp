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
/// begin(buffer), add(...) until it refuses or nothing is left, finish(now), send. Finish a datagram before
/// you begin the next. With nothing to send, begin and finish alone make a heartbeat; one a second is usual.
///
/// Threads: one.
class QuotesEncoder {
public:
    using Buffer = std::span<std::byte, quotes_layout::kMaxDatagramBytes>;

    struct Options {
        std::uint16_t channel{0};
        std::uint64_t session{0};  ///< Greater than that of any earlier session: the UTC time in nanoseconds.
    };

    explicit QuotesEncoder(const Options& options) noexcept : options_(options) {}

    void begin(Buffer buffer) noexcept;

    /// False when the quote no longer fits; the datagram is then unchanged. The symbol must not be empty.
    [[nodiscard]] bool add(const Quote& quote, const Venue& venue, const Symbol& symbol) noexcept;

    /// The whole datagram, inside the buffer that begin was given.
    [[nodiscard]] std::span<const std::byte> finish(std::int64_t send_utc_ns) noexcept;

    /// All quotes are void: receivers discard them with the next datagram. Not between begin and finish.
    void clear() noexcept {
        assert(out_ == nullptr);
        ++generation_;
    }

    /// Passes over `count` sequence numbers: receivers learn that the sender itself has lost something. Not between
    /// begin and finish.
    void skip(std::uint64_t count) noexcept {
        assert(out_ == nullptr);
        sequence_ += count;
    }

    /// Quotes in the current datagram.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Sequence number of the next quote to be added.
    [[nodiscard]] std::uint64_t next_sequence() const noexcept { return sequence_ + count_; }

private:
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

inline bool QuotesEncoder::add(const Quote& quote, const Venue& venue, const Symbol& symbol) noexcept {
    namespace at = quotes_layout;
    assert(out_ != nullptr && !symbol.empty());
    const auto venue_text = venue.view();
    const auto symbol_text = symbol.view();
    const auto bytes = at::kNamesAt + venue_text.size() + symbol_text.size();
    if (count_ == at::kMaxQuotes || used_ + bytes > at::kMaxDatagramBytes) return false;
    auto* const out = out_ + used_;
    out[at::kSymbolLengthAt] = static_cast<std::byte>(symbol_text.size());
    out[at::kVenueLengthAt] = static_cast<std::byte>(venue_text.size());
    core::store_le(out + at::kFlagsAt, quote.flags);
    core::store_le(out + at::kBidPriceAt, quote.bid_price);
    core::store_le(out + at::kAskPriceAt, quote.ask_price);
    core::store_le(out + at::kBidSizeAt, quote.bid_size);
    core::store_le(out + at::kAskSizeAt, quote.ask_size);
    core::store_le(out + at::kExchangeTimeAt, quote.exchange_utc_ns);
    std::memcpy(out + at::kNamesAt, venue_text.data(), venue_text.size());
    std::memcpy(out + at::kNamesAt + venue_text.size(), symbol_text.data(), symbol_text.size());
    used_ += bytes;
    ++count_;
    return true;
}

inline std::span<const std::byte> QuotesEncoder::finish(std::int64_t send_utc_ns) noexcept {
    namespace at = quotes_layout;
    assert(out_ != nullptr);
    core::store_le(out_ + at::kMagicAt, at::kMagic);
    out_[at::kVersionAt] = std::byte{at::kVersion};
    out_[at::kReservedAt] = std::byte{0};
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
