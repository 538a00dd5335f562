#include "service/settings/value.hpp"

#include <absl/time/civil_time.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include <millpond/net/socket_address.hpp>

#include "service/config_error.hpp"
#include "service/settings/key_of.hpp"

namespace millpond::settings {
namespace {

template <class Int>
std::optional<Int> number(std::string_view text) {
    Int value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", text); }

}  // namespace

void Value::fail(std::string_view expected, std::string_view found) const {
    throw service::ConfigError(fmt::format("{}: {} expects {}, found {}", where_, key_, expected, found));
}

std::string Value::type_name() const {
    struct Name {
        std::string_view other;
        std::string operator()(const Bare& bare) const { return in_quotes(bare.text); }
        std::string operator()(const std::string& text) const { return fmt::format("the string '{}'", text); }
        std::string operator()(std::int64_t value) const { return fmt::format("the integer {}", value); }
        std::string operator()(double value) const { return fmt::format("the number {}", value); }
        std::string operator()(bool value) const { return fmt::format("the boolean {}", value); }
        std::string operator()(const Table&) const { return "a table"; }
        std::string operator()(const List&) const { return std::string{other}; }
        std::string operator()(std::monostate) const { return std::string{other}; }
    };
    return std::visit(Name{other_}, data_);
}

std::string Value::text() const {
    if (const auto* bare = std::get_if<Bare>(&data_)) return bare->text;
    if (const auto* text = std::get_if<std::string>(&data_)) return *text;
    fail("a string", type_name());
}

std::string Value::nonempty_text() const {
    auto result = text();
    if (result.empty()) fail("one character or more (leave the key out for its default)", in_quotes(result));
    return result;
}

Value::List Value::list() const {
    if (const auto* list = std::get_if<List>(&data_)) return *list;
    const auto* bare = std::get_if<Bare>(&data_);
    if (bare == nullptr) fail("a list of strings like ['a', 'b']", type_name());
    List words;
    std::istringstream in{bare->text};
    for (std::string word; std::getline(in, word, '+');) words.push_back(word);
    return words;
}

Value::List Value::nonempty_list() const {
    auto words = list();
    if (words.empty()) fail("one entry or more (leave the key out for no limit)", "an empty list");
    return words;
}

const std::vector<Value::Entry>& Value::table() const {
    if (const auto* table = std::get_if<Table>(&data_)) return **table;
    fail("a table in a file", type_name());
}

std::string Value::field_text() const {
    if (const auto* integer = std::get_if<std::int64_t>(&data_)) return fmt::format("{}", *integer);
    if (const auto* boolean = std::get_if<bool>(&data_)) return *boolean ? "Y" : "N";
    if (std::holds_alternative<std::string>(data_)) return text();
    fail("a string, an integer or a boolean", type_name());
}

std::string Value::text_up_to(std::size_t characters) const {
    auto result = text();
    if (result.empty() || result.size() > characters) {
        fail(fmt::format("1 to {} characters", characters), fmt::format("{} in {}", result.size(), in_quotes(result)));
    }
    const auto is_printable = [](char character) { return character >= ' ' && character <= '~'; };
    const auto other = std::ranges::find_if_not(result, is_printable);
    if (other != result.end()) {
        fail("printable ASCII characters", fmt::format("byte 0x{:02X} at position {}",
                                                       static_cast<unsigned char>(*other), other - result.begin() + 1));
    }
    return result;
}

std::uint64_t Value::integer(std::uint64_t lowest, std::uint64_t highest) const {
    const auto expected = highest == std::numeric_limits<std::uint64_t>::max()
                              ? fmt::format("an integer of at least {}", lowest)
                              : fmt::format("an integer from {} to {}", lowest, highest);
    return integer(lowest, highest, expected);
}

std::optional<std::uint64_t> Value::integer_or(std::string_view word, std::uint64_t lowest,
                                               std::uint64_t highest) const {
    const auto* const bare = std::get_if<Bare>(&data_);
    const auto* const text = std::get_if<std::string>(&data_);
    if ((bare != nullptr && bare->text == word) || (text != nullptr && *text == word)) return std::nullopt;
    return integer(lowest, highest, fmt::format("an integer from {} to {}, or '{}'", lowest, highest, word));
}

std::uint64_t Value::integer(std::uint64_t lowest, std::uint64_t highest, std::string_view expected) const {
    std::optional<std::uint64_t> value;
    if (const auto* bare = std::get_if<Bare>(&data_)) {
        value = number<std::uint64_t>(bare->text);
    } else if (const auto* typed = std::get_if<std::int64_t>(&data_)) {
        if (*typed >= 0) value = static_cast<std::uint64_t>(*typed);
    }
    if (!value || *value < lowest || *value > highest) fail(expected, type_name());
    return *value;
}

std::uint64_t Value::power_of_two(std::uint64_t lowest, std::uint64_t highest) const {
    const auto value = integer(lowest, highest);
    if (!std::has_single_bit(value)) fail("a power of two", fmt::format("{}", value));
    return value;
}

std::uint64_t Value::bytes() const {
    struct Unit {
        std::string_view name;
        std::uint64_t bytes;
    };
    static constexpr Unit kUnits[] = {{"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}};
    static constexpr std::uint64_t kMaxBytes = 1ULL << 50;
    if (std::holds_alternative<std::int64_t>(data_)) return integer(1, kMaxBytes);
    constexpr std::string_view kExpected = "bytes as an integer or like '64KiB', '256MiB', '2GiB'";
    const bool is_text = std::holds_alternative<Bare>(data_) || std::holds_alternative<std::string>(data_);
    if (!is_text) fail(kExpected, type_name());
    const auto written = text();
    for (const auto& unit : kUnits) {
        if (!written.ends_with(unit.name)) continue;
        const auto count =
            number<std::uint64_t>(std::string_view{written}.substr(0, written.size() - unit.name.size()));
        if (count && *count > 0 && *count <= kMaxBytes / unit.bytes) return *count * unit.bytes;
    }
    const auto plain = number<std::uint64_t>(written);
    if (!plain || *plain == 0 || *plain > kMaxBytes) fail(kExpected, type_name());
    return *plain;
}

std::chrono::nanoseconds Value::time(std::chrono::nanoseconds min, std::chrono::nanoseconds max) const {
    struct Unit {
        std::string_view name;
        std::int64_t nanos;
    };
    static constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
    const auto expected =
        fmt::format("a time from {} to {} like '100us', '5ms' or '1s'", time_text(min), time_text(max));
    if (!std::holds_alternative<Bare>(data_) && !std::holds_alternative<std::string>(data_))
        fail(expected, type_name());
    const auto written = text();
    for (const auto& unit : kUnits) {
        if (!written.ends_with(unit.name)) continue;
        const auto count = number<std::int64_t>(std::string_view{written}.substr(0, written.size() - unit.name.size()));
        if (!count) continue;
        if (*count < 0 || *count > max.count() / unit.nanos || *count * unit.nanos < min.count()) break;
        return std::chrono::nanoseconds{*count * unit.nanos};
    }
    fail(expected, in_quotes(written));
}

bool Value::boolean() const {
    if (const auto* typed = std::get_if<bool>(&data_)) return *typed;
    if (const auto* bare = std::get_if<Bare>(&data_)) {
        if (bare->text == "true") return true;
        if (bare->text == "false") return false;
    }
    fail("true or false", type_name());
}

net::SocketAddress Value::endpoint() const {
    const auto written = text();
    try {
        return net::SocketAddress::parse(written);
    } catch (const std::invalid_argument& error) {
        fail("an address and port like 224.0.105.2:51002", error.what());
    }
}

net::SocketAddress Value::host() const {
    const auto written = text();
    try {
        return net::SocketAddress::parse_host(written);
    } catch (const std::invalid_argument& error) {
        fail("an address like 10.0.0.1", error.what());
    }
}

std::string Value::date() const {
    const auto written = text();
    absl::CivilDay day;
    if (!absl::ParseCivilTime(written, &day)) fail("a day like 2020-01-30", in_quotes(written));
    return absl::FormatCivilTime(day);
}

}  // namespace millpond::settings
