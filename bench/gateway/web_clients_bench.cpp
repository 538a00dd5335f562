// Measured:     from the kernel's receive time until the quote is in the ring, as the gateway records it, while the
//               page has 0, 1 and 100 WebSocket clients; one datagram at a time, 20 us apart or more, the receive
//               thread alone on its processor and spinning.
// Not measured: what the clients get; the sender and all other threads share the other processor.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <poll.h>

#include "bench/gateway/receive_path.hpp"
#include "bench/gateway/running_gateway.hpp"
#include "bench/gateway/web_socket.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

/// WebSocket clients that read everything, on a separate thread.
class Readers {
public:
    Readers(std::size_t count, std::uint16_t port, int core) {
        if (count == 0) return;
        for (std::size_t i = 0; i < count; ++i) clients_.push_back(std::make_unique<bench::WebSocket>(port));
        thread_ = std::thread{[this, core] {
            bench::run_on(core);
            run();
        }};
    }
    ~Readers() {
        for (const auto& client : clients_) client->socket().shut_down();
        if (thread_.joinable()) thread_.join();
    }
    Readers(const Readers&) = delete;
    Readers& operator=(const Readers&) = delete;

private:
    void run() {
        std::vector<pollfd> waits;
        for (const auto& client : clients_) waits.push_back({client->socket().descriptor(), POLLIN, 0});
        std::array<char, 65'536> buffer;
        for (std::size_t open = waits.size(); open != 0;) {
            poll(waits.data(), waits.size(), -1);
            for (std::size_t i = 0; i < waits.size(); ++i) {
                if (waits[i].fd < 0 || waits[i].revents == 0) continue;
                if (clients_[i]->socket().read(buffer.data(), buffer.size()) != 0) continue;
                waits[i].fd = -1;
                --open;
            }
        }
    }

    std::vector<std::unique_ptr<bench::WebSocket>> clients_;
    std::thread thread_;
};

template <std::size_t Clients>
bench::Finding receive_path() {
    const auto cores = bench::two_cores();
    bench::run_on({cores.first, cores.second});
    const bench::RunningGateway running({.receive_core = cores.second, .web = true, .sinks_core = cores.first});
    bench::run_on(cores.first);
    const Readers readers{Clients, running.web_address().port(), cores.first};
    return bench::receive_path(running, [] {});
}

}  // namespace

int main() {
    bench::compare_receive_path(
        "Do the page's clients slow the receive path?", "", "what the clients get",
        {{"no client", receive_path<0>}, {"1 client", receive_path<1>}, {"100 clients", receive_path<100>}});
}
