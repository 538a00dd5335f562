#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/moment.hpp>
#include <millpond/core/tally.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/engine/session_status.hpp>
#include <millpond/engine/standby.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/metrics/registry.hpp>

#include "host_connection.hpp"
#include "output_path.hpp"
#include "standby_link.hpp"

namespace millpond::engine {

/// What a session's standby permits: the link to it, if there is one, and the standing of the session's store, by which
/// another machine may have taken over.
///
/// Threads: the I/O thread's; status on any.
class HostStandby {
public:
    /// file: null: the messages are in memory. All must outlive it. Throws std::invalid_argument for a store that
    /// cannot run, and as StandbyLink does.
    HostStandby(const SessionOptions& options, const std::string& name, fix::FileStore* file,
                HostConnection& connection, OutputPath& output, IoThread& io, StandbyLink::OnChange on_change);

    void begin();
    void end();

    /// Whether there is a link.
    [[nodiscard]] bool exists() const noexcept { return link_ != nullptr; }
    /// Whether the session may have a connection.
    [[nodiscard]] bool permits() const noexcept {
        return !superseded_.load(std::memory_order_relaxed) && (link_ == nullptr || link_->permits());
    }
    /// Whether that changed since the last call.
    [[nodiscard]] bool has_changed() noexcept {
        const bool permitted = permits();
        return permitted != std::exchange(was_permitted_, permitted);
    }
    /// Why it does not permit one.
    [[nodiscard]] std::string_view refusal() const noexcept;
    [[nodiscard]] Closed closed_because() const noexcept {
        return superseded_ ? Closed::superseded : Closed::standby_lost;
    }

    /// With a link, at the ends of an action: both numbers belong to each other. Releases what it has acknowledged.
    void settle(core::Moment now);
    /// The numbers were changed without a connection.
    void publish(core::Moment now);
    /// The link has changed.
    void follow_link();

    /// Whether a connection that ends has to wait: its last bytes are held back.
    [[nodiscard]] bool delays_end(core::Moment now) noexcept;
    /// Monotonic: until when it waits at most; 0: it does not.
    [[nodiscard]] std::int64_t delayed_until_ns() const noexcept { return delayed_until_ns_; }
    void forget_delay() noexcept { delayed_until_ns_ = 0; }

    /// The machine of this epoch has taken over. False: it was known, or there is no file.
    [[nodiscard]] bool supersede(std::uint64_t epoch);
    /// As SessionHandle::request_promotion. Gives the error.
    [[nodiscard]] std::string promote(std::uint64_t next_sender, core::Moment now);

    [[nodiscard]] StandbyStatus status() const;
    void add_metrics(metrics::Registry& registry, std::vector<metrics::Registration>& list) const;

private:
    const std::string* name_;
    fix::FileStore* file_;
    HostConnection* connection_;
    OutputPath* output_;
    std::unique_ptr<StandbyLink> link_;  // null: none
    std::int64_t delayed_until_ns_{0};
    bool was_permitted_;
    std::atomic<bool> superseded_{false};  // another machine has taken over
    core::Tally epoch_;                    // of the store
};

}  // namespace millpond::engine
