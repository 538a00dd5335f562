#include "service/settings/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace millpond::settings {
namespace {

/// Number of single-character edits between two words; a swap of two neighbours is one edit (Damerau 1964).
std::size_t edits_between(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    std::vector<std::size_t> before;  // the row before `last`
    for (std::size_t i = 1; i <= left.size(); ++i) {
        const auto last = row;
        row[0] = i;
        for (std::size_t j = 1; j <= right.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            const bool is_swap = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = last;
    }
    return row.back();
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    constexpr std::size_t kMinBeginning = 3;
    const bool may_begin = word.size() - std::min(word.find_first_not_of('-'), word.size()) >= kMinBeginning;
    constexpr std::size_t kShort = 5;  // two edits turn a shorter word into another word
    auto fewest = std::min<std::size_t>(word.size() < kShort ? 2 : 3, word.size());
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
