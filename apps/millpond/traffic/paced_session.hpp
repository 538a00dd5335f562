#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "apps/millpond/traffic/request_server.hpp"
#include "apps/millpond/traffic/soupbin_server.hpp"

namespace millpond::traffic {

/// A session whose messages become available as they are sent.
///
/// Threads: release and end on one, the rest on any.
class PacedSession final : public SoupBinStream {
public:
    /// messages: all of the session; must outlive this.
    explicit PacedSession(const SessionMessages& messages) : messages_(messages) {}

    void release(std::uint64_t count) noexcept { available_.fetch_add(count, std::memory_order_relaxed); }
    void end() noexcept { has_ended_.store(true, std::memory_order_release); }  // sync "ended": has_ended

    [[nodiscard]] std::uint64_t available() const override { return available_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::span<const std::byte> message(std::uint64_t number) const override {
        return messages_.message(number);
    }
    [[nodiscard]] bool has_ended() const override {
        return has_ended_.load(std::memory_order_acquire);  // sync "ended": end
    }

private:
    const SessionMessages& messages_;
    std::atomic<std::uint64_t> available_{0};
    std::atomic<bool> has_ended_{false};
};

}  // namespace millpond::traffic
