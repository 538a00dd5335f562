#pragma once

#include <string>
#include <vector>

#include "apps/millpond/doctor/finding.hpp"
#include "gateway/settings/config.hpp"

namespace millpond::app::doctor {

/// Checks this machine for what the gateway needs. config: complete.
[[nodiscard]] std::vector<Finding> check_machine_for(const gateway::Config& config);

/// The findings in lines of text, each with its fix below it.
[[nodiscard]] std::string to_text(const std::vector<Finding>& findings);

}  // namespace millpond::app::doctor
