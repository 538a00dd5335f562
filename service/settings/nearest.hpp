#pragma once

#include <span>
#include <string>
#include <string_view>

namespace millpond::settings {

/// The known word that begins with `word` or differs from it in one or two characters; empty when there is none.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// "did you mean 'NEAREST'?"; empty when nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace millpond::settings
