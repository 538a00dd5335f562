#include "config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace millpond::config {
namespace {

/// How many single-character edits lie between two words (Levenshtein 1966).
std::size_t edits_between(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= left.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t replaced = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

std::string title(std::string_view section) {
    return section.empty() ? "the top level" : fmt::format("[[{}]]", section);
}

}  // namespace

std::string described(std::string_view section, std::string_view key) {
    return fmt::format("key '{}' of {}", key, title(section));
}

void fail_unknown(std::string_view section, std::string_view name, std::span<const std::string_view> known,
                  std::string_view where) {
    constexpr std::size_t kFarthestGuess = 3;
    std::string_view nearest;
    auto nearest_edits = kFarthestGuess;
    std::string list;
    for (const auto candidate : known) {
        if (const auto edits = edits_between(name, candidate); edits < nearest_edits) {
            nearest_edits = edits;
            nearest = candidate;
        }
        list += (list.empty() ? "" : ", ") + std::string{candidate};
    }
    throw ConfigError(fmt::format("{}: unknown {}; {}", where, described(section, name),
                                  nearest.empty() ? "known are: " + list : fmt::format("did you mean '{}'?", nearest)));
}

}  // namespace millpond::config
