#pragma once

#include <string>

namespace millpond::test {

/// The folder with QuickFIX's dictionaries: that of MILLPOND_FIX_DICTIONARIES, else the one that
/// tools/fetch_fix_dictionaries fetches once and keeps. Empty if they are not available, so that the test skips.
[[nodiscard]] std::string fix_dictionaries();

}  // namespace millpond::test
