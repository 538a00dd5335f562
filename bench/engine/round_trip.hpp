#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "bench/engine/raw_path.hpp"
#include "bench/engine/session_path.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"
#ifdef MILLPOND_RIVAL_QUICKFIX_PEER
#include "bench/rivals/quickfix_peer.hpp"
#endif

namespace millpond::bench {

inline const core::TickRate kRate;

/// `count` round trips after some that warm up; microseconds.
template <class Path>
[[nodiscard]] Finding round_trips(Path&& path, std::size_t count) {
    constexpr std::uint64_t kFirstId = 1'000'000;  // ids of one width
    const auto warm = count / 10;
    Finding found;
    found.latencies.reserve(count);
    for (std::size_t i = 0; i < warm + count; ++i) {
        const auto begin = core::ticks();
        const auto id = path.round_trip(kFirstId + i);
        const auto end = core::ticks();
        if (id != kFirstId + i) throw Refused("another order was answered");
        if (i < warm) continue;
        found.answer += id;
        found.latencies.push_back(static_cast<float>(static_cast<double>(end - begin) * kRate.nanos_per_tick() / 1e3));
    }
    return found;
}

#ifdef MILLPOND_RIVAL_QUICKFIX_PEER
/// Both sides QuickFIX's, on the threads that it makes.
class QuickFixPath {
public:
    explicit QuickFixPath(bool in_files)
        : folder_(std::filesystem::temp_directory_path() / ("millpond_quickfix_" + std::to_string(::getpid()))),
          port_(free_port()),
          house_({.initiates = false,
                  .port = port_,
                  .sender = "HOUSE",
                  .target = "DESK",
                  .folder = in_files ? (folder_ / "house").string() : "",
                  .answers = true},
                 {}),
          desk_(
              {.initiates = true,
               .port = port_,
               .sender = "DESK",
               .target = "HOUSE",
               .folder = in_files ? (folder_ / "desk").string() : ""},
              [this](const QuickFixPeer::Received& report) { last_id_.store(report.id, std::memory_order_release); }) {
        spin_until([&] { return desk_.logged_on() && house_.logged_on(); });
    }
    QuickFixPath(const QuickFixPath&) = delete;
    QuickFixPath& operator=(const QuickFixPath&) = delete;
    ~QuickFixPath() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    std::uint64_t round_trip(std::uint64_t id) {
        if (!desk_.send_order(id)) throw std::runtime_error("QuickFIX refused an order");
        while (last_id_.load(std::memory_order_acquire) != id) sched_yield();
        return id;
    }

private:
    static int free_port() {
        const auto socket = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (::bind(socket, any, size) != 0 || ::getsockname(socket, any, &size) != 0) {
            throw std::runtime_error("no free port");
        }
        ::close(socket);
        return ntohs(address.sin_port);
    }

    std::filesystem::path folder_;
    int port_;
    std::atomic<std::uint64_t> last_id_{0};
    QuickFixPeer house_;
    QuickFixPeer desk_;
};

[[nodiscard]] inline Finding quickfix_round_trips(bool in_files, std::size_t count) {
    const auto cores = two_cores();
    run_on({cores.first, cores.second});  // its threads go where the kernel puts them
    return round_trips(QuickFixPath{in_files}, count);
}
#endif

}  // namespace millpond::bench
