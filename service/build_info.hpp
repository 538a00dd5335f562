#pragma once

#include <string_view>

namespace millpond::service {

/// What this program was built from.
struct BuildInfo {
    std::string_view version;
    std::string_view
        commit;  ///< Abbreviated hash, with "-dirty" behind it where files differed; "unknown" without git.
};

[[nodiscard]] BuildInfo build_info() noexcept;

}  // namespace millpond::service
