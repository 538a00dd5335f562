#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <millpond/engine/detail/sender.hpp>
#include <millpond/engine/session_handle.hpp>

#include "src/engine/io/io_loop.hpp"

namespace millpond::engine {

class SessionHost;

/// The handle of a session for other threads: passes their requests to its I/O thread.
///
/// Threads: any.
class HostHandle final : public SessionHandle, public detail::SenderPort {
public:
    /// host: owns this object.
    HostHandle(SessionHost& host, IoThread& io) noexcept : host_(&host), io_(&io), loop_(&io.loop()) {}
    ~HostHandle() = default;
    /// Sets the host's slot on its I/O thread.
    void set_slot(std::size_t slot) noexcept { slot_ = slot; }
    [[nodiscard]] std::size_t slot() const noexcept { return slot_; }

    const std::string& name() const noexcept override;
    SessionStatus status() const override;
    IoThread& io() const noexcept override { return *io_; }
    void request_logout(std::string reason) override;
    void request_logon() override;
    void request_reset() override;
    void request_numbers(std::optional<std::uint64_t> next_sender, std::optional<std::uint64_t> next_target,
                         std::function<void(bool done)> done) override;
    void request_promotion(std::function<void(std::string error)> done) override;
    void request_supersede(std::uint64_t epoch) override;
    void set_tap(WireTap* tap) override;
    std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const override;
    detail::SenderPort& sender_port() noexcept override { return *this; }

    // SenderPort
    void attach(detail::Sender& sender) override;
    void detach(detail::Sender& sender) noexcept override;
    void signal() noexcept override { loop_->signal(slot_); }

private:
    /// Runs `work` on the I/O thread if the session still exists then.
    void post(std::function<void(SessionHost&)> work);

    SessionHost* host_;
    IoThread* io_;
    IoLoop* loop_;
    std::size_t slot_{0};
};

}  // namespace millpond::engine
