#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millpond::fixd {

/// What is mirrored where: `[[drop_copy]]`. Sessions are named "SENDER->TARGET", with "FIX.4.4:" in front where several
/// have the same ids; complete() makes them session_name's.
struct DropCopyConfig {
    std::string target{};
    std::vector<std::string> sources{};  ///< "*": all that are no targets.
    std::vector<std::string> types{"8"};
    std::uint64_t queue_bytes{4ULL << 20U};
    friend bool operator==(const DropCopyConfig&, const DropCopyConfig&) = default;
};

}  // namespace millpond::fixd
