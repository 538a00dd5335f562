#pragma once

#include "service/settings/value.hpp"

namespace millpond::gateway {

using settings::ConfigError;
using settings::Value;
using settings::Words;

}  // namespace millpond::gateway
