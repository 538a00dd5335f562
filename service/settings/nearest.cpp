#include "service/settings/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace millpond::settings {
namespace {

/// Single-character edits between two words (Levenshtein 1966).
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

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    constexpr std::size_t kShortestBeginning = 3;
    const bool may_begin = word.size() - std::min(word.find_first_not_of('-'), word.size()) >= kShortestBeginning;
    auto fewest = std::min<std::size_t>(3, word.size());
    std::string_view found;
    for (const auto candidate : known) {
        const bool begins = may_begin && candidate.starts_with(word);
        if (const auto edits = begins ? 1 : edits_between(word, candidate); edits < fewest) {
            fewest = edits;
            found = candidate;
        }
    }
    return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    const auto guess = nearest(word, known);
    return guess.empty() ? std::string{} : fmt::format("did you mean '{}'?", guess);
}

}  // namespace millpond::settings
