#pragma once

#include <string_view>

namespace millpond::service {

/// Version and commit of this program.
struct BuildInfo {
    std::string_view version;
    std::string_view commit;  ///< Abbreviated hash, followed by "-dirty" if files differed; "unknown" without git.
};

[[nodiscard]] BuildInfo build_info() noexcept;

}  // namespace millpond::service
