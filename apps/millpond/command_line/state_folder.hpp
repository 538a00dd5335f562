#pragma once

#include <string>

namespace millpond::app {

/// Returns the state folder of a systemd service, or, for a daemon with a configuration file, of a user; empty if the
/// environment names none.
[[nodiscard]] std::string usual_state_folder(bool has_file);

}  // namespace millpond::app
