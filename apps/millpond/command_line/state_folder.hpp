#pragma once

#include <string>

namespace millpond::app {

/// Returns the state folder of a systemd service, or of a user if the program has a configuration file; empty if the
/// environment names none.
[[nodiscard]] std::string usual_state_folder(bool has_file);

}  // namespace millpond::app
