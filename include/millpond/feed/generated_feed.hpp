#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/generated_market.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/miax_tom_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/quotes_encoder.hpp>

namespace millpond::feed {

/// The formats in which a generated feed can be sent.
enum class WireFormat : std::uint8_t { bbo28, quotes, miax_tom, itch };

/// By the names bbo28, quotes, miax_tom and itch; nothing for any other.
[[nodiscard]] std::optional<WireFormat> wire_format(std::string_view name) noexcept;
[[nodiscard]] std::string_view to_string(WireFormat format) noexcept;

/// A GeneratedMarket as datagrams of one of our formats. The same options and times give the same bytes.
///
/// itch begins with the events of the day's start and the directory of all instruments, so that a reader that gets
/// them all has complete books; each book has one order per side. The other formats can be joined at any time.
///
/// Threads: one.
/// Memory:  about 150 bytes per instrument, taken in the constructor; next allocates nothing.
class GeneratedFeed {
public:
    static constexpr std::size_t kMaxDatagramBytes = quotes_layout::kMaxDatagramBytes;
    using Buffer = std::span<std::byte, kMaxDatagramBytes>;

    struct Options {
        WireFormat format{WireFormat::quotes};
        GeneratedMarket::Options market{};
        std::size_t steps_per_datagram{1};  ///< At most; bbo28 holds one. From 1 on.
        std::uint16_t channel{0};           ///< quotes only.
        std::uint64_t session{1};           ///< quotes: later ones greater; itch and miax_tom: its last digits.
    };

    /// Throws std::invalid_argument when an option is out of its range.
    explicit GeneratedFeed(const Options& options);

    /// The next datagram, inside `buffer`, with the given time as the venue's; never empty. Times must not go back.
    [[nodiscard]] std::span<const std::byte> next(Buffer buffer, std::int64_t utc_ns) noexcept;

    /// A heartbeat, inside `buffer`; empty for bbo28, which has none.
    [[nodiscard]] std::span<const std::byte> heartbeat(Buffer buffer, std::int64_t utc_ns) noexcept;

    /// Steps of the market that were written: each is a change of one instrument's best bid or offer.
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
    [[nodiscard]] const GeneratedMarket& market() const noexcept { return market_; }

private:
    /// The live order of each side of an instrument's book.
    struct Orders {
        std::uint64_t bid{0};
        std::uint64_t ask{0};
    };

    [[nodiscard]] std::span<const std::byte> next_bbo28(Buffer buffer) noexcept;
    [[nodiscard]] std::span<const std::byte> next_quotes(Buffer buffer, std::int64_t utc_ns) noexcept;
    [[nodiscard]] std::span<const std::byte> next_miax_tom(Buffer buffer, std::int64_t utc_ns) noexcept;
    [[nodiscard]] std::span<const std::byte> next_itch(Buffer buffer, std::int64_t utc_ns) noexcept;
    /// Adds messages of the day's start to the datagram; false when all of them have been sent.
    [[nodiscard]] bool add_prologue() noexcept;
    /// Adds the message that makes one side's order what the step says.
    void add_side(char side, std::uint64_t& order, bool traded, std::uint32_t size, Price price,
                  std::uint32_t trade_size, std::string_view stock) noexcept;

    Options options_;
    GeneratedMarket market_;
    QuotesEncoder quotes_;
    MiaxTomEncoder miax_;
    MoldUdp64Encoder mold_;
    ItchEncoder itch_;
    std::vector<Orders> orders_;
    std::uint64_t steps_{0};
    std::uint64_t next_order_{1};
    std::uint64_t next_match_{1};
    std::size_t prologue_{0};  // messages of the day's start that were sent
    std::int64_t second_{-1};
};

}  // namespace millpond::feed
