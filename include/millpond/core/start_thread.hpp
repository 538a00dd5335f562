#pragma once

#include <exception>
#include <future>
#include <utility>

#include <millpond/core/exceptions.hpp>

namespace millpond::core {

/// Starts a std::thread or std::jthread that calls `prepare`, then `run` (with the stop token of a jthread). Returns
/// after `prepare` has returned. Rethrows an exception of `prepare`, after the thread has ended, so that no other
/// thread refers to it.
template <class Thread, class Prepare, class Run>
void start_thread(Thread& thread, Prepare prepare, Run run) {
    std::promise<void> ready;
    auto is_ready = ready.get_future();
    thread = Thread{
        [ready = std::move(ready), prepare = std::move(prepare), run = std::move(run)](const auto&... stop) mutable {
            MILLPOND_TRY { prepare(); }
            MILLPOND_CATCH(...) { return ready.set_exception(std::current_exception()); }
            ready.set_value();
            run(stop...);
        }};
    MILLPOND_TRY { is_ready.get(); }
    MILLPOND_CATCH(...) {
        thread.join();
        MILLPOND_RETHROW;
    }
}

}  // namespace millpond::core
