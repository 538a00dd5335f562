#include "gateway/json_lines/request.hpp"

#include <fmt/format.h>
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::gateway::lines {
namespace {

using Tree = boost::property_tree::ptree;

constexpr std::size_t kDeepest = 2;  ///< The object, and the list in it.
constexpr std::uint64_t kLongestIntervalMs = 60'000;
constexpr std::uint64_t kLargestEcho = (std::uint64_t{1} << 53U) - 1;  ///< What JavaScript keeps exactly.

/// Calls found(c) for each character outside of strings (a string shows as its first quote) until it returns true.
/// Whether it did.
template <class Found>
bool any_outside_strings(std::string_view line, Found&& found) {
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted) {
            if (c == '\\') ++i;
            if (c == '"') quoted = false;
            continue;
        }
        quoted = c == '"';
        if (found(c)) return true;
    }
    return false;
}

/// The parser recurses once per level.
bool too_deep(std::string_view line) {
    std::size_t depth = 0;
    return any_outside_strings(line, [&](char c) {
        if (c == '[' || c == '{') return ++depth > kDeepest;
        if ((c == ']' || c == '}') && depth > 0) --depth;
        return false;
    });
}

/// Whether a list holds an element without quotes: the parser takes a number for its digits.
bool lists_bare_words(std::string_view line) {
    std::size_t lists = 0;
    return any_outside_strings(line, [&](char c) {
        if (c == '[')
            ++lists;
        else if (c == ']' && lists > 0)
            --lists;
        else
            return lists > 0 && std::string_view{"\", \t\r"}.find(c) == std::string_view::npos;
        return false;
    });
}

std::vector<std::string> symbols_of(const std::string& key, const Tree& value) {
    std::vector<std::string> symbols;
    for (const auto& [name, element] : value) {
        if (!name.empty() || !element.empty()) throw RequestError(fmt::format("'{}' must be a list of symbols", key));
        symbols.push_back(element.data());
        if (symbols.back().empty() || !feed::Symbol::fits(symbols.back())) {
            throw RequestError(fmt::format("'{}': a symbol has 1 to {} characters", key, feed::Symbol::capacity()));
        }
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
        if (std::ranges::any_of(symbols.back(), is_control)) {
            throw RequestError(fmt::format("'{}': a symbol holds no control characters", key));
        }
    }
    if (symbols.empty()) throw RequestError(fmt::format("'{}' must be a list of symbols like [\"AAPL\"]", key));
    return symbols;
}

Delivery mode_of(const Tree& value) {
    if (value.data() == "every") return Delivery::every;
    if (value.data() == "conflate") return Delivery::conflate;
    throw RequestError("'mode' must be \"every\" or \"conflate\"");
}

/// The value of `key`, decimal digits only.
std::uint64_t number_of(std::string_view key, const Tree& value, std::uint64_t highest) {
    const auto& text = value.data();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number > highest) {
        throw RequestError(fmt::format("'{}' must be an integer from 0 to {}", key, highest));
    }
    return number;
}

}  // namespace

Request parse_request(std::string_view line) {
    if (line.find('{') != line.find_first_not_of(" \t\r")) throw RequestError("a request is a JSON object");
    if (too_deep(line)) throw RequestError("a request holds nothing deeper than a list");
    if (lists_bare_words(line)) throw RequestError("a list holds symbols in quotes, like [\"AAPL\"]");
    Tree tree;
    try {
        std::istringstream in{std::string{line}};
        boost::property_tree::read_json(in, tree);
    } catch (const boost::property_tree::json_parser_error& error) {
        throw RequestError(error.message());
    }
    Request request;
    for (const auto& [key, value] : tree) {
        if (key == "subscribe") {
            request.subscribe = symbols_of(key, value);
        } else if (key == "unsubscribe") {
            request.unsubscribe = symbols_of(key, value);
        } else if (key == "mode") {
            request.mode = mode_of(value);
        } else if (key == "interval_ms") {
            request.interval = std::chrono::milliseconds{number_of(key, value, kLongestIntervalMs)};
        } else if (key == "account") {
            request.account = value.data() == "true";
        } else if (key == "echo") {
            request.echo = number_of(key, value, kLargestEcho);
        } else if (key == "token") {
            request.token = value.data();
        } else {
            throw RequestError(fmt::format(
                "unknown key '{}'; known are subscribe, unsubscribe, mode, interval_ms, account, echo, token",
                key.substr(0, feed::Symbol::capacity())));
        }
    }
    if (tree.empty()) throw RequestError("nothing is asked for");
    return request;
}

}  // namespace millpond::gateway::lines
