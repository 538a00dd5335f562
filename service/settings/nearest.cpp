#include "service/settings/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
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
    auto fewest = std::size_t{3};
    std::string_view found;
    for (const auto candidate : known) {
        if (const auto edits = edits_between(word, candidate); edits < fewest) {
            fewest = edits;
            found = candidate;
        }
    }
    return found;
}

}  // namespace millpond::settings
