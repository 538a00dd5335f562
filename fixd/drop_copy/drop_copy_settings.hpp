#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::fixd {

/// Mirrors messages of sessions to another session: `[[drop_copy]]`. Sessions are named "SENDER->TARGET", with
/// "FIX.4.4:" in front if several have these ids; complete() replaces the names by those of session_name.
struct DropCopyConfig {
    std::string target{};
    std::vector<std::string> sources{};  ///< "*": all sessions that are not targets.
    std::vector<std::string> types{"8"};
    std::uint64_t queue_bytes{4ULL << 20U};
    std::string queue{};  ///< Files, by complete(): beside the target's store. Empty: in memory, as the store.
    std::uint32_t file_mode{0640};
    friend bool operator==(const DropCopyConfig&, const DropCopyConfig&) = default;
};

}  // namespace millpond::fixd
