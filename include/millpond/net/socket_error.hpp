#pragma once

#include <cstdint>
#include <string>
#include <system_error>

namespace millpond::net {

/// Whether an option of the kernel or the hardware is needed.
enum class Want : std::uint8_t {
    no,       ///< Do not use it.
    prefer,   ///< Use it if available; otherwise the report has the reason.
    require,  ///< Its absence is a SocketError.
};

/// A socket could not be set up. what() names the address or interface, the request, the setting to change, if any, and
/// the kernel's reason; code() is the errno.
class SocketError : public std::system_error {
public:
    SocketError(int error_number, const std::string& message)
        : std::system_error(error_number, std::generic_category(), message) {}
};

}  // namespace millpond::net
