#include "service/settings/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "service/config_error.hpp"
#include "service/settings/key_of.hpp"
#include "service/settings/nearest.hpp"

namespace millpond::settings {
namespace {

std::string resembling(std::string_view name, std::span<const std::string_view> known) {
    const auto guess = did_you_mean(name, known);
    return guess.empty() ? fmt::format("known are: {}", fmt::join(known, ", ")) : guess;
}

}  // namespace

std::string help_with_default(const KeyText& key) {
    return key.default_value.empty() ? key.help : fmt::format("{} (default: {})", key.help, key.default_value);
}

std::string toml_of(std::string_view value, const std::function<bool(Value::Data)>& assigns) {
    if (value.empty()) return {};
    std::int64_t number = 0;
    const auto* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc{} && rest == end && assigns(number)) return fmt::format("{}", number);
    if ((value == "true" || value == "false") && assigns(value == "true")) return std::string{value};
    const auto text = fmt::format("\"{}\"", value);
    return assigns(std::string{value}) ? text : fmt::format("[{}]", text);
}

std::string time_text(std::chrono::nanoseconds time) {
    constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
        {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};
    for (const auto& [unit, nanos] : kUnits) {
        if (time.count() != 0 && time.count() % nanos == 0) return fmt::format("{}{}", time.count() / nanos, unit);
    }
    return {};
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::pair<std::string_view, unsigned> kUnits[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
    for (const auto& [unit, bits] : kUnits) {
        if (bytes != 0 && bytes % (1ULL << bits) == 0) return fmt::format("{}{}", bytes >> bits, unit);
    }
    return fmt::format("{}", bytes);
}

std::string flag_of(std::string_view name) {
    auto flag = fmt::format("--{}", name);
    std::ranges::replace(flag, '_', '-');
    return flag;
}

std::string section_title(std::string_view name) {
    return name.empty() ? "the top level" : fmt::format("[[{}]]", name);
}

std::string table_title(std::string_view name) { return name.empty() ? "the top level" : fmt::format("[{}]", name); }

std::string described(std::string_view title, std::string_view key) {
    return fmt::format("key '{}' of {}", key, title);
}

void fail_unknown(std::string_view title, std::string_view name, std::span<const std::string_view> known,
                  std::string_view where) {
    throw service::ConfigError(
        fmt::format("{}: unknown {}; {}", where, described(title, name), resembling(name, known)));
}

void fail_removed(std::string_view title, std::string_view name, std::string_view value, std::string_view where) {
    throw service::ConfigError(
        fmt::format("{}: {} was removed; it is fixed to: {}", where, described(title, name), value));
}

void fail_unknown_table(std::string_view name, std::span<const std::string_view> known, std::string_view where) {
    throw service::ConfigError(fmt::format("{}: unknown table '{}'; {}", where, name, resembling(name, known)));
}

}  // namespace millpond::settings
