#include "gateway/sinks/topic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "service/config_error.hpp"

namespace millpond::gateway {
namespace {

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool fits_kafka(char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; }

/// Whether the text begins with two hexadecimal digits of an escape.
bool begins_with_hex(std::string_view text) {
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
    return text.size() >= 2 && is_hex(text[0]) && is_hex(text[1]);
}

bool fits_mqtt_level(char c) { return c >= ' ' && c <= '~' && c != '/' && c != '+' && c != '#' && c != '%'; }

}  // namespace

TopicTemplate::TopicTemplate(std::string_view text, TopicRules rules) : rules_(rules) {
    if (text.empty()) throw std::invalid_argument("an empty topic");
    const auto fits = [&](char c) {
        return rules == TopicRules::kafka ? fits_kafka(c) : c > ' ' && c <= '~' && c != '+' && c != '#';
    };
    while (!text.empty()) {
        const auto open = std::min(text.find('{'), text.size());
        const auto plain = text.substr(0, open);
        if (const auto* bad = std::find_if_not(plain.begin(), plain.end(), fits); bad != plain.end()) {
            throw std::invalid_argument(fmt::format("character '{}' is not allowed in a topic", *bad));
        }
        if (!plain.empty()) pieces_.push_back({Part::text, std::string{plain}});
        text.remove_prefix(open);
        if (text.empty()) break;
        const auto place = text.substr(0, text.find('}') == std::string_view::npos ? text.size() : text.find('}') + 1);
        if (place != "{symbol}" && place != "{venue}") {
            throw std::invalid_argument(fmt::format("'{}' is unknown; known are {{symbol}} and {{venue}}", place));
        }
        pieces_.push_back({place == "{symbol}" ? Part::symbol : Part::venue, {}});
        text.remove_prefix(place.size());
    }
}

void TopicTemplate::append(std::string& out, Part part, std::string_view name) const {
    if (name.empty()) {
        out += '-';
        return;
    }
    const auto fits = [&](std::size_t i) {
        if (name == "-") return false;  // the placeholder of an empty name
        // Topics that begin with '$' belong to the broker, and '#' does not subscribe to them.
        if (rules_ == TopicRules::mqtt) return fits_mqtt_level(name[i]) && !(name[i] == '$' && out.empty());
        if (name[i] == '.') return part == Part::symbol && !begins_with_hex(name.substr(i + 1));
        return is_plain(name[i]) || name[i] == '-';
    };
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (fits(i)) {
            out += name[i];
        } else {
            out +=
                fmt::format("{}{:02X}", rules_ == TopicRules::kafka ? '_' : '%', static_cast<unsigned char>(name[i]));
        }
    }
}

std::string TopicTemplate::name(const feed::Venue& venue, const feed::Symbol& symbol) const {
    std::string out;
    for (const auto& [part, text] : pieces_) {
        switch (part) {
            case Part::text: out += text; break;
            case Part::venue: append(out, part, venue.view()); break;
            case Part::symbol: append(out, part, symbol.view()); break;
        }
    }
    return out;
}

void check_topic(std::string_view user, std::string_view key, const std::string& topic, TopicRules rules) {
    try {
        static_cast<void>(TopicTemplate{topic, rules});
    } catch (const std::invalid_argument& error) {
        throw service::ConfigError(fmt::format("{}: {} '{}': {}", user, key, topic, error.what()));
    }
}

}  // namespace millpond::gateway
