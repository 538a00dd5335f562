#pragma once

#include <string_view>

#include "gateway/health/findings.hpp"

namespace millpond::gateway::health {

/// What a finding of a stage means for the quotes, and what an operator can do about it; one or two sentences each.
struct Advice {
    std::string_view meaning;
    std::string_view action;
};

[[nodiscard]] Advice advice(Stage stage) noexcept;

}  // namespace millpond::gateway::health
