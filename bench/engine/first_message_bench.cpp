// Measured:     one order after a silence: from the moment at which the engine found its bytes in the socket until the
//               report lies in the store, as a multiple of the median of 2,000 orders a millisecond apart in front of
//               it. Both sides on I/O threads that sleep when there is nothing to do. Until shortly before the order a
//               neighbour on the house's processor reads 16 MiB twenty times a second, as other programs would.
// Not measured: the network, waking the sleeping thread, writing to the socket.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <millpond/core/clock.hpp>

#include "bench/engine/session_path.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {
namespace {

using std::chrono::milliseconds;

/// Notes how long each order took.
class TimedHouse final : public engine::Application {
public:
    fix::Verdict on_message(engine::SessionLink& link, const fix::Message& order) override {
        const auto verdict = inner_.on_message(link, order);
        taken_ns.store(core::monotonic_nanos() - link.began_ns(), std::memory_order_relaxed);
        orders.store(orders.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // sync "order taken"
        return verdict;
    }
    std::atomic<std::int64_t> taken_ns{0};
    std::atomic<std::uint64_t> orders{0};

private:
    ReportingHouse inner_;
};

/// Another program on this processor.
class Neighbour {
public:
    explicit Neighbour(int core)
        : thread_([this, core] {
              run_on(core);
              while (!over_.load(std::memory_order_relaxed)) {
                  if (is_loud_.load(std::memory_order_relaxed)) {
                      for (std::size_t i = 0; i < memory_.size(); i += 64 / sizeof(std::uint64_t)) sum_ += memory_[i];
                  }
                  std::this_thread::sleep_for(milliseconds{50});
              }
              keep(sum_);
          }) {}
    ~Neighbour() {
        over_ = true;
        thread_.join();
    }
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;
    void set_loud(bool loud) noexcept { is_loud_ = loud; }

private:
    std::vector<std::uint64_t> memory_ = std::vector<std::uint64_t>((16U << 20U) / sizeof(std::uint64_t), 1);
    std::uint64_t sum_{0};
    std::atomic<bool> over_{false};
    std::atomic<bool> is_loud_{false};
    std::thread thread_;
};

class Silence {
public:
    explicit Silence(std::chrono::nanoseconds warm_up) : neighbour_(two_cores().second) {
        auto house = options("HOUSE", "DESK");
        house.warm_up = warm_up;
        acceptor_.add(std::move(house), house_);
        initiator_.add(options("DESK", "HOUSE"), {.hosts = {{"127.0.0.1", acceptor_.port()}}}, desk_);
        there_.start();
        there_.call([] { run_on(two_cores().second); });
        while (desk_.link == nullptr) here_.poll(milliseconds{1});
    }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
    ~Silence() { there_.stop(); }

    /// The first order behind each of `count` silences, in multiples of the warm median.
    [[nodiscard]] std::vector<float> run(milliseconds silence, std::size_t count) {
        std::vector<float> ratios;
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<std::int64_t> warm;
            for (int order = 0; order < 2'000; ++order) {
                warm.push_back(one_order());
                std::this_thread::sleep_for(milliseconds{1});
            }
            std::ranges::nth_element(warm, warm.begin() + 1'000);
            neighbour_.set_loud(true);
            here_.poll(milliseconds{0});
            std::this_thread::sleep_for(silence - milliseconds{60});
            neighbour_.set_loud(false);
            std::this_thread::sleep_for(milliseconds{60});
            ratios.push_back(static_cast<float>(one_order()) / static_cast<float>(warm[1'000]));
        }
        return ratios;
    }

private:
    [[nodiscard]] engine::SessionOptions options(std::string sender, std::string target) const {
        return {.config = {.sender_comp_id = std::move(sender),
                           .target_comp_id = std::move(target),
                           .heartbeat_seconds = 3'600},
                .dictionary = &dictionary_,
                .store = {.bytes = 16U << 20U}};
    }
    std::int64_t one_order() {
        const auto before = house_.orders.load();
        const auto id = ++last_id_;
        if (!desk_.link->send("D", [&](fix::Writer& writer) { write_order(writer, id, core::utc_nanos()); })) {
            throw Refused("an order was refused");
        }
        while (desk_.last_id != id) here_.poll(milliseconds{10});
        if (house_.orders.load(std::memory_order_acquire) != before + 1) throw Refused("not one order came");
        return house_.taken_ns.load(std::memory_order_relaxed);
    }

    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    TimedHouse house_;
    OrderingDesk desk_;
    Neighbour neighbour_;
    engine::IoThread here_;
    engine::IoThread there_;
    engine::Acceptor acceptor_{there_, {}};
    engine::Initiator initiator_{here_};
    std::uint64_t last_id_{1'000'000};
};

Contender contender(std::string name, milliseconds warm_up, milliseconds silence, std::size_t count) {
    return {std::move(name), [warm_up, silence, count] {
                run_on(two_cores().first);
                Finding found;
                found.latencies = Silence{warm_up}.run(silence, count);
                found.answer = 1;
                return found;
            }};
}

}  // namespace
}  // namespace millpond::bench

int main() {
    using namespace millpond;
    using std::chrono::milliseconds;
    constexpr milliseconds kOne{1'000};
    const milliseconds ten{bench::quick() ? 2'000 : 10'000};
    bench::compare({.question = "How much longer than usual does the first order after a silence take?",
                    .unit = "x the warm median",
                    .goals = {{.contender = "1 s, warm_up 1 ms", .of = bench::Statistic::p50, .at_most = 1.5},
                              {.contender = "10 s, warm_up 1 ms", .of = bench::Statistic::p50, .at_most = 1.5}},
                    .measured = "from finding an order in the socket until its report lies in the store",
                    .not_measured = "the network, waking the sleeping thread, writing to the socket"},
                   {bench::contender("1 s, without", milliseconds{0}, kOne, 3),
                    bench::contender("1 s, warm_up 1 ms", milliseconds{1}, kOne, 3),
                    bench::contender("1 s, warm_up 10 ms", milliseconds{10}, kOne, 3),
                    bench::contender("10 s, without", milliseconds{0}, ten, 1),
                    bench::contender("10 s, warm_up 1 ms", milliseconds{1}, ten, 1)});
}
