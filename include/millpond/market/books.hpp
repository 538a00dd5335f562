#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/market/book.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/queue/broadcast_reader.hpp>

namespace millpond::market {

/// The books of all instruments of a ring, each of the depth that its channel's feed sends. It is a RingHandler: join
/// and poll it, or pass it every event that a handler receives.
///
/// An instrument has a book from its first order or level on, if its channel sends what the book is made of. The book
/// is complete from its first event on if the channel was cleared without a loss since.
///
/// An instrument whose events come from another channel than before has an incomplete book until a snapshot.
///
/// Cost:    O(1) and Book's for the events of an instrument; O(instruments) for a Gap of a channel and a missed range,
///          O(instruments x orders) for a Clear.
/// Threads: one.
/// Memory:  16 bytes for each id up to the largest with a book, at most doubled; Book's for each instrument with a
///          book, allocated with its first event: about 350 bytes and 128 x (depth + 1) bytes. Where the feed sends all
///          levels or the books are made of orders, 64 bytes for each level and 48 for each order; both capacities
///          double when they are full. `on` throws what the memory resource throws; the instrument's book is then
///          incomplete.
class Books {
public:
    struct Options {
        std::uint32_t max_instruments{16'384};
        /// Largest number of live orders of a book. If it is not 0, books of channels with orders are made of orders.
        std::uint32_t orders{0};
        /// Largest number of levels of a side of books that are made of orders, or of a channel of full depth; at least
        /// 1.
        std::uint32_t levels{16'384};
    };
    /// Returns what the feed of a channel sends; RingReader::depth.
    using DepthOf = std::function<ChannelDepth(std::uint16_t channel)>;

    /// Throws std::invalid_argument for an option out of its range and for an empty `depth_of`.
    explicit Books(const Options& options, DepthOf depth_of,
                   std::pmr::memory_resource* memory = std::pmr::get_default_resource())
        : options_(checked(options, depth_of)), depth_of_(std::move(depth_of)), memory_(memory) {}

    /// Applies an event to the book of its instrument, or to all books that it concerns. True if the instrument has a
    /// book and a group of it ends with the event.
    bool on(const feed::Order& order) { return change(order); }
    bool on(const feed::Level& level) { return change(level); }
    bool on(const feed::Quote& quote) { return follow(quote); }
    bool on(const feed::Trade& trade) { return follow(trade); }
    bool on(const feed::TradeBreak&) noexcept { return false; }
    bool on(const feed::Status&) noexcept { return false; }
    bool on(const feed::Imbalance&) noexcept { return false; }
    bool on(const feed::Band&) noexcept { return false; }
    bool on(const feed::Definition&) noexcept { return false; }
    bool on(const feed::BestVenues&) noexcept { return false; }
    bool on(const feed::Clear& clear);
    bool on(const feed::Gap& gap) noexcept;
    bool on(const queue::MissedRange& missed) noexcept;

    /// Null if the instrument has no book. Valid until the next event of its channel.
    [[nodiscard]] const Book* find(feed::InstrumentId id) const noexcept {
        return id < entries_.size() ? entries_[id].book.get() : nullptr;
    }
    /// The channel of the instrument's book. Requires that it has one.
    [[nodiscard]] std::uint16_t channel_of(feed::InstrumentId id) const noexcept {
        return static_cast<std::uint16_t>(entries_[id].channel);
    }
    /// Larger than the ids of all instruments with books.
    [[nodiscard]] feed::InstrumentId end_id() const noexcept {
        return static_cast<feed::InstrumentId>(entries_.size());
    }
    /// True if books of the channel that begin now are complete.
    [[nodiscard]] bool is_cleared(std::uint16_t channel) const noexcept {
        return channel < channels_.size() && channels_[channel].is_cleared;
    }
    /// Removes all books: before the reader joins again.
    void reset() noexcept;

    /// Orders and levels of instruments beyond `max_instruments`.
    [[nodiscard]] std::uint64_t refused_events() const noexcept { return refused_; }

private:
    static constexpr std::uint32_t kFirstLevels = 64;
    static constexpr std::uint32_t kFirstOrders = 64;

    struct Entry {
        std::unique_ptr<Book> book;
        std::uint32_t channel{kMaxChannels};  // of its newest book; kMaxChannels: it has had none
    };
    struct Channel {
        ChannelDepth depth{};    // of its books
        bool is_cleared{false};  // and nothing is lost since
    };

    [[nodiscard]] static Options checked(const Options& options, const DepthOf& depth_of);
    /// Creates the instrument's book if it has none of this channel. Null if its channel sends none.
    [[nodiscard]] Book* find_or_create(feed::InstrumentId id, std::uint16_t channel);
    [[nodiscard]] std::unique_ptr<Book> create(ChannelDepth depth) const;
    template <class Event>
    bool change(const Event& event) {
        try {
            auto* const book = find_or_create(event.instrument, event.channel);
            if (book == nullptr) return false;
            if (book->is_full() && grows(event.channel)) [[unlikely]]
                book->grow(options_.levels, options_.orders);
            return book->apply(event);
        } catch (...) {
            lose(event.instrument, event.channel);
            throw;
        }
    }
    /// An event of the instrument was not applied.
    void lose(feed::InstrumentId id, std::uint16_t channel) noexcept {
        if (channel < channels_.size()) channels_[channel].is_cleared = false;
        if (id < entries_.size() && entries_[id].book) entries_[id].book->apply(queue::MissedRange{});
    }
    /// True for books whose size the feed does not bound.
    [[nodiscard]] bool grows(std::uint16_t channel) const noexcept {
        const auto& depth = channels_[channel].depth;
        return depth.depth == feed::kFullDepth || (depth.orders && options_.orders != 0);
    }
    template <class Event>
    bool follow(const Event& event);
    template <class Event>
    void apply_to_channel(const Event& event);
    [[nodiscard]] Channel& channel(std::uint16_t number) {
        if (number >= channels_.size()) channels_.resize(std::size_t{number} + 1);
        return channels_[number];
    }

    Options options_;
    DepthOf depth_of_;
    std::pmr::memory_resource* memory_;
    std::vector<Entry> entries_;  // by id; grows
    std::vector<Channel> channels_;
    std::uint64_t refused_{0};
};

inline Books::Options Books::checked(const Options& options, const DepthOf& depth_of) {
    constexpr std::uint32_t kMax = 1U << 28;  // of a Book
    if (!depth_of) throw std::invalid_argument("books: depth_of is empty");
    if (options.levels == 0 || options.levels > kMax) {
        throw std::invalid_argument("books: levels " + std::to_string(options.levels) + " is not in 1.." +
                                    std::to_string(kMax));
    }
    if (options.orders > kMax) {
        throw std::invalid_argument("books: orders " + std::to_string(options.orders) + " is not in 0.." +
                                    std::to_string(kMax));
    }
    return options;
}

inline std::unique_ptr<Book> Books::create(ChannelDepth depth) const {
    if (depth.orders && options_.orders != 0) {
        const auto shown = depth.depth == 0 ? feed::kFullDepth : depth.depth;
        return std::make_unique<Book>(
            Book::Options{.depth = shown,
                          .levels = std::max(std::min(options_.levels, kFirstLevels), kMaxBoardDepth),
                          .orders = std::min(options_.orders, kFirstOrders)},
            memory_);
    }
    if (depth.depth == 0) return nullptr;
    const auto options =
        depth.depth == feed::kFullDepth
            ? Book::Options{.depth = feed::kFullDepth, .levels = std::min(options_.levels, kFirstLevels)}
            : Book::options_of_levels(depth.depth);
    return std::make_unique<Book>(options, memory_);
}

inline Book* Books::find_or_create(feed::InstrumentId id, std::uint16_t channel) {
    if (id >= options_.max_instruments) {
        ++refused_;
        return nullptr;
    }
    if (id >= entries_.size())
        entries_.resize(
            std::min(std::max(std::size_t{id} + 1, 2 * entries_.size()), std::size_t{options_.max_instruments}));
    auto& entry = entries_[id];
    if (entry.book && entry.channel == channel) [[likely]]
        return entry.book.get();
    auto& of_channel = this->channel(channel);
    of_channel.depth = depth_of_(channel);
    auto book = create(of_channel.depth);
    if (!book) {
        of_channel.is_cleared = false;  // this event is lost, should the channel have books later
        return nullptr;
    }
    // What the channel sent before it became the instrument's channel is lost.
    const bool has_moved = entry.channel != kMaxChannels && entry.channel != channel;
    if (of_channel.is_cleared && !has_moved) book->apply(feed::Clear{});
    entry.book = std::move(book);
    entry.channel = channel;
    return entry.book.get();
}

/// Only an incomplete event makes a book: it says what the next order or level would not.
template <class Event>
bool Books::follow(const Event& event) {
    if ((event.flags & feed::kIncomplete) != 0) return event.instrument < options_.max_instruments && change(event);
    if (event.instrument >= entries_.size()) return false;
    const auto& entry = entries_[event.instrument];
    return entry.book && entry.channel == event.channel && entry.book->apply(event);
}

template <class Event>
void Books::apply_to_channel(const Event& event) {
    for (auto& entry : entries_) {
        if (entry.book && entry.channel == event.channel) entry.book->apply(event);
    }
}

inline bool Books::on(const feed::Clear& clear) {
    if (clear.instrument != feed::kNoInstrument) return change(clear);
    auto& of_channel = channel(clear.channel);
    of_channel.is_cleared = (clear.flags & feed::kIncomplete) == 0;
    if (of_channel.depth == depth_of_(clear.channel)) {
        apply_to_channel(clear);
        return false;
    }
    // The next writer of the ring has another configuration.
    for (auto& entry : entries_) {
        if (entry.channel == clear.channel) entry.book.reset();
    }
    return false;
}

inline bool Books::on(const feed::Gap& gap) noexcept {
    if (gap.channel < channels_.size()) channels_[gap.channel].is_cleared = false;
    apply_to_channel(gap);
    return false;
}

inline bool Books::on(const queue::MissedRange& missed) noexcept {
    for (auto& of_channel : channels_) of_channel.is_cleared = false;
    for (auto& entry : entries_) {
        if (entry.book) entry.book->apply(missed);
    }
    return false;
}

inline void Books::reset() noexcept {
    entries_.clear();
    channels_.clear();
}

}  // namespace millpond::market
