#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
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
#include <millpond/engine/async_sender.hpp>
#include <millpond/metrics/histogram_buckets.hpp>

#include "bench/engine/raw_send_path.hpp"
#include "bench/engine/session_path.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

inline const core::TickRate kRate;

enum class Stage { acquire, queue, encode, write, whole };

struct BudgetOrder {
    std::uint64_t id{0};
    std::int64_t utc_ns{0};
};

struct BudgetEncoder {
    [[nodiscard]] std::string_view msg_type(const BudgetOrder&) const { return "D"; }
    [[nodiscard]] bool encode(const BudgetOrder& order, fix::Writer& writer) const {
        write_order(writer, order.id, order.utc_ns);
        return true;
    }
};

/// The samples of a histogram, each as the middle of its bucket, in microseconds.
inline std::vector<float> samples_of(const metrics::LatencyHistogram& histogram) {
    const auto snapshot = std::make_unique<metrics::HistogramSnapshot>();
    histogram.read(*snapshot);
    std::vector<float> samples;
    for (std::size_t bucket = 0; bucket < metrics::kBuckets; ++bucket) {
        const auto middle = static_cast<float>(metrics::bucket_low(bucket) + metrics::bucket_high(bucket)) / 2e3F;
        samples.insert(samples.end(), snapshot->counts[bucket], middle);
    }
    return samples;
}

inline const metrics::LatencyHistogram& histogram_of(Stage stage, const engine::detail::Sender::Latencies& latencies) {
    switch (stage) {
        case Stage::acquire: return latencies.acquire;
        case Stage::queue: return latencies.queue;
        case Stage::encode: return latencies.encode;
        default: return latencies.write;
    }
}

/// An acceptor's session on a spinning I/O thread, with a sender, and the peer's bare socket, which this thread reads.
/// All messages have the same length.
class SendPath {
public:
    explicit SendPath(std::chrono::nanoseconds warm_up = {}) {
        auto& handle = acceptor_.add({.config = {.sender_comp_id = "HOUSE", .target_comp_id = "DESK"},
                                      .dictionary = &dictionary_,
                                      .store = {.bytes = 64U << 20U},
                                      .warm_up = warm_up},
                                     house_);
        handle.request_numbers(kFirstId, 1);
        sender_ = std::make_unique<engine::AsyncSender<BudgetOrder, BudgetEncoder>>(
            handle, pool_, BudgetEncoder{}, engine::SenderOptions{.lane_capacity = 4096});
        io_.start();
        io_.call([] { run_on(two_cores().second); });
        log_on();
        peer_message_bytes_ = measure_one();
    }
    SendPath(const SendPath&) = delete;
    SendPath& operator=(const SendPath&) = delete;
    ~SendPath() {
        ::close(peer_);
        sender_.reset();
        io_.stop();
    }

    void send() {
        auto draft = sender_->try_make(BudgetOrder{kFirstId + sent_, core::utc_nanos()});
        if (!draft || sender_->try_send(std::move(draft)) != engine::Handed::queued) {
            throw Refused("a message was refused");
        }
        ++sent_;
    }
    /// Makes and drops a draft.
    void rehearse() { static_cast<void>(sender_->try_make(BudgetOrder{kFirstId, core::utc_nanos()})); }
    /// Number of messages that the peer has received in total. Does not wait.
    [[nodiscard]] std::uint64_t arrived() {
        const auto got = ::recv(peer_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
        if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
        return peer_message_bytes_ == 0 ? 0 : bytes_ / peer_message_bytes_;
    }
    /// Number of messages that the sender has counted as written; the peer may have received more.
    [[nodiscard]] std::uint64_t written() const { return sender_->counters().written.read(); }
    /// Samples of a stage, except Stage::whole, which only the caller can measure.
    [[nodiscard]] std::vector<float> latencies(Stage stage) const {
        return samples_of(histogram_of(stage, sender_->latencies()));
    }

private:
    static constexpr std::uint64_t kFirstId = 1'000'000;

    void log_on() {
        peer_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(acceptor_.port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(peer_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            throw std::runtime_error("no connection to the acceptor");
        }
        std::array<char, 512> buffer;
        fix::Writer writer{buffer, "FIX.4.4"};
        writer.add<35>("A").add<34>(1).add<49>("DESK").add_timestamp(52, core::utc_nanos(), fix::TimePrecision::millis);
        writer.add<56>("HOUSE").add<98>('0').add<108>(0);
        const auto logon = writer.finish().value();
        if (::send(peer_, logon.data(), logon.size(), MSG_NOSIGNAL) < 0 ||
            ::recv(peer_, buffer_.data(), buffer_.size(), 0) <= 0) {
            throw std::runtime_error("no logon");
        }
    }
    std::uint64_t measure_one() {
        send();
        spin_until([&] { return static_cast<void>(arrived()), bytes_ != 0; });
        return bytes_;
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    ReportingHouse house_;
    engine::IoThread io_{{.poll = core::Poll::spin}};
    engine::Acceptor acceptor_{io_, {}};
    memory::MessagePool<BudgetOrder> pool_{8192};
    std::unique_ptr<engine::AsyncSender<BudgetOrder, BudgetEncoder>> sender_;
    int peer_{-1};
    std::uint64_t sent_{0};
    std::uint64_t bytes_{0};
    std::uint64_t peer_message_bytes_{0};
    std::array<char, 65'536> buffer_{};
};

/// Sends `count` messages through the path, one every `pace_ns` (0: each after the previous one has arrived). Returns
/// the time of each from when it was due until the peer has it.
///
/// Path: sends one message at construction; then has send(), arrived() and written(), like SendPath.
template <class Path>
std::vector<float> send_paced(Path& path, std::size_t count, std::int64_t pace_ns) {
    std::vector<std::uint64_t> handed(count + 1);
    std::vector<float> whole;
    whole.reserve(count);
    std::uint64_t seen = 1;  // the constructor sent one message
    const auto look = [&] {
        const auto arrived = path.arrived();
        const auto now = core::ticks();
        for (; seen < arrived; ++seen) {
            whole.push_back(static_cast<float>(static_cast<double>(now - handed[seen]) * kRate.nanos_per_tick() / 1e3));
        }
    };
    const auto pace = static_cast<std::uint64_t>(static_cast<double>(pace_ns) / kRate.nanos_per_tick());
    auto next = core::ticks();
    for (std::uint64_t i = 1; i <= count; ++i) {
        if (pace_ns == 0) {
            spin_until([&] { return look(), seen == i; });
        } else {
            while (core::ticks() < next) look();
            next += pace;
        }
        handed[i] = pace_ns == 0 ? core::ticks() : next - pace;
        path.send();
    }
    spin_until([&] { return look(), seen == count + 1; });
    spin_until([&] { return path.written() == count + 1; });
    return whole;
}

/// The duration of the stage.
inline Finding budget(Stage stage, std::size_t count, std::int64_t pace_ns) {
    run_on(two_cores().first);
    SendPath path;
    auto whole = send_paced(path, count, pace_ns);
    return {.answer = path.written(), .latencies = stage == Stage::whole ? std::move(whole) : path.latencies(stage)};
}

/// The limit: the same threads at the same pace with raw sockets.
inline Finding raw_budget(std::size_t count, std::int64_t pace_ns) {
    run_on(two_cores().first);
    RawSendPath path;
    auto whole = send_paced(path, count, pace_ns);
    return {.answer = path.written(), .latencies = std::move(whole)};
}

inline constexpr auto kRawSend = "reference: raw sockets, handed over by a counter";

inline std::vector<Contender> budget_contenders(std::size_t count, std::int64_t pace_ns) {
    std::vector<Contender> list{{kRawSend, [count, pace_ns] { return raw_budget(count, pace_ns); }}};
    for (const auto& [name, stage] :
         {std::pair{"call of send until the peer has it", Stage::whole}, std::pair{"acquire", Stage::acquire},
          std::pair{"queue", Stage::queue}, std::pair{"encode into the store", Stage::encode},
          std::pair{"write to the socket", Stage::write}}) {
        list.push_back({name, [stage, count, pace_ns] { return budget(stage, count, pace_ns); }});
    }
    return list;
}

}  // namespace millpond::bench
