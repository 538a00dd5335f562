#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/market/book.hpp>

namespace millpond::gateway::udp {

/// The levels of an instrument that were sent. Receivers that lost nothing have the same ones.
///
/// Threads: one.
/// Memory:  48 bytes for each level.
class SentLevels {
public:
    using Level = feed::QuotesEncoder::Level;
    using Entry = feed::QuotesEncoder::Entry;

    /// Memory of `follow`, reused for all instruments.
    struct Scratch {
        std::vector<Level> bids;
        std::vector<Level> asks;
        std::vector<Level> bid_changes;
        std::vector<Level> ask_changes;
    };

    /// Makes the levels equal to the best `depth` levels of a book without an open group, and puts into the entry what
    /// makes receivers do so; it is valid until the next call. Returns false if that is nothing.
    [[nodiscard]] bool follow(const market::Book& book, std::uint32_t depth, Scratch& scratch, Entry& entry);

    /// Puts all levels into the entry. Returns false if none were sent yet.
    [[nodiscard]] bool repeat(Entry& entry) const noexcept;

    /// Receivers discard the levels.
    void discard() noexcept { is_sent_ = false; }
    /// Receivers know that the levels are incomplete.
    void mark_incomplete() noexcept { is_incomplete_ = true; }
    /// True if receivers take an incomplete book for a complete one, or the other way round.
    [[nodiscard]] bool misleads(const market::Book& book) const noexcept {
        return is_sent_ && is_incomplete_ == book.complete();
    }

private:
    bool is_sent_{false};
    bool is_incomplete_{true};
    std::vector<Level> bids_;
    std::vector<Level> asks_;
};

}  // namespace millpond::gateway::udp
