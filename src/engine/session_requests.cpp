#include <algorithm>
#include <utility>

#include "session_action.hpp"
#include "session_host.hpp"

namespace millpond::engine {

void SessionHost::on_drain(core::Moment now, std::int64_t deadline_ns) {
    draining_ = true;
    drain_deadline_ns_ = deadline_ns;
    for (auto* sender : senders_) sender->close();
    act(now, [&] { pump(now); });
}

void SessionHost::continue_drain(core::Moment now) {
    if (now.monotonic_ns >= drain_deadline_ns_) {
        for (auto* sender : senders_) sender->fail_all(SendFailure::shut_down);
        if (connection_ != nullptr) {
            cut(Closed::shut_down);
            let_go(now);
        }
        return;
    }
    if (connection_ == nullptr || !senders_idle() || !output_.empty()) return;
    if (session_.state() == fix::Session::State::active) {
        session_.logout("the engine ends", now);
        flush();
    } else if (session_.state() == fix::Session::State::awaiting_logon) {
        cut(Closed::shut_down);
        let_go(now);
    } else if (const auto ending = session_.ending()) {
        cut(closed_by(*ending));
        let_go(now);
    }
}

bool SessionHost::senders_idle() const noexcept {
    return std::ranges::all_of(senders_, [](auto* sender) { return sender->idle(); });
}

bool SessionHost::drained() const noexcept { return connection_ == nullptr && senders_idle(); }

void SessionHost::post(std::function<void(SessionHost&)> work) {
    io_->post([weak = weak_from_this(), work = std::move(work)] {
        if (const auto host = weak.lock()) work(*host);
    });
}

void SessionHost::request_logout(std::string reason) {
    post([reason = std::move(reason)](SessionHost& host) {
        const auto now = host.io_->now();
        host.act(now, [&] {
            host.enabled_ = false;
            if (host.observer_ != nullptr) host.observer_->on_host_enabled(false, now);
            host.session_.logout(reason, now);
        });
    });
}

void SessionHost::request_logon() {
    post([](SessionHost& host) {
        host.enabled_ = true;
        if (host.observer_ != nullptr) host.observer_->on_host_enabled(true, host.io_->now());
    });
}

void SessionHost::request_reset() {
    post([](SessionHost& host) {
        const auto now = host.io_->now();
        host.act(now, [&] { host.session_.reset(now); });
    });
}

void SessionHost::request_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target,
                                  std::function<void(bool done)> done) {
    post([next_sender, next_target, done = std::move(done)](SessionHost& host) {
        const bool free = host.connection_ == nullptr && !host.claimed();
        if (free && next_sender) host.store_->set_next_sender(*next_sender);
        if (free && next_target) host.store_->set_next_target(*next_target);
        host.show_store();
        if (done) done(free);
    });
}

void SessionHost::set_tap(WireTap* tap) {
    io_->call([&] { tap_ = tap; });
}

void SessionHost::attach(detail::Sender& sender) {
    io_->call([&] { senders_.push_back(&sender); });
}

void SessionHost::detach(detail::Sender& sender) noexcept {
    io_->call([&] {
        sender.on_disconnect();
        std::erase(senders_, &sender);
    });
}

}  // namespace millpond::engine
