#include "expander.hpp"

namespace millpond::net::detail {

std::unique_ptr<Expander> make_gzip_expander() { return nullptr; }

}  // namespace millpond::net::detail
