#include <millpond/files/pack_file.hpp>

#include "expander.hpp"
#include "zstd_packer.hpp"

namespace millpond::files {

bool can_pack() noexcept { return false; }

std::unique_ptr<detail::Expander> detail::make_zstd_expander() { return nullptr; }

std::error_code detail::pack_zstd(int /*from*/, int /*to*/, const std::atomic<bool>& /*stop*/) {
    return std::make_error_code(std::errc::not_supported);
}

}  // namespace millpond::files
