#pragma once

#include <exception>
#include <future>
#include <utility>

namespace millpond::core {

/// Starts a std::thread or a std::jthread: `prepare` and then `run` on it (with the stop token, of a jthread). Returns
/// when it is prepared. What `prepare` throws comes out here, and the thread has ended then: no other thread holds the
/// exception.
template <class Thread, class Prepare, class Run>
void start_thread(Thread& thread, Prepare prepare, Run run) {
    std::promise<void> ready;
    auto is_ready = ready.get_future();
    thread = Thread{
        [ready = std::move(ready), prepare = std::move(prepare), run = std::move(run)](const auto&... stop) mutable {
            try {
                prepare();
            } catch (...) {
                return ready.set_exception(std::current_exception());
            }
            ready.set_value();
            run(stop...);
        }};
    try {
        is_ready.get();
    } catch (...) {
        thread.join();
        throw;
    }
}

}  // namespace millpond::core
