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

/// What reading or writing came to.
struct Moved {
    std::size_t bytes{0};
    bool over{false};  ///< The connection is gone, or the peer sends no more.
};

/// Bytes of one connected socket, as they are or encrypted. Owns the socket.
class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    [[nodiscard]] virtual int descriptor() const noexcept = 0;
    /// As much as there is at once, up to into.size().
    [[nodiscard]] virtual Moved receive(std::span<std::byte> into) noexcept = 0;
    /// As much of the pieces as the socket takes at once, in one call to it.
    [[nodiscard]] virtual Moved send(std::span<const std::string_view> pieces) noexcept = 0;
    /// Nothing more will be sent.
    virtual void shut_down() noexcept = 0;
    /// Whether it needs the socket to be writable before anything else can move.
    [[nodiscard]] virtual bool wants_writable() const noexcept { return false; }
    /// Whether what was received is not all there is, though the socket may say so.
    [[nodiscard]] virtual bool holds_input() const noexcept { return false; }
    /// Whether it ended before the first byte could pass.
    [[nodiscard]] virtual bool failed_to_begin() const noexcept { return false; }
    /// Why, in words.
    [[nodiscard]] virtual std::string_view failure() const noexcept { return {}; }
    /// Names of the peer's certificate that was verified, as LogonAttempt has them.
    [[nodiscard]] virtual std::vector<std::string> certificate_names() const { return {}; }
};

[[nodiscard]] std::unique_ptr<Transport> make_tcp_transport(core::Descriptor socket);

}  // namespace millpond::engine
