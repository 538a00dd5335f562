#pragma once

#include <cstdint>
#include <string>
#include <system_error>

namespace millpond::net {

/// How much an option of the kernel or the hardware matters to its user.
enum class Want : std::uint8_t {
    no,       ///< Leave it alone.
    prefer,   ///< Use it if available; otherwise the report has the reason.
    require,  ///< Its absence is a SocketError.
};

/// A socket could not be set up as asked. what() names the address or interface, what was asked for, the setting to
/// change where there is one, and the kernel's reason; code() is the errno.
class SocketError : public std::system_error {
public:
    SocketError(int error_number, const std::string& message)
        : std::system_error(error_number, std::generic_category(), message) {}
};

}  // namespace millpond::net
