#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// Rules for the names of topics.
enum class TopicRules : std::uint8_t {
    mqtt,   ///< Special characters ('/', '+', '#', '%'), and all but visible ASCII, become %XX.
    kafka,  ///< Characters other than letters, digits, '.', '_' and '-' become '_'.
};

/// The name of a topic with placeholders for the names of an instrument: "bbo/{symbol}", "bbo.{venue}".
///
/// Threads: any number may make names at once.
class TopicTemplate {
public:
    /// Throws std::invalid_argument for an empty text, one that is no topic, and a place other than {symbol} and
    /// {venue}.
    TopicTemplate(std::string_view text, TopicRules rules);

    /// An empty name becomes '-'.
    [[nodiscard]] std::string name(const feed::Venue& venue, const feed::Symbol& symbol) const;

private:
    enum class Part : std::uint8_t { text, venue, symbol };
    struct Piece {
        Part part;
        std::string text;
    };

    void append(std::string& out, std::string_view name) const;

    TopicRules rules_;
    std::vector<Piece> pieces_;
};

/// Throws ConfigError that names the key when the text of a topic is not valid. user: whose key, for the message.
void check_topic(std::string_view user, std::string_view key, const std::string& topic, TopicRules rules);

}  // namespace millpond::gateway
