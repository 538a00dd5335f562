#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// Rules for the names of topics.
enum class TopicRules : std::uint8_t {
    /// Special characters ('/', '+', '#', '%'; '$' at the start of the topic), and all but visible ASCII, become %XX.
    mqtt,
    /// Characters other than letters, digits, '.' and '-' become _XX, and so does a '.' that would look like an escape.
    /// Two names never differ only in '.' and '_', because a broker refuses the second of such topics.
    kafka,
};

/// The name of a topic with placeholders for the names of an instrument: "bbo/{symbol}", "bbo.{venue}".
///
/// Threads: name() on any.
class TopicTemplate {
public:
    /// Throws std::invalid_argument for an empty text, characters that are not allowed in a topic, and placeholders
    /// other than {symbol} and {venue}.
    TopicTemplate(std::string_view text, TopicRules rules);

    /// Returns an instrument's topic. An empty name becomes '-'. Different symbols have different topics if the
    /// template has {symbol}.
    [[nodiscard]] std::string name(const feed::Venue& venue, const feed::Symbol& symbol) const;
    /// Whether there is one topic for all instruments.
    [[nodiscard]] bool is_single() const noexcept { return pieces_.size() == 1 && pieces_[0].part == Part::text; }

private:
    enum class Part : std::uint8_t { text, venue, symbol };
    struct Piece {
        Part part;
        std::string text;
    };

    void append(std::string& out, Part part, std::string_view name) const;

    TopicRules rules_;
    std::vector<Piece> pieces_;
};

/// Checks a topic. Throws ConfigError that names the key if it is invalid. user: prefix of the message.
void check_topic(std::string_view user, std::string_view key, const std::string& topic, TopicRules rules);

}  // namespace millpond::gateway
