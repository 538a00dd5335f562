#include "expander.hpp"

namespace millpond::net::detail {

std::unique_ptr<Expander> make_zstd_expander() { return nullptr; }

}  // namespace millpond::net::detail
