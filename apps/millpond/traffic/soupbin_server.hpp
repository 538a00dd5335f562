#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>
#include <millpond/net/soupbin_packet.hpp>

namespace millpond::traffic {

/// The sequenced messages that a client of a SoupBinServer gets, numbered from 1.
///
/// Threads: the server's; another thread may add messages meanwhile.
class SoupBinStream {
public:
    SoupBinStream() = default;
    SoupBinStream(const SoupBinStream&) = delete;
    SoupBinStream& operator=(const SoupBinStream&) = delete;
    virtual ~SoupBinStream() = default;

    /// Number of messages that may be sent now.
    [[nodiscard]] virtual std::uint64_t available() const = 0;
    /// A message. number: 1 to available().
    [[nodiscard]] virtual std::span<const std::byte> message(std::uint64_t number) const = 0;
    /// True if no message follows the available ones.
    [[nodiscard]] virtual bool has_ended() const = 0;
};

/// A SoupBinTCP server with one session, for tests and rehearsals. It accepts every user and password, sends the end of
/// the session after its last message and then closes the connection, and still serves clients that log in later.
///
/// Threads: one; counts on any.
/// Source:  SoupBinTCP 3.00, section 1.2 to 1.4 and 2.2.
class SoupBinServer {
public:
    /// Makes the stream of a client that logs in.
    using Open = std::function<std::shared_ptr<const SoupBinStream>()>;
    static constexpr std::size_t kMaxClients = 64;

    /// session: up to 10 characters. Throws std::system_error that names the address.
    SoupBinServer(const net::SocketAddress& listen, const std::string& session, Open open);

    /// Serves the clients, and waits at most `timeout_ms` for one that has sent something or can take more.
    void poll(int timeout_ms);

    [[nodiscard]] const net::SocketAddress& address() const noexcept { return address_; }
    [[nodiscard]] std::uint64_t logins() const noexcept { return logins_.load(std::memory_order_relaxed); }
    /// Sequenced messages sent.
    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

private:
    struct Client {
        core::Descriptor socket;
        std::shared_ptr<const SoupBinStream> stream;  // null before the login
        std::uint64_t next{0};
        std::int64_t heard_ns{0};
        std::int64_t sent_ns{0};
        bool is_over{false};  // close it once all is sent
        std::vector<std::byte> received;
        std::vector<std::byte> unsent;
        std::size_t unsent_begin{0};
        [[nodiscard]] std::size_t unsent_bytes() const noexcept { return unsent.size() - unsent_begin; }
    };

    void accept(std::int64_t now_ns);
    /// False if the client is to be closed.
    [[nodiscard]] bool serve(Client& client, std::int64_t now_ns);
    [[nodiscard]] bool receive(Client& client, std::int64_t now_ns);
    void log_in(Client& client, std::span<const std::byte> payload);
    void fill(Client& client, std::int64_t now_ns);
    [[nodiscard]] bool flush(Client& client, std::int64_t now_ns);
    static void put(Client& client, char type, std::span<const std::byte> payload);

    std::string session_;
    Open open_;
    core::Descriptor socket_;
    net::SocketAddress address_;
    std::vector<std::unique_ptr<Client>> clients_;
    std::atomic<std::uint64_t> logins_{0};
    std::atomic<std::uint64_t> sent_{0};
};

}  // namespace millpond::traffic
