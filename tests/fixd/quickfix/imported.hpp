#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fixd/quickfix/quickfix_import.hpp"
#include "fixd/settings/engine_config.hpp"
#include "service/config_error.hpp"

namespace millpond::fixd {

[[nodiscard]] inline EngineConfig config_of(const QuickfixImport& import) {
    EngineConfig config;
    read_engine_toml(import.toml, "import", config);
    complete(config);
    return config;
}

[[nodiscard]] inline EngineConfig imported(std::string_view text) {
    return config_of(import_quickfix(text, "quickfix.cfg"));
}

/// The error of the import; "accepted" if there is none.
[[nodiscard]] inline std::string import_error(std::string_view text) {
    try {
        static_cast<void>(import_quickfix(text, "quickfix.cfg"));
    } catch (const service::ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

/// "LINE KEY" of each setting that is left out.
[[nodiscard]] inline std::vector<std::string> left_out_of(std::string_view text) {
    std::vector<std::string> keys;
    for (const auto& one : import_quickfix(text, "quickfix.cfg").left_out) {
        keys.push_back(std::to_string(one.line) + " " + one.key);
        EXPECT_FALSE(one.reason.empty()) << one.key;
    }
    return keys;
}

inline constexpr std::string_view kImportedSession =
    "[SESSION]\nConnectionType=initiator\nBeginString=FIX.4.4\nSenderCompID=A\n"
    "TargetCompID=B\nSocketConnectHost=h\nSocketConnectPort=1\n";
inline constexpr std::string_view kImportedAcceptor =
    "[SESSION]\nConnectionType=acceptor\nBeginString=FIX.4.4\nSenderCompID=A\nTargetCompID=B\n"
    "SocketAcceptPort=5001\n";

/// The settings of an initiator; more: from line 8 on.
[[nodiscard]] inline std::string initiator_with(std::string_view lines) {
    std::string text{kImportedSession};
    text += lines;
    return text;
}
/// The settings of an acceptor; more: from line 7 on.
[[nodiscard]] inline std::string acceptor_with(std::string_view lines) {
    std::string text{kImportedAcceptor};
    text += lines;
    return text;
}

}  // namespace millpond::fixd
