#pragma once

#include <string>
#include <string_view>

namespace millpond::app {

inline constexpr std::size_t kHelpColumns = 80;
/// Column of the descriptions of options, operands and commands.
inline constexpr std::size_t kDescriptionColumn = 30;

/// Wraps a page of help at kHelpColumns, between words. A description continues in its own column, an indented line two
/// columns further, and a command line below "Examples:" after a backslash. Lines of a paragraph that does not end in a
/// full stop or colon are joined first.
[[nodiscard]] std::string wrapped(std::string_view page);

}  // namespace millpond::app
