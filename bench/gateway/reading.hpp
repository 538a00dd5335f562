#pragma once

#include <array>
#include <thread>
#include <utility>

#include "bench/gateway/tcp_socket.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// Reads and discards a connection's bytes on a separate thread, until the connection or this object ends.
class Reading {
public:
    /// core: processor of the thread.
    Reading(TcpSocket connected, int core)
        : socket_(std::move(connected)), thread_([this, core] {
              run_on(core);
              std::array<char, 65'536> bytes;
              while (socket_.read(bytes.data(), bytes.size()) > 0) {
              }
          }) {}
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
        socket_.shut_down();
        thread_.join();
    }

private:
    TcpSocket socket_;
    std::thread thread_;
};

}  // namespace millpond::bench
