#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <millpond/engine/proxy.hpp>

namespace millpond::engine {

/// The handshake with a proxy, before its connection leads to the counterparty. Uses no socket: bytes go in and bytes
/// come out. Never reads a byte after the proxy's last answer.
///
/// Threads: one. Source: RFC 1928 (SOCKS5), RFC 1929 (its user names), RFC 9110, section 9.3.6 (CONNECT).
class ProxyHandshake {
public:
    enum class State : std::uint8_t { running, done, failed };

    /// target: the counterparty. Throws std::invalid_argument if a name is too long for the proxy's protocol.
    ProxyHandshake(const Proxy& proxy, const Host& target);

    [[nodiscard]] State state() const noexcept { return state_; }
    /// Reason why the handshake failed.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    /// Bytes to send.
    [[nodiscard]] std::string_view output() const noexcept { return std::string_view{output_}.substr(sent_); }
    void sent(std::size_t bytes) noexcept { sent_ += bytes; }
    /// Number of bytes that may be read now.
    [[nodiscard]] std::size_t wanted() const noexcept { return wanted_ - input_.size(); }
    /// Handles bytes that were read, at most wanted().
    void receive(std::string_view bytes);

private:
    enum class Step : std::uint8_t { method, login, reply, bound, response };

    void send_and_expect(std::string bytes, Step next, std::size_t wanted);
    void fail(std::string why);
    void request();
    void on_method();
    void on_reply();
    void on_response();

    Proxy proxy_;
    Host target_;
    State state_{State::running};
    Step step_{Step::method};
    std::string output_;
    std::size_t sent_{0};
    std::string input_;
    std::size_t wanted_{0};
    std::string failure_;
};

}  // namespace millpond::engine
