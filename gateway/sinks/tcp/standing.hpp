#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>

namespace millpond::gateway::tcp {

/// The newest quote of every instrument with its name, and which line of the log told it: what a client is given that
/// joins, or that fell so far behind that the line is gone.
///
/// Threads: one.
class Standing {
public:
    static constexpr std::uint64_t kNoLine = ~std::uint64_t{0};

    void name(const feed::Symbol& symbol) {
        instruments_.push_back({feed::JsonSymbol{symbol}, symbol, {}, 0, kNoLine});
    }

    /// A quote of the board when the sink joined: no line told it.
    void put(const feed::Quote& quote, std::uint64_t number) { put(quote, number, kNoLine); }
    /// A quote that line `line` tells.
    void put(const feed::Quote& quote, std::uint64_t number, std::uint64_t line) {
        auto& instrument = instruments_[quote.instrument];
        instrument.quote = quote;
        instrument.number = number;
        instrument.line = line;
    }
    /// The quotes of the channel (of one instrument, unless kNoInstrument) are void.
    void clear(const feed::Clear& clear) noexcept {
        for (auto& instrument : instruments_) {
            if (instrument.quote.channel != clear.channel) continue;
            if (clear.instrument != feed::kNoInstrument && clear.instrument != instrument.quote.instrument) continue;
            instrument.number = 0;
            instrument.line = kNoLine;
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return instruments_.size(); }
    [[nodiscard]] bool has_quote(feed::InstrumentId id) const noexcept { return instruments_[id].number != 0; }
    [[nodiscard]] const feed::JsonSymbol& json_symbol(feed::InstrumentId id) const noexcept {
        return instruments_[id].json;
    }
    [[nodiscard]] std::string_view symbol(feed::InstrumentId id) const noexcept {
        return instruments_[id].symbol.view();
    }
    /// The line that told the newest quote; kNoLine when none did.
    [[nodiscard]] std::uint64_t line(feed::InstrumentId id) const noexcept { return instruments_[id].line; }

    /// Appends the newest quote as JSON with a newline.
    void write(feed::InstrumentId id, std::string& out) const {
        std::array<char, feed::kMaxJsonBytes> buffer;
        const auto& instrument = instruments_[id];
        out += feed::quote_json(buffer, instrument.quote, instrument.json, instrument.number);
        out += '\n';
    }

private:
    struct Instrument {
        feed::JsonSymbol json;
        feed::Symbol symbol;
        feed::Quote quote;
        std::uint64_t number;  ///< Of the quote's ring entry; 0: no quote.
        std::uint64_t line;
    };
    std::vector<Instrument> instruments_;
};

}  // namespace millpond::gateway::tcp
