#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/settings/schema.hpp"

namespace millpond::fixd {

/// Copies messages of sessions to another session: `[[drop_copy]]`. Sessions are named "SENDER->TARGET", with
/// "FIX.4.4:" in front if several have these ids; complete() replaces the names by those of session_name.
struct DropCopyConfig {
    std::string target{};
    std::vector<std::string> sources{};  ///< "*": all sessions that are not targets.
    std::vector<std::string> types{"8"};
    std::size_t queue_bytes{std::size_t{64} << 20U};  ///< For each I/O thread; complete() raises it for long messages.
    std::string
        queue{};  ///< Path of its files, set by complete() beside the target's store; empty: in memory, like the store.
    std::uint32_t file_mode{0640};
    friend bool operator==(const DropCopyConfig&, const DropCopyConfig&) = default;
};

}  // namespace millpond::fixd

namespace millpond::settings {

// clang-format off
template <> std::string_view Schema<fixd::DropCopyConfig>::name();
template <> std::span<const Key<fixd::DropCopyConfig>> Schema<fixd::DropCopyConfig>::keys();
// clang-format on

}  // namespace millpond::settings
