#include "apps/millpond/command_line/state_folder.hpp"

#include <cstdlib>
#include <string>

namespace millpond::app {

std::string usual_state_folder(bool has_file) {
    const auto value = [](const char* name) {
        const auto* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
        return std::string{text == nullptr ? "" : text};
    };
    // systemd separates several folders by colons.
    if (const auto given = value("STATE_DIRECTORY"); !given.empty()) return given.substr(0, given.find(':'));
    if (!has_file) return {};
    if (const auto given = value("XDG_STATE_HOME"); given.starts_with('/')) return given + "/millpond";
    const auto home = value("HOME");
    return home.starts_with('/') ? home + "/.local/state/millpond" : std::string{};
}

}  // namespace millpond::app
