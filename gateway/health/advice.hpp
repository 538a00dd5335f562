#pragma once

#include <string_view>

#include "gateway/health/findings.hpp"

namespace millpond::gateway::health {

/// The meaning of a finding for the quotes, and the action for an operator; one or two sentences each.
struct Advice {
    std::string_view meaning;
    std::string_view action;
};

[[nodiscard]] Advice advice(Stage stage) noexcept;

}  // namespace millpond::gateway::health
