#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace millpond::market {

enum class RingFault : std::uint8_t {
    not_found,     ///< No ring of this name: start its writer, or try again later.
    not_ready,     ///< The writer is creating the ring: try again.
    held,          ///< Another writer holds the ring: stop that writer, or choose another name.
    foreign,       ///< The name refers to something other than a ring: remove it, or choose another name.
    other_layout,  ///< The ring has another layout version: use versions of reader and writer that share one.
    memory,        ///< The memory could not be allocated; the text is the Region's.
};

/// A ring could not be opened or created. The text names the object and, for `held`, the PID of its writer.
class RingError : public std::runtime_error {
public:
    RingError(RingFault fault, const std::string& what) : std::runtime_error(what), fault_(fault) {}
    [[nodiscard]] RingFault fault() const noexcept { return fault_; }

private:
    RingFault fault_;
};

}  // namespace millpond::market
