#pragma once

#include "config/schema.hpp"
#include "gateway/config/config.hpp"
#include "gateway/config/value.hpp"

namespace millpond::gateway {

using config::described;
using config::find_key;
using config::Key;
using config::Schema;

}  // namespace millpond::gateway
