#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::fixd {

/// A QuickFIX setting without a counterpart here, or with a value without one.
struct LeftOut {
    std::size_t line{0};
    std::string key{};
    std::string reason{};
};

/// The result of converting QuickFIX's settings.
struct QuickfixImport {
    std::string toml{};
    std::vector<LeftOut> left_out{};  ///< In file order; a default of several sessions is listed once.
};

/// text: a settings file of QuickFIX or QuickFIX/J, with [DEFAULT] and [SESSION]; name: the file's, for messages. The
/// result is accepted by read_engine_toml and complete. Throws service::ConfigError with file and line.
/// Source: the settings that QuickFIX (quickfixengine.org, "Configuring QuickFIX") and QuickFIX/J document.
[[nodiscard]] QuickfixImport import_quickfix(std::string_view text, std::string_view name);

}  // namespace millpond::fixd
