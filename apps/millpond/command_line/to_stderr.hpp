#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace millpond {

/// Writes text to standard error. A closed reader is not an error: a program does not terminate because of it.
///
/// Threads: any.
template <class... Args>
void to_stderr(fmt::format_string<Args...> format, Args&&... args) {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace millpond
