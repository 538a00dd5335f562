#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/socket_address.hpp>

namespace millpond::traffic {

/// What a StreamServer sends to one client.
class StreamReply {
public:
    StreamReply() = default;
    StreamReply(const StreamReply&) = delete;
    StreamReply& operator=(const StreamReply&) = delete;
    virtual ~StreamReply() = default;

    /// Reads what the client has sent and has not been read yet. Returns the number of bytes that it has read; nullopt
    /// to close the connection.
    [[nodiscard]] virtual std::optional<std::size_t> read(std::span<const std::byte> received) = 0;
    /// Appends some of the bytes to send next, if there are any. False if nothing follows them; the connection is
    /// closed once they are sent.
    [[nodiscard]] virtual bool write(std::vector<std::byte>& out) = 0;
};

/// A TCP server that answers requests. It closes connections on which nothing was sent for 10 seconds.
///
/// Threads: one.
class StreamServer {
public:
    using Open = std::function<std::unique_ptr<StreamReply>()>;
    static constexpr std::size_t kMaxClients = 64;

    /// what: "gap fills", for the error. open: called for each client. Throws std::system_error that names the address.
    StreamServer(const net::SocketAddress& listen, std::string_view what, Open open);

    /// Serves the clients, and waits at most `timeout_ms` for one that has sent something or can take more.
    void poll(int timeout_ms);

    /// Descriptor to wait on for new clients.
    [[nodiscard]] int fd() const noexcept { return socket_.get(); }
    /// True while a client is served.
    [[nodiscard]] bool is_busy() const noexcept { return !clients_.empty(); }
    [[nodiscard]] const net::SocketAddress& address() const noexcept { return address_; }

private:
    struct Client {
        core::Descriptor socket;
        std::unique_ptr<StreamReply> reply;
        std::int64_t moved_ns{0};  // when bytes were last sent or received
        bool is_over{false};
        std::vector<std::byte> received;
        std::vector<std::byte> unsent;
        std::size_t unsent_begin{0};
        [[nodiscard]] std::size_t unsent_bytes() const noexcept { return unsent.size() - unsent_begin; }
    };

    void accept(std::int64_t now_ns);
    /// These return false if the client is to be closed.
    [[nodiscard]] static bool serve(Client& client, std::int64_t now_ns);
    [[nodiscard]] static bool receive(Client& client, std::int64_t now_ns);
    [[nodiscard]] static bool flush(Client& client, std::int64_t now_ns);

    core::Descriptor socket_;
    net::SocketAddress address_;
    Open open_;
    std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace millpond::traffic
