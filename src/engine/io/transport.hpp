#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/descriptor.hpp>

namespace millpond::engine {

/// Result of a read or write.
struct Moved {
    std::size_t bytes{0};
    bool over{false};  ///< The connection has ended, or the peer has closed its side.
};

/// A connected socket, plain or encrypted. Owns the socket.
class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    [[nodiscard]] virtual int descriptor() const noexcept = 0;
    /// Reads the available bytes, up to into.size().
    [[nodiscard]] virtual Moved receive(std::span<std::byte> into) noexcept = 0;
    /// Writes as much of the pieces as the socket accepts, in one call.
    [[nodiscard]] virtual Moved send(std::span<const std::string_view> pieces) noexcept = 0;
    /// Closes our side.
    virtual void shut_down() noexcept = 0;
    /// True if the transport can continue only once the socket is writable.
    [[nodiscard]] virtual bool wants_writable() const noexcept { return false; }
    /// Whether there may be more input although the socket is not readable.
    [[nodiscard]] virtual bool holds_input() const noexcept { return false; }
    /// True if the connection ended before the first byte was transferred.
    [[nodiscard]] virtual bool failed_to_begin() const noexcept { return false; }
    /// Why it failed, as text.
    [[nodiscard]] virtual std::string_view failure() const noexcept { return {}; }
    /// Names in the peer's verified certificate, see LogonAttempt.
    [[nodiscard]] virtual std::vector<std::string> certificate_names() const { return {}; }
};

[[nodiscard]] std::unique_ptr<Transport> make_tcp_transport(core::Descriptor socket);

}  // namespace millpond::engine
