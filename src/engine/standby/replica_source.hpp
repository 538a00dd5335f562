#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <millpond/fix/file_store.hpp>

#include "src/engine/io/output_queue.hpp"
#include "src/engine/standby/replication_frames.hpp"

namespace millpond::engine {

/// Position of a store, as sent to the other side of a replication.
[[nodiscard]] replication::Position position_of(const fix::FileStore& store) noexcept;

/// The primary's side of a replication: reads the session's store and sends what the standby lacks. Uses no socket and
/// no clock.
///
/// Call `publish` when both sequence numbers are consistent, at the end of an action. It gives the position a serial,
/// which the standby acknowledges once its store has everything before it.
///
/// Threads: the session's.
/// Memory:  none; waiting messages are in the session's store, frames in `output`.
class ReplicaSource {
public:
    enum class State : std::uint8_t {
        idle,        ///< No connection.
        greeting,    ///< Hello was sent.
        filling,     ///< The standby lacks messages from before this connection.
        attached,    ///< The standby has been complete once on this connection.
        refused,     ///< The connection must end: failure() has the reason.
        superseded,  ///< The standby has taken over, with a greater epoch.
    };

    /// store, output: must outlive it. identity: see fix::StoreIdentity::text.
    ReplicaSource(fix::FileStore& store, OutputQueue& output, std::string identity, std::string token);

    /// Starts the replication on a new connection. is_whole: the counterparty has nothing that the standby has not
    /// acknowledged.
    void greet(bool is_whole, std::int64_t now_ns);
    void disconnect() noexcept;
    /// Leaves the state `superseded`, because the store now has a greater epoch.
    void restart() noexcept { state_ = State::idle; }
    /// Handles the standby's frames; returns the number of consumed bytes.
    [[nodiscard]] std::size_t receive(std::span<const std::byte> bytes, std::int64_t now_ns);
    /// Records the position of the store if it changed, or in any case if `again`.
    void publish(std::int64_t now_ns, bool again = false);
    /// Writes frames to `output` while they fit.
    void pump();

    /// Whether frames wait for space in the output.
    [[nodiscard]] bool has_more() const noexcept { return sent_ < marks_ && sent_ + 1 < kMaxMarks; }

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    /// Epoch of the standby, once it has taken over.
    [[nodiscard]] std::uint64_t superseded_by() const noexcept { return superseded_by_; }
    /// Serial of the newest position.
    [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
    /// The newest acknowledged serial.
    [[nodiscard]] std::uint64_t acked() const noexcept { return acked_; }
    /// Number of messages that are not acknowledged.
    [[nodiscard]] std::uint64_t behind() const noexcept;
    /// Time of the oldest position that is not acknowledged; 0 if all are.
    [[nodiscard]] std::int64_t waiting_since_ns() const noexcept { return marks_ == 0 ? 0 : mark(0).at_ns; }
    /// Number of messages that left the store before they were sent.
    [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

private:
    /// A position that was sent.
    struct Mark {
        std::uint64_t serial;
        std::uint64_t next_sender;
        std::uint64_t next_target;
        std::int64_t at_ns;
    };
    static constexpr std::size_t kMaxMarks = 256;

    [[nodiscard]] const Mark& mark(std::size_t i) const noexcept { return ring_[(first_ + i) % kMaxMarks]; }
    void add_mark(std::int64_t now_ns);
    void on_welcome(const replication::Welcome& welcome, std::int64_t now_ns);
    void on_ack(std::uint64_t serial) noexcept;
    void refuse(std::string why);
    [[nodiscard]] std::string fault_of(const replication::Position& standby) const;
    [[nodiscard]] std::uint64_t resume_at(const replication::Position& standby) const noexcept;
    [[nodiscard]] bool write_records(std::uint64_t end);

    fix::FileStore* store_;
    OutputQueue* output_;
    std::string identity_;
    std::string token_;
    State state_{State::idle};
    std::string failure_;
    std::uint64_t superseded_by_{0};
    bool is_whole_{false};
    std::array<Mark, kMaxMarks> ring_{};
    std::size_t first_{0};
    std::size_t marks_{0};
    std::size_t sent_{0};  // number of sent marks_; the others wait for space in the output
    std::uint64_t serial_{0};
    std::uint64_t acked_{0};
    std::uint64_t attach_at_{0};     // serial with which the standby becomes complete
    std::uint64_t cursor_{1};        // the next record to write
    std::uint64_t acked_sender_{1};  // next_sender of the last acknowledged mark
    std::uint64_t published_sender_{0};
    std::uint64_t published_target_{0};
    std::uint64_t resets_seen_{0};
    bool reset_is_due_{false};
    std::uint64_t skipped_{0};
};

}  // namespace millpond::engine
