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

#include "src/engine/session/host_connection.hpp"
#include "src/engine/session/input_path.hpp"
#include "src/engine/session/output_path.hpp"
#include "src/engine/standby/standby_link.hpp"

namespace millpond::engine {

/// Determines whether a session may run here: has the link to its standby, if there is one, and the state of its store,
/// which records whether another machine has taken over.
///
/// Threads: the I/O thread's; status on any.
class HostStandby {
public:
    /// file: null if the messages are in memory. All arguments must outlive it. Throws std::invalid_argument for a
    /// store that cannot run, and like StandbyLink.
    HostStandby(const SessionOptions& options, const std::string& name, fix::FileStore* file,
                HostConnection& connection, InputPath& input, OutputPath& output, IoLoop& loop,
                StandbyLink::OnChange on_change);

    void begin();
    void end();

    /// Whether there is a link to a standby.
    [[nodiscard]] bool exists() const noexcept { return link_ != nullptr; }
    /// Whether the session may have a connection.
    [[nodiscard]] bool permits() const noexcept {
        return !superseded_.load(std::memory_order_relaxed) && (link_ == nullptr || link_->permits());
    }
    /// Ends the connection if it is no longer permitted. Returns true if a connection is permitted again.
    [[nodiscard]] bool follow_change() noexcept;
    /// Reason why no connection is permitted.
    [[nodiscard]] std::string_view refusal() const noexcept;
    [[nodiscard]] Closed closed_because() const noexcept {
        return superseded_ ? Closed::superseded : Closed::standby_lost;
    }

    /// With a link, call at the end of each action: sends the numbers to the standby, releases acknowledged output, and
    /// reads input only while little output is held back. Returns true if reading resumes.
    [[nodiscard]] bool settle(core::Moment now);
    /// Sends numbers to the standby that were changed without a connection.
    void publish(core::Moment now);
    /// Applies a change of the link.
    void follow_link();

    /// Whether the end of a connection must wait because its last output is held back.
    [[nodiscard]] bool delays_end(core::Moment now) noexcept;
    /// Monotonic end of this wait; 0 if it does not wait.
    [[nodiscard]] std::int64_t delayed_until_ns() const noexcept { return delayed_until_ns_; }
    void forget_delay() noexcept { delayed_until_ns_ = 0; }

    /// Records that the machine of this epoch has taken over. Returns false if that is known, or if the store is not in
    /// a file.
    [[nodiscard]] bool supersede(std::uint64_t epoch);
    /// Runs a superseded session here again, as the next epoch. Returns the error.
    [[nodiscard]] std::string promote(std::uint64_t next_sender, core::Moment now);

    [[nodiscard]] StandbyStatus status() const;
    void add_metrics(metrics::Registry& registry, std::vector<metrics::Registration>& list) const;

private:
    const std::string* name_;
    fix::FileStore* file_;
    HostConnection* connection_;
    InputPath* input_;
    OutputPath* output_;
    std::unique_ptr<StandbyLink> link_;  // null: no standby
    std::int64_t delayed_until_ns_{0};
    bool was_permitted_;
    std::atomic<bool> superseded_{false};  // another machine has taken over
    core::Tally epoch_;                    // epoch of the store
};

}  // namespace millpond::engine
