#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace millpond {

/// Writes text to standard error. Ignores errors, so that a closed reader does not end the program.
///
/// Threads: any.
template <class... Args>
void to_stderr(fmt::format_string<Args...> format, Args&&... args) {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace millpond
