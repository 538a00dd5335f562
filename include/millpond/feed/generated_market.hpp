#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// A simulated market: many instruments whose best bids and offers walk at random, some busy and most quiet.
///
/// Uses integer arithmetic only, so the same seed gives the same steps on every machine. Prices stay on a grid of 0.01,
/// never cross or lock, and return towards their starting point. Instrument n changes in proportion to 1/(n + 1).
///
/// Threads: one.
/// Memory:  about 100 bytes per instrument, allocated in the constructor.
/// Source:  xoshiro256** (Blackman and Vigna 2018), seeded by SplitMix64; Zipf's law with exponent 1.
class GeneratedMarket {
public:
    static constexpr std::size_t kMaxInstruments = 10'000;

    struct Options {
        std::uint64_t seed{1};
        std::size_t instruments{100};  ///< 1..kMaxInstruments.
    };

    /// A change of one instrument, which is identified by its index in the market.
    struct Step {
        std::uint32_t instrument{0};
        bool bid_changed{false};
        bool ask_changed{false};
        bool traded{false};  ///< A trade at the side that changed: its size fell by trade_size, and is still above 0.
        Price bid_price{0};
        Price ask_price{0};
        std::uint32_t bid_size{0};
        std::uint32_t ask_size{0};
        std::uint32_t trade_size{0};
    };

    /// Throws std::invalid_argument if there are no instruments or too many.
    explicit GeneratedMarket(const Options& options);

    /// Makes the next change. The result is valid until the next call.
    const Step& next() noexcept;

    /// Up to eight upper-case letters.
    [[nodiscard]] const Symbol& symbol(std::uint32_t instrument) const noexcept { return symbols_[instrument]; }
    [[nodiscard]] std::size_t size() const noexcept { return books_.size(); }

private:
    struct Book {
        std::uint32_t home_ticks;  // where the price started
        std::uint32_t bid_ticks;
        std::uint32_t ask_ticks;
        std::uint32_t bid_size;
        std::uint32_t ask_size;
        std::uint32_t lot;
    };

    [[nodiscard]] std::uint64_t random() noexcept;
    [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept;
    [[nodiscard]] std::uint32_t pick() noexcept;
    [[nodiscard]] std::uint32_t some_size(const Book& book) noexcept { return book.lot * (1 + below(20)); }
    void walk(Book& book) noexcept;
    void resize(Book& book) noexcept;
    void trade(Book& book) noexcept;

    std::array<std::uint64_t, 4> state_{};
    std::vector<Book> books_;
    std::vector<Symbol> symbols_;
    std::vector<std::uint64_t> cumulative_;  // sums of the weights of instruments 0..n
    Step step_;
};

}  // namespace millpond::feed
