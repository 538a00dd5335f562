#include "service/settings/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "service/settings/key_of.hpp"
#include "service/settings/nearest.hpp"

namespace millpond::settings {
namespace {

std::string title(std::string_view section) {
    if (section.empty()) return "the top level";
    const bool is_inner = section.find('.') != std::string_view::npos;  // a table inside a section
    return is_inner ? fmt::format("[{}]", section) : fmt::format("[[{}]]", section);
}

std::string resembling(std::string_view name, std::span<const std::string_view> known) {
    const auto guess = did_you_mean(name, known);
    return guess.empty() ? fmt::format("known are: {}", fmt::join(known, ", ")) : guess;
}

}  // namespace

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

std::string described(std::string_view section, std::string_view key) {
    return fmt::format("key '{}' of {}", key, title(section));
}

void fail_unknown(std::string_view section, std::string_view name, std::span<const std::string_view> known,
                  std::string_view where) {
    throw ConfigError(fmt::format("{}: unknown {}; {}", where, described(section, name), resembling(name, known)));
}

void fail_unknown_table(std::string_view name, std::span<const std::string_view> known, std::string_view where) {
    throw ConfigError(fmt::format("{}: unknown table '{}'; {}", where, name, resembling(name, known)));
}

}  // namespace millpond::settings
