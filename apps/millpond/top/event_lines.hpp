#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/json_text.hpp>
#include <millpond/feed/quote_csv.hpp>
#include <millpond/feed/venues_json.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/market/book.hpp>
#include <millpond/queue/broadcast_reader.hpp>

namespace millpond::app {

enum class LineFormat : std::uint8_t { table, json, csv };

/// Parses a value of --format: table, json or csv.
[[nodiscard]] LineFormat format_of(const std::string& word);

/// Writes to standard output; false if it is a closed pipe. Throws std::system_error for any other failure.
[[nodiscard]] bool put_out(std::string_view text);

/// Formats events of a ring or a journal as lines.
///
/// Threads: one.
class EventLines {
public:
    explicit EventLines(LineFormat format) : format_(format) {}

    /// Returns the header line; empty if there is none.
    [[nodiscard]] std::string_view head() const noexcept;

    /// Sets the name of the next instrument, and the decimals that its prices have at least; ids are named in ascending
    /// order. venue: shown with the symbol; empty: not shown.
    void name(const feed::Symbol& symbol, unsigned decimals, const feed::Venue& venue = {});
    /// Replaces a name. Precondition: the instrument has one.
    void rename(feed::InstrumentId id, const feed::Symbol& symbol, unsigned decimals);
    /// Sets the venues of channels, for BestVenues.
    void name_channels(const feed::ChannelVenues& venues) noexcept { channel_venues_ = venues; }
    /// Clears the names: later ids belong to other instruments.
    void forget_names() noexcept { names_.clear(); }
    [[nodiscard]] std::size_t named() const noexcept { return names_.size(); }
    /// Returns an instrument's name; "(all)" for kNoInstrument.
    [[nodiscard]] std::string_view symbol_of(feed::InstrumentId id) const noexcept;

    /// Adds a line for an event. number: its ring number. CSV has lines only for quotes and losses.
    void write(const feed::Quote& quote, std::uint64_t number);
    void write(const feed::Trade& trade, std::uint64_t number);
    void write(const feed::TradeBreak& broken, std::uint64_t number);
    void write(const feed::Order& order, std::uint64_t number);
    void write(const feed::Level& level, std::uint64_t number);
    void write(const feed::Imbalance& imbalance, std::uint64_t number);
    void write(const feed::Band& band, std::uint64_t number);
    void write(const feed::Definition& definition, std::uint64_t number);
    void write(const feed::BestVenues& venues, std::uint64_t number);
    void write(const feed::Status& status, std::uint64_t number);
    void write(const feed::Gap& gap, std::uint64_t number);
    void write(const feed::Clear& clear, std::uint64_t number);
    /// Adds a line with the best `depth` levels of both sides of a book. reason: why it is incomplete. CSV has none.
    void write(const market::Book& book, std::size_t depth, feed::InstrumentId id, std::uint16_t channel,
               std::int64_t receive_utc_ns, std::uint64_t number, std::string_view reason);
    void write(const queue::MissedRange& missed);
    void write(const journal::LostRecord& lost);

    /// Returns the collected lines, valid until the next line is added.
    [[nodiscard]] std::string_view lines() const noexcept { return lines_; }
    void clear() noexcept { lines_.clear(); }

private:
    struct Name {
        feed::Symbol symbol;
        feed::Venue venue;
        std::string text;  // of the table: "AAPL", or "BEST:AAPL"
        feed::JsonSymbol json;
        feed::CsvSymbol csv;
    };
    [[nodiscard]] std::string price_or_dash(feed::InstrumentId id, feed::Price price, std::uint64_t size) const;
    [[nodiscard]] std::string price_or_dash(feed::InstrumentId id, feed::Price price) const {
        return price_or_dash(id, price, price == feed::kNoPrice ? 0 : 1);
    }
    [[nodiscard]] static Name name_of(const feed::Symbol& symbol, unsigned decimals, const feed::Venue& venue);
    /// An instrument in a table; "(all)" for kNoInstrument.
    [[nodiscard]] std::string_view text_of(feed::InstrumentId id) const noexcept;
    /// Names of channels, separated by blanks.
    [[nodiscard]] std::string venues_of(std::uint64_t channels) const;
    [[nodiscard]] const feed::JsonSymbol& json_of(feed::InstrumentId id) const noexcept;
    template <class Event>
    void write_json(const Event& event, std::uint64_t number);

    LineFormat format_;
    std::vector<Name> names_;
    feed::ChannelVenues channel_venues_{};
    std::string lines_;
};

}  // namespace millpond::app
