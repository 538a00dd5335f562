#include "gateway/json_lines/request.hpp"

#include <fmt/format.h>
#include <json/value.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/feed/event.hpp>

#include "service/json.hpp"
#include "service/utc_text.hpp"

namespace millpond::gateway::json_lines {
namespace {

constexpr int kMaxDepth = 3;  ///< Maximum nesting: the object, a list in it, and the list's symbols.
constexpr std::uint64_t kMaxIntervalMs = 60'000;
constexpr std::uint64_t kMaxEcho =
    (std::uint64_t{1} << 53U) - 1;  ///< Largest integer that JavaScript represents exactly.

/// Whether the UTF-8 text has a control character: of ASCII, or U+0080 to U+009F.
bool has_control(std::string_view text) {
    char before = 0;
    return std::ranges::any_of(text, [&before](char c) {
        const bool is_second = std::exchange(before, c) == '\xc2' && static_cast<unsigned char>(c) < 0xa0;
        return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || is_second;
    });
}

std::vector<std::string> symbols_of(const std::string& key, const Json::Value& value) {
    if (!value.isArray()) throw RequestError(fmt::format("'{}' must be a list of symbols", key));
    std::vector<std::string> symbols;
    for (const auto& element : value) {
        if (!element.isString()) throw RequestError("a list contains quoted symbols, like [\"AAPL\"]");
        symbols.push_back(element.asString());
        if (symbols.back().empty() || !feed::Symbol::fits(symbols.back())) {
            throw RequestError(fmt::format("'{}': a symbol has 1 to {} characters", key, feed::Symbol::capacity()));
        }
        if (has_control(symbols.back())) {
            throw RequestError(fmt::format("'{}': a symbol must not contain control characters", key));
        }
    }
    if (symbols.empty()) throw RequestError(fmt::format("'{}' must be a list of symbols like [\"AAPL\"]", key));
    return symbols;
}

std::string name_of(const Json::Value& value) {
    constexpr std::size_t kMaxNameBytes = 64;
    if (!value.isString() || value.asString().size() > kMaxNameBytes || has_control(value.asString())) {
        throw RequestError(
            fmt::format("'name' must be a string of at most {} bytes without control characters", kMaxNameBytes));
    }
    return value.asString();
}

Delivery mode_of(const Json::Value& value) {
    if (value == "every") return Delivery::every;
    if (value == "conflate") return Delivery::conflate;
    throw RequestError("'mode' must be \"every\" or \"conflate\"");
}

std::uint64_t number_of(std::string_view key, const Json::Value& value, std::uint64_t highest) {
    if (!value.isIntegral() || !value.isUInt64() || value.asUInt64() > highest) {
        throw RequestError(fmt::format("'{}' must be an integer from 0 to {}", key, highest));
    }
    return value.asUInt64();
}

std::uint32_t depth_of(const Json::Value& value) {
    if (value == "full") return feed::kFullDepth;
    if (!value.isIntegral() || !value.isUInt64() || value.asUInt64() == 0 || value.asUInt64() >= feed::kFullDepth) {
        throw RequestError("'depth' must be a number of levels from 1 on, or \"full\"");
    }
    return static_cast<std::uint32_t>(value.asUInt64());
}

std::optional<ReplayStart> start_of(const Json::Value& value) {
    constexpr std::size_t kMaxShown = 40;
    if (value.isObject()) {
        if (value.size() != 1 || !value.isMember("record")) {
            throw RequestError("'from': an object has one key, 'record'");
        }
        const auto& record = value["record"];
        if (!record.isIntegral() || !record.isUInt64() || record.asUInt64() == 0 || record.asUInt64() > kMaxEcho) {
            throw RequestError(fmt::format("'record' must be an integer from 1 to {}", kMaxEcho));
        }
        return ReplayStart{.record = record.asUInt64()};
    }
    if (value == "board") return std::nullopt;
    if (!value.isString()) {
        throw RequestError(R"('from' must be a time like "2026-11-28T14:30:00Z", {"record":N} or "board")");
    }
    const auto text = value.asString();
    const auto time = service::utc_of(text);
    if (!time) {
        throw RequestError(fmt::format("'from': '{}' is not a time of the years 1678 to 2261 like 2026-11-28T14:30:00Z",
                                       std::string_view{text}.substr(0, kMaxShown)));
    }
    return ReplayStart{.utc_ns = time};
}

}  // namespace

std::string json_of(const ReplayStart& start) {
    return start.utc_ns ? fmt::format("\"{}Z\"", service::utc_text_in_nanos(*start.utc_ns))
                        : fmt::format("{{\"record\":{}}}", start.record);
}

Request parse_request(std::string_view line) {
    if (line.find('{') != line.find_first_not_of(" \t\r")) throw RequestError("a request must be a JSON object");
    Json::Value tree;
    try {
        tree = service::parse_json(line, kMaxDepth);
    } catch (const service::JsonError& error) {
        throw RequestError(error.what());
    }
    Request request;
    bool has_from = false;
    for (const auto& key : tree.getMemberNames()) {
        const auto& value = tree[key];
        if (key == "subscribe") {
            request.subscribe = symbols_of(key, value);
        } else if (key == "unsubscribe") {
            request.unsubscribe = symbols_of(key, value);
        } else if (key == "depth") {
            request.depth.levels = depth_of(value);
        } else if (key == "orders") {
            if (!value.isBool()) throw RequestError("'orders' must be true or false");
            request.depth.orders = value.asBool();
        } else if (key == "from") {
            request.from = start_of(value);
            has_from = true;
        } else if (key == "mode") {
            request.mode = mode_of(value);
        } else if (key == "interval_ms") {
            request.interval = std::chrono::milliseconds{number_of(key, value, kMaxIntervalMs)};
        } else if (key == "name") {
            request.name = name_of(value);
        } else if (key == "account") {
            if (!value.isBool()) throw RequestError("'account' must be true or false");
            request.account = value.asBool();
        } else if (key == "echo") {
            request.echo = number_of(key, value, kMaxEcho);
        } else if (key == "token") {
            if (!value.isString()) throw RequestError("'token' must be a string");
            request.token = value.asString();
        } else {
            throw RequestError(fmt::format(
                "unknown key '{}'; known are subscribe, depth, orders, from, unsubscribe, mode, interval_ms, name, "
                "account, echo, token",
                key.substr(0, feed::Symbol::capacity())));
        }
    }
    if (tree.empty()) throw RequestError("the request is empty");
    if (request.depth.is_on() && request.subscribe.empty()) {
        throw RequestError("'depth' and 'orders' belong to 'subscribe'");
    }
    if (has_from && request.subscribe.empty()) throw RequestError("'from' belongs to 'subscribe'");
    return request;
}

}  // namespace millpond::gateway::json_lines
