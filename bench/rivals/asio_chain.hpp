#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio.hpp>

#include <millpond/core/endian.hpp>

#include "bench/rivals/locked_queue.hpp"

namespace millpond::bench {

/// The classic market-data gateway: an Asio callback copies each datagram into a queue; a second thread parses it into
/// doubles and a string and puts these into another queue, from which the subscriber pops.
///
/// Threads: two of its own; try_pop and pop on the subscriber's.
class AsioChain {
public:
    struct Bbo {
        std::string symbol;
        double bid_price{0};
        double ask_price{0};
        std::uint32_t bid_size{0};
        std::uint32_t ask_size{0};
    };

    /// Listens on a free port of 127.0.0.1. Both threads call `on_start` first.
    explicit AsioChain(std::function<void()> on_start)
        : socket_(io_, boost::asio::ip::udp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
        receive();
        receiver_ = std::jthread([this, on_start] {
            on_start();
            io_.run();
        });
        parser_ = std::jthread([this, on_start] {
            on_start();
            while (auto bytes = datagrams_.pop()) parsed_.push(parse(*bytes));
        });
    }
    AsioChain(const AsioChain&) = delete;
    AsioChain& operator=(const AsioChain&) = delete;
    ~AsioChain() {
        io_.stop();
        datagrams_.close();
    }

    [[nodiscard]] std::uint16_t port() const { return socket_.local_endpoint().port(); }
    [[nodiscard]] std::optional<Bbo> try_pop() { return parsed_.try_pop(); }
    /// Waits for a value; empty after close.
    [[nodiscard]] std::optional<Bbo> pop() { return parsed_.pop(); }
    void close() { parsed_.close(); }

private:
    using Bytes = std::vector<std::byte>;

    void receive() {
        socket_.async_receive_from(boost::asio::buffer(buffer_), sender_,
                                   [this](const boost::system::error_code& error, std::size_t size) {
                                       if (error) return;
                                       datagrams_.push(Bytes(buffer_.data(), buffer_.data() + size));
                                       receive();
                                   });
    }

    static Bbo parse(const Bytes& bytes) {
        constexpr std::size_t kMessage = 28;
        const auto* const at = bytes.data() + bytes.size() - kMessage;
        const auto number = [&](std::size_t offset) { return core::load_be<std::uint32_t>(at + offset); };
        std::string symbol(reinterpret_cast<const char*>(at + 20), 8);
        symbol.erase(symbol.find_last_not_of(' ') + 1);
        return {std::move(symbol), number(16) / 10'000.0, number(8) / 10'000.0, number(12), number(4)};
    }

    boost::asio::io_context io_{1};
    boost::asio::ip::udp::socket socket_;
    boost::asio::ip::udp::endpoint sender_;
    std::array<std::byte, 2048> buffer_;
    LockedQueue<Bytes> datagrams_;
    LockedQueue<Bbo> parsed_;
    std::jthread receiver_;
    std::jthread parser_;
};

}  // namespace millpond::bench
