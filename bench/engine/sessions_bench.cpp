// Measured:     an order's round trip through one I/O thread while the sessions on it grow: one session trades and the
//               others are idle, or all of them trade at once. The peers are bare sockets.
// Not measured: logon, stores in files, several I/O threads.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <millpond/core/clock.hpp>
#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/writer.hpp>

#include "bench/engine/session_path.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

constexpr std::uint64_t kFirstId = 1'000'000;  // ids of one width

/// A counterparty on a bare socket: it writes orders and counts the reports' ends.
class Peer {
public:
    Peer(std::string name, std::uint16_t port) : name_(std::move(name)), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            throw std::runtime_error("a peer of the bench cannot connect");
        }
        write("A", [](fix::Writer& writer) { writer.add<98>('0').add<108>(0); });
        while (received_ == 0) read();
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() { ::close(socket_); }

    void send_order(std::uint64_t id) {
        write("D", [&](fix::Writer& writer) { bench::write_order(writer, id, core::utc_nanos()); });
    }
    /// Waits for the socket and takes what it has.
    void read() {
        std::array<char, 4096> buffer;
        const auto size = ::recv(socket_, buffer.data(), buffer.size(), 0);
        if (size <= 0) throw std::runtime_error("the engine closed a session of the bench");
        // A message ends with its CheckSum, "10=ddd" and a delimiter; no message here is cut by a read.
        const std::string_view text{buffer.data(), static_cast<std::size_t>(size)};
        for (auto at = text.find("\00110="); at != std::string_view::npos; at = text.find("\00110=", at + 1)) {
            ++received_;
        }
    }
    [[nodiscard]] std::uint64_t received() const { return received_; }

private:
    template <class Body>
    void write(std::string_view type, Body body) {
        std::array<char, 512> buffer;
        fix::Writer writer{buffer, "FIX.4.4"};
        writer.add<35>(type).add<34>(++sent_).add<49>(name_);
        writer.add_timestamp(52, core::utc_nanos(), fix::TimePrecision::millis).add<56>("HOUSE");
        body(writer);
        const auto bytes = writer.finish().value();
        if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
            throw std::runtime_error("a peer of the bench could not send");
        }
    }

    std::string name_;
    int socket_;
    std::uint64_t sent_{0};
    std::uint64_t received_{0};
};

class Venue {
public:
    explicit Venue(std::size_t sessions)
        : acceptor_(io_, {.max_connections = sessions + 1,
                          .max_before_logon = sessions + 1,
                          .max_before_logon_per_address = sessions + 1}) {
        for (std::size_t i = 0; i < sessions; ++i) {
            acceptor_.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = name_of(i)},
                           .dictionary = &dictionary_,
                           .store = {.bytes = 1U << 17U}},
                          house_);
        }
        io_.start();
        io_.call([] { bench::run_on(bench::two_cores().second); });
        bench::run_on(bench::two_cores().first);
        for (std::size_t i = 0; i < sessions; ++i) {
            peers_.push_back(std::make_unique<Peer>(name_of(i), acceptor_.port()));
        }
    }
    Venue(const Venue&) = delete;
    Venue& operator=(const Venue&) = delete;
    ~Venue() {
        peers_.clear();
        io_.stop();
    }

    /// The peers of which each sends an order, all before the first report is read.
    void trade(std::size_t from, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) peers_[from + i]->send_order(kFirstId + ++orders_);
        for (std::size_t i = 0; i < count; ++i) {
            for (const auto before = expected(from + i); peers_[from + i]->received() < before;)
                peers_[from + i]->read();
        }
    }

private:
    static std::string name_of(std::size_t session) { return "DESK" + std::to_string(session); }
    std::uint64_t expected(std::size_t peer) {
        traded_.resize(std::max(traded_.size(), peer + 1));
        return 1 + ++traded_[peer];
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    bench::ReportingHouse house_;
    engine::IoThread io_{{.poll = core::Poll::spin}};
    engine::Acceptor acceptor_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<std::uint64_t> traded_;
    std::uint64_t orders_{0};
};

constexpr std::size_t kOrders = 600;
constexpr std::size_t kAtOnce = 10;  // orders of which the mean is one sample

/// The median of `passes` calls of `work`, microseconds an order.
template <class Work>
double typical_micros_each(std::size_t passes, std::size_t orders, Work work) {
    std::vector<double> micros(passes);
    for (auto& pass : micros) pass = bench::nanos_each(orders, work) / 1e3;
    return bench::median(std::move(micros));
}

bench::Finding one_trades(std::size_t sessions) {
    Venue venue(sessions);
    const auto micros = typical_micros_each(bench::scaled(kOrders) / kAtOnce, kAtOnce, [&] {
        for (std::size_t i = 0; i < kAtOnce; ++i) venue.trade(sessions / 2, 1);
    });
    return {.value = micros, .answer = sessions};
}

bench::Finding all_trade(std::size_t sessions) {
    Venue venue(sessions);
    const auto rounds = std::max<std::size_t>(bench::scaled(kOrders) / sessions, 3);
    const auto micros = typical_micros_each(rounds, sessions, [&] { venue.trade(0, sessions); });
    return {.value = micros, .answer = sessions};
}

}  // namespace

int main() {
    const std::vector<std::size_t> counts{1, 3, 10, 30, 100, 300, 1'000};
    std::vector<bench::Contender> contenders;
    bench::add_line(contenders, "one session trades, the others are idle", counts, one_trades);
    bench::add_line(contenders, "all trade at once", counts, all_trade);
    bench::compare(
        {.question = "What does an order cost while the sessions of one I/O thread grow?",
         .unit = "us/order",
         .curve =
             bench::Curve{
                 .axis = "sessions",
                 .knees = {{.at = 10,
                            .why = "up to here, when all trade, an order costs less with each session: one call of "
                                   "epoll_wait answers for many, and the wake-up of the peer is shared. What is left "
                                   "is a read, a session and a write for each order"},
                           {.at = 300,
                            .why = "when all trade, an order costs more than with ten sessions; the likely reason is "
                                   "that stores, buffers and sockets of more sessions fit into the caches no longer. "
                                   "When one trades, no number of idle sessions shows: the intervals overlap"}}},
         .measured = "NewOrderSingle from a bare socket until its ExecutionReport is read, TCP on loopback, memory "
                     "stores of 128 KiB, the I/O thread spinning; with all, each session has one order on its way and "
                     "the time is divided by the sessions",
         .not_measured = "logon, stores in files, several I/O threads"},
        contenders);
}
