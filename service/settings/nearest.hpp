#pragma once

#include <span>
#include <string_view>

namespace millpond::settings {

/// The known word that `word` most resembles, for "did you mean"; empty when all need three or more edits.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace millpond::settings
