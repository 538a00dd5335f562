#include "src/engine/session/host_handle.hpp"

#include <memory>
#include <utility>

#include "src/engine/session/session_host.hpp"

namespace millpond::engine {

const std::string& HostHandle::name() const noexcept { return host_->name(); }

SessionStatus HostHandle::status() const {
    auto status = host_->gauges().status();
    status.standby = host_->standby().status();
    return status;
}

void HostHandle::post(std::function<void(SessionHost&)> work) {
    io_->post([weak = host_->weak_from_this(), work = std::move(work)] {
        if (const auto host = weak.lock(); host != nullptr && !host->ended()) work(*host);
    });
}

void HostHandle::request_logout(std::string reason) {
    post([reason = std::move(reason)](SessionHost& host) {
        const auto now = host.now();
        host.act(now, [&] {
            host.set_enabled(false, now);
            host.sending_session().logout(reason, now);
        });
    });
}

void HostHandle::request_logon() {
    post([](SessionHost& host) { host.set_enabled(true, host.now()); });
}

void HostHandle::request_reset() {
    post([](SessionHost& host) {
        const auto now = host.now();
        host.act(now, [&] { host.sending_session().reset(now); });
    });
}

void HostHandle::request_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target,
                                 std::function<void(bool done)> done) {
    post([next_sender, next_target, done = std::move(done)](SessionHost& host) {
        const bool free = host.set_numbers(next_sender, next_target);
        if (done) done(free);
    });
}

void HostHandle::request_promotion(std::function<void(std::string error)> done) {
    post([done = std::move(done)](SessionHost& host) {
        const auto now = host.now();
        auto error = host.standby().promote(host.session().store().next_sender(), now);
        if (error.empty()) host.act(now, [&] { host.follow_standby(now); });
        if (done) done(std::move(error));
    });
}

void HostHandle::request_supersede(std::uint64_t epoch) {
    post([epoch](SessionHost& host) {
        if (!host.standby().supersede(epoch)) return;
        const auto now = host.now();
        host.act(now, [&] { host.follow_standby(now); });
    });
}

void HostHandle::set_tap(WireTap* tap) {
    io_->call([&] { host_->set_tap(tap); });
}

std::vector<metrics::Registration> HostHandle::add_metrics(metrics::Registry& registry) const {
    auto list = host_->gauges().add_metrics(registry);
    host_->standby().add_metrics(registry, list);
    return list;
}

void HostHandle::attach(detail::Sender& sender) {
    io_->call([&] { host_->senders().add(sender); });
}

void HostHandle::detach(detail::Sender& sender) noexcept {
    io_->call([&] {
        sender.on_disconnect();
        host_->senders().remove(sender);
    });
}

}  // namespace millpond::engine
