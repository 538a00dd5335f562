#pragma once

#include "gateway/settings/config.hpp"
#include "gateway/settings/value.hpp"
#include "service/settings/schema.hpp"

namespace millpond::gateway {

using settings::described;
using settings::find_key;
using settings::Key;
using settings::Schema;

}  // namespace millpond::gateway
