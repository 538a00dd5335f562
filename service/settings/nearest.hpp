#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millpond::settings {

/// Finds the known word that begins with `word` or differs from it by one edit, or by two if `word` has five characters
/// or more; empty if there is none.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// Formats "did you mean 'NEAREST'?"; empty if no known word is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace millpond::settings
