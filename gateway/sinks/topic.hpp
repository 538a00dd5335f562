#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway {

/// Whose rules a topic's name obeys.
enum class TopicRules : std::uint8_t {
    mqtt,   ///< What means something in a topic ('/', '+', '#', '%'), and all but visible ASCII, becomes %XX.
    kafka,  ///< What is no letter, digit, '.', '_' or '-' becomes '_'.
};

/// The name of a topic with places for what an instrument is called: "bbo/{symbol}", "bbo.{venue}".
///
/// Threads: any number may make names at once.
class TopicTemplate {
public:
    /// Throws std::invalid_argument for an empty text, one that is no topic, and a place other than {symbol} and
    /// {venue}.
    TopicTemplate(std::string_view text, TopicRules rules);

    /// An empty name stands as '-'.
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
