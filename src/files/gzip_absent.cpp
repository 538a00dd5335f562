#include "expander.hpp"

namespace millpond::files::detail {

std::unique_ptr<Expander> make_gzip_expander() { return nullptr; }

}  // namespace millpond::files::detail
