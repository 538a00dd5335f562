#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::fixd {

/// A setting of QuickFIX that has no counterpart here, or whose value has none.
struct LeftOut {
    std::size_t line{0};
    std::string key{};
    std::string reason{};
};

/// QuickFIX's settings as settings of this engine.
struct QuickfixImport {
    std::string toml{};
    std::vector<LeftOut> left_out{};  ///< In the order of the file; a default that several sessions use is there once.
};

/// text: a settings file of QuickFIX or QuickFIX/J, with [DEFAULT] and [SESSION]; name: the file's, for messages. The
/// result is accepted by read_engine_toml and complete. Throws settings::ConfigError with file and line.
/// Source: the settings that QuickFIX (quickfixengine.org, "Configuring QuickFIX") and QuickFIX/J document.
[[nodiscard]] QuickfixImport import_quickfix(std::string_view text, std::string_view name);

}  // namespace millpond::fixd
