#pragma once

#include "config/value.hpp"

namespace millpond::gateway {

using config::ConfigError;
using config::Value;
using config::Words;

}  // namespace millpond::gateway
