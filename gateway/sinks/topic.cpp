#include "gateway/sinks/topic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "service/settings/value.hpp"

namespace millpond::gateway {
namespace {

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool fits_kafka(char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; }

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

void TopicTemplate::append(std::string& out, std::string_view name) const {
    if (name.empty()) name = "-";
    for (const char c : name) {
        if (rules_ == TopicRules::kafka) {
            out += fits_kafka(c) ? c : '_';
        } else if (fits_mqtt_level(c)) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
}

std::string TopicTemplate::name(const feed::Venue& venue, const feed::Symbol& symbol) const {
    std::string out;
    for (const auto& [part, text] : pieces_) {
        switch (part) {
            case Part::text: out += text; break;
            case Part::venue: append(out, venue.view()); break;
            case Part::symbol: append(out, symbol.view()); break;
        }
    }
    return out;
}

void check_topic(std::string_view user, std::string_view key, const std::string& topic, TopicRules rules) {
    try {
        static_cast<void>(TopicTemplate{topic, rules});
    } catch (const std::invalid_argument& error) {
        throw settings::ConfigError(fmt::format("{}: {} '{}': {}", user, key, topic, error.what()));
    }
}

}  // namespace millpond::gateway
