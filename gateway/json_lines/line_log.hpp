#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>

namespace millpond::gateway::json_lines {

/// Kinds of JSON lines that are treated differently for each client.
enum class LineKind : std::uint8_t {
    quote,  ///< May be conflated.
    other,  ///< Must not be conflated.
    clear,  ///< Voids quotes and books.
    gap,    ///< Quotes of the snapshot are incomplete from here on.
    loss,   ///< Reports events that the sink missed; quotes of the snapshot are incomplete from here on.
    level,  ///< For clients of some depths only.
    order,  ///< For clients with orders only.
    book,   ///< No text: the whole book is to be sent again.
};

[[nodiscard]] constexpr bool is_of_book(LineKind kind) noexcept { return kind >= LineKind::level; }

/// A JSON line: an event encoded once, for all clients.
struct Line {
    std::uint64_t events_before{0};  ///< Events of the ring in all earlier lines.
    std::uint64_t events{1};         ///< Events in this line: 1, or more for a loss.
    feed::InstrumentId instrument{feed::kNoInstrument};
    LineKind kind{LineKind::other};
    /// Events of the line before it, which is for the clients that do not get this one.
    std::uint8_t moved_events{0};
    std::uint16_t length{0};
    std::uint32_t min_levels{0};  ///< A level or order is for clients of min_levels to max_levels levels of a side.
    std::uint32_t max_levels{0};
    std::array<char, feed::kMaxJsonBytes + 1> text;  ///< The JSON and its newline.

    [[nodiscard]] std::string_view view() const noexcept { return {text.data(), length}; }
};

/// The newest JSON lines, numbered from 0, in a ring that each client reads at its own pace. It bounds the backlog of a
/// client without a buffer for each client.
///
/// Threads: one.
/// Memory:  `capacity` lines, allocated in the constructor.
class LineLog {
public:
    /// capacity: lines, a power of two. Throws std::invalid_argument otherwise.
    explicit LineLog(std::size_t capacity) : lines_(capacity) {
        if (!std::has_single_bit(capacity)) throw std::invalid_argument("line log: capacity must be a power of two");
    }

    /// Replaces the oldest line by the next one; the caller writes its text and length.
    Line& append(LineKind kind, feed::InstrumentId instrument, std::uint64_t events = 1) noexcept {
        auto& line = lines_[end_ & (lines_.size() - 1)];
        line.events_before = events_;
        line.events = events;
        line.instrument = instrument;
        line.kind = kind;
        line.moved_events = 0;
        events_ += events;
        ++end_;
        return line;
    }

    [[nodiscard]] const Line& operator[](std::uint64_t number) const noexcept {
        return lines_[number & (lines_.size() - 1)];
    }
    /// Number of the next line to be appended.
    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return lines_.size(); }
    /// Number of events in the lines before line `number`, which is in the log or is its end.
    [[nodiscard]] std::uint64_t events_before(std::uint64_t number) const noexcept {
        return number == end_ ? events_ : (*this)[number].events_before;
    }

private:
    std::vector<Line> lines_;
    std::uint64_t end_{0};
    std::uint64_t events_{0};
};

}  // namespace millpond::gateway::json_lines
