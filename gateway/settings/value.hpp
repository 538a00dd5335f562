#pragma once

#include "service/config_error.hpp"
#include "service/settings/value.hpp"

namespace millpond::gateway {

using service::ConfigError;
using settings::Value;
using settings::Words;

}  // namespace millpond::gateway
