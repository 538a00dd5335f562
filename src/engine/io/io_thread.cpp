#include <millpond/engine/io_thread.hpp>

#include <future>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/core/pinning.hpp>
#include <millpond/core/start_thread.hpp>
#include <millpond/core/thread_name.hpp>

#include "src/engine/io/io_loop.hpp"

namespace millpond::engine {

IoThread::IoThread(Options options) : options_(std::move(options)), loop_(std::make_unique<IoLoop>(options_.poll)) {}

IoThread::IoThread() : IoThread(Options{}) {}

IoThread::~IoThread() {
    stop();
    loop_->run_posted();
}

void IoThread::start() {
    constexpr std::int64_t kMaxWaitNanos = 60'000'000'000;
    const auto prepare = [this] {
        core::name_this_thread(options_.name);
        if (options_.cpu) core::pin_this_thread(*options_.cpu);
        if (options_.realtime_priority) core::set_realtime(*options_.realtime_priority);
    };
    const auto guarded_round = [this] {
        try {
            loop_->round(kMaxWaitNanos);
        } catch (...) {
            if (!options_.on_exception) throw;
            options_.on_exception(std::current_exception());
        }
    };
    stopping_.store(false);
    core::start_thread(thread_, prepare, [this, guarded_round] {
        while (!stopping_.load(std::memory_order_relaxed)) guarded_round();
    });
}

void IoThread::stop() {
    if (!thread_.joinable()) return;
    post([this] { stopping_.store(true, std::memory_order_relaxed); });
    thread_.join();
}

void IoThread::poll(std::chrono::milliseconds patience) { loop_->round(std::chrono::nanoseconds{patience}.count()); }

void IoThread::post(std::function<void()> work) { loop_->post(std::move(work)); }

void IoThread::call(const std::function<void()>& work) {
    if (!thread_.joinable() || thread_.get_id() == std::this_thread::get_id()) {
        work();
        return;
    }
    std::promise<void> done;
    post([&] {
        try {
            work();
            done.set_value();
        } catch (...) {
            done.set_exception(std::current_exception());
        }
    });
    done.get_future().get();
}

bool IoThread::drain(std::chrono::milliseconds bound) {
    const auto deadline = core::monotonic_nanos() + std::chrono::nanoseconds{bound}.count();
    // A little later than the deadline of the participants.
    const auto patience = deadline + std::chrono::nanoseconds{std::chrono::milliseconds{100}}.count();
    bool finished = false;
    call([&] { loop_->begin_drain(deadline); });
    while (!finished && core::monotonic_nanos() < patience) {
        if (!thread_.joinable()) poll(std::chrono::milliseconds{1});
        call([&] { finished = loop_->drained(); });
        if (!finished && thread_.joinable()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return finished && core::monotonic_nanos() <= deadline;
}

const IoThread::Counters& IoThread::counters() const noexcept { return loop_->counters(); }

}  // namespace millpond::engine
