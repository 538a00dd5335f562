#pragma once

#include <utility>

#include "gateway/sinks/kind.hpp"

namespace millpond::gateway::test {

/// Default settings of a kind of sink, changed by `change`.
template <class Settings, class Change>
Settings settings_with(Change&& change) {
    SinkConfig config{Settings::kind()};
    auto& settings = *config.as<Settings>();
    std::forward<Change>(change)(settings);
    return settings;
}

}  // namespace millpond::gateway::test
