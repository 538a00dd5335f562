#include "expander.hpp"
#include "packer.hpp"

namespace millpond::net::detail {

std::unique_ptr<Expander> make_zstd_expander() { return nullptr; }
std::unique_ptr<Packer> make_zstd_packer() { return nullptr; }

}  // namespace millpond::net::detail
