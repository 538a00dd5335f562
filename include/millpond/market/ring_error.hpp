#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace millpond::market {

enum class RingFault : std::uint8_t {
    not_found,     ///< No ring of this name: start its writer, or try again later.
    not_ready,     ///< Its writer is making it at this moment: try again.
    held,          ///< Another writer has it: stop that one, or take another name.
    foreign,       ///< The name refers to something other than a ring: remove it, or choose another name.
    other_layout,  ///< A ring of another version: reader and writer must be of versions that share a layout.
    memory,        ///< The memory could not be had; the text is the Region's.
};

/// A ring could not be opened or made. The text names the object and, for `held`, its writer's process.
class RingError : public std::runtime_error {
public:
    RingError(RingFault fault, const std::string& what) : std::runtime_error(what), fault_(fault) {}
    [[nodiscard]] RingFault fault() const noexcept { return fault_; }

private:
    RingFault fault_;
};

}  // namespace millpond::market
