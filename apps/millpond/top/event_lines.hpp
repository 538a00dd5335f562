#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/json_text.hpp>
#include <millpond/feed/quote_csv.hpp>
#include <millpond/journal/layout.hpp>
#include <millpond/queue/broadcast_reader.hpp>

namespace millpond::app {

enum class LineFormat : std::uint8_t { table, json, csv };

/// table, json or csv, as --format has it.
[[nodiscard]] LineFormat format_of(const std::string& word);

/// Writes to standard output; false when that is a closed pipe. Throws std::system_error for any other failure.
[[nodiscard]] bool put_out(std::string_view text);

/// Formats events of a ring or a journal as lines.
///
/// Threads: one.
class EventLines {
public:
    explicit EventLines(LineFormat format) : format_(format) {}

    /// The header line; empty if there is none.
    [[nodiscard]] std::string_view head() const noexcept;

    /// Instruments are named in the order of their ids.
    void name(const feed::Symbol& symbol);
    /// Of one that has a name.
    void rename(feed::InstrumentId id, const feed::Symbol& symbol);
    /// From here on ids belong to other instruments.
    void forget_names() noexcept { names_.clear(); }
    [[nodiscard]] std::size_t named() const noexcept { return names_.size(); }

    /// Each adds a line; number: of the event's ring entry. CSV has lines for quotes and for
    /// what is missing.
    void write(const feed::Quote& quote, std::uint64_t number);
    void write(const feed::Trade& trade, std::uint64_t number);
    void write(const feed::TradeBreak& broken, std::uint64_t number);
    void write(const feed::Status& status, std::uint64_t number);
    void write(const feed::Gap& gap, std::uint64_t number);
    void write(const feed::Clear& clear, std::uint64_t number);
    void write(const queue::MissedRange& missed);
    void write(const journal::LostRecord& lost);

    /// The lines since the last call; valid until the next line is added.
    [[nodiscard]] std::string_view lines() const noexcept { return lines_; }
    void clear() noexcept { lines_.clear(); }

private:
    struct Name {
        feed::Symbol symbol;
        feed::JsonSymbol json;
        feed::CsvSymbol csv;
    };
    [[nodiscard]] std::string_view symbol_of(feed::InstrumentId id) const noexcept;
    [[nodiscard]] const feed::JsonSymbol& json_of(feed::InstrumentId id) const noexcept;

    LineFormat format_;
    std::vector<Name> names_;
    std::string lines_;
};

}  // namespace millpond::app
