#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/generated_market.hpp>
#include <millpond/feed/iex_encoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/miax_tom_encoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/feed/quotes_encoder.hpp>

namespace millpond::feed {

/// The formats in which a generated feed can be sent.
enum class WireFormat : std::uint8_t { bbo28, quotes, miax_tom, itch, iex_tops, iex_deep, iex_deep_plus };
inline constexpr std::array kWireFormats{WireFormat::bbo28,        WireFormat::quotes,   WireFormat::miax_tom,
                                         WireFormat::itch,         WireFormat::iex_tops, WireFormat::iex_deep,
                                         WireFormat::iex_deep_plus};

/// Parses the name of a format, such as miax_tom; returns nullopt for other names.
[[nodiscard]] std::optional<WireFormat> wire_format(std::string_view name) noexcept;
[[nodiscard]] std::string_view to_string(WireFormat format) noexcept;

/// Sends a GeneratedMarket as datagrams of one of our formats. The same options and times give the same bytes.
///
/// Feeds with books (itch, iex_deep, iex_deep_plus) begin with the events of the day's start and the directory of all
/// instruments, so that a reader that receives all of them has complete books. The other formats can be joined at any
/// time.
///
/// Threads: one.
/// Memory:  about 150 bytes per instrument and 32 per order, allocated in the constructor; next allocates nothing.
class GeneratedFeed {
public:
    static constexpr std::size_t kMaxOrders = 16;
    static constexpr std::size_t kMaxDatagramBytes = quotes_layout::kMaxDatagramBytes;
    using Buffer = std::span<std::byte, kMaxDatagramBytes>;

    struct Options {
        WireFormat format{WireFormat::quotes};
        GeneratedMarket::Options market{};
        std::size_t steps_per_datagram{1};  ///< Maximum steps in a datagram, from 1; bbo28 holds one.
        std::size_t orders{1};     ///< itch, iex_deep_plus: orders of each side of a book, from 1 to kMaxOrders.
        std::uint16_t channel{0};  ///< Only for quotes.
        /// quotes: must increase from session to session; of the others the last digits or bits are the session.
        std::uint64_t session{1};
    };

    /// Throws std::invalid_argument if an option is out of range.
    explicit GeneratedFeed(const Options& options);

    /// Writes the next datagram to `buffer`; never empty. utc_ns: the venue's time, which must not go back.
    [[nodiscard]] std::span<const std::byte> next(Buffer buffer, std::int64_t utc_ns) noexcept;

    /// Writes a heartbeat to `buffer`; empty for bbo28, which has no heartbeats.
    [[nodiscard]] std::span<const std::byte> heartbeat(Buffer buffer, std::int64_t utc_ns) noexcept;

    /// Steps of the market that were written; each changes one instrument's best bid or offer.
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
    [[nodiscard]] const GeneratedMarket& market() const noexcept { return market_; }

private:
    /// The live order that makes the best price of each side of an instrument's book.
    struct Orders {
        std::uint64_t bid{0};
        std::uint64_t ask{0};
        Price ask_price{0};
        Price bid_price{0};
    };
    /// An order behind it.
    struct Behind {
        std::uint64_t order{0};
        std::uint32_t price{0};
    };

    [[nodiscard]] std::span<const std::byte> next_bbo28(Buffer buffer) noexcept;
    [[nodiscard]] std::span<const std::byte> next_quotes(Buffer buffer, std::int64_t utc_ns) noexcept;
    [[nodiscard]] std::span<const std::byte> next_miax_tom(Buffer buffer, std::int64_t utc_ns) noexcept;
    [[nodiscard]] std::span<const std::byte> next_itch(Buffer buffer, std::int64_t utc_ns) noexcept;
    [[nodiscard]] std::span<const std::byte> next_iex_tops(Buffer buffer, std::int64_t utc_ns) noexcept;
    [[nodiscard]] std::span<const std::byte> next_iex_deep(Buffer buffer, std::int64_t utc_ns) noexcept;
    [[nodiscard]] std::span<const std::byte> next_iex_deep_plus(Buffer buffer, std::int64_t utc_ns) noexcept;
    /// Changes the orders of an instrument as the next step of the market requires.
    void add_step(std::int64_t utc_ns) noexcept;
    /// These add one message of an order, in the format of the feed.
    void put_added(std::uint64_t order, char side, std::uint32_t size, std::string_view stock,
                   std::uint32_t price) noexcept;
    void put_executed(std::uint64_t order, std::uint32_t size, std::string_view stock, std::uint32_t price) noexcept;
    /// The order may get another number.
    void put_changed(std::uint64_t& order, std::uint32_t size, std::string_view stock, std::uint32_t price) noexcept;
    /// Adds messages of the day's start to the datagram; returns false once all of them have been sent.
    [[nodiscard]] bool add_prologue() noexcept;
    /// Adds the message that changes one side's order as the step requires.
    void add_side(char side, std::uint64_t& order, bool traded, std::uint32_t size, Price price,
                  std::uint32_t trade_size, std::string_view stock) noexcept;
    /// Adds messages that move one of the orders behind the best price, and those that would be better than it.
    void add_behind(char side, std::uint32_t instrument, Price best, std::string_view stock) noexcept;

    Options options_;
    GeneratedMarket market_;
    QuotesEncoder quotes_;
    MiaxTomEncoder miax_;
    MoldUdp64Encoder mold_;
    ItchEncoder itch_;
    IexEncoder iex_;
    IexMessageWriter iex_writer_;
    std::vector<Orders> orders_;
    std::vector<Behind> behind_;  // of each instrument those of the bid, then those of the ask
    std::uint64_t steps_{0};
    std::uint64_t next_order_{1};
    std::uint64_t next_match_{1};
    std::size_t prologue_{0};  // messages of the day's start sent so far
    std::int64_t second_{-1};
};

}  // namespace millpond::feed
