#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <millpond/fix/file_store.hpp>

#include "output_queue.hpp"
#include "replication_frames.hpp"

namespace millpond::engine {

/// The position of a store, for the other side of a replication.
[[nodiscard]] replication::Position position_of(const fix::FileStore& store) noexcept;

/// The primary's side of a replication: reads the session's store and sends what the standby does not have yet. Has no
/// socket and no clock.
///
/// `publish` is called when both sequence numbers are consistent: at the end of an action. It gives the position a
/// serial, which the standby acknowledges when its store has everything before it.
///
/// Threads: that of the session.
/// Memory:  none of its own; waiting messages are in the session's store, frames in `output`.
class ReplicaSource {
public:
    enum class State : std::uint8_t {
        idle,        ///< No connection.
        greeting,    ///< Hello was sent.
        filling,     ///< The standby lacks messages from before this connection.
        attached,    ///< It has been complete once.
        refused,     ///< The connection must end: failure() has the reason.
        superseded,  ///< The same, for good: the standby has a greater epoch.
    };

    /// store, output: outlive it. identity: as fix::StoreIdentity::text.
    ReplicaSource(fix::FileStore& store, OutputQueue& output, std::string identity, std::string token);

    /// A connection is there. is_whole: the counterparty has nothing that the standby has not acknowledged.
    void greet(bool is_whole, std::int64_t now_ns);
    void disconnect() noexcept;
    /// The store has a greater epoch now: it is no longer superseded.
    void restart() noexcept { state_ = State::idle; }
    /// Handles the standby's frames; returns the number of consumed bytes.
    [[nodiscard]] std::size_t take(std::span<const std::byte> bytes, std::int64_t now_ns);
    /// Records the position of the store if it changed, or in any case with `again`.
    void publish(std::int64_t now_ns, bool again = false);
    /// Writes frames while `output` has room.
    void pump();

    /// Whether it would write more if there were room.
    [[nodiscard]] bool has_more() const noexcept { return sent_ < marks_ && sent_ + 1 < kMostMarks; }

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    /// Of the standby, once it is superseded.
    [[nodiscard]] std::uint64_t superseded_by() const noexcept { return superseded_by_; }
    /// Serial of the newest position.
    [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
    /// The newest acknowledged serial.
    [[nodiscard]] std::uint64_t acked() const noexcept { return acked_; }
    /// Messages that are not acknowledged.
    [[nodiscard]] std::uint64_t behind() const noexcept;
    /// Time of the oldest position that is not acknowledged; 0: all are.
    [[nodiscard]] std::int64_t waiting_since_ns() const noexcept { return marks_ == 0 ? 0 : mark(0).at_ns; }
    /// Messages that were no longer in the store when their turn came.
    [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }

private:
    /// A position that was sent.
    struct Mark {
        std::uint64_t serial;
        std::uint64_t next_sender;
        std::uint64_t next_target;
        std::int64_t at_ns;
    };
    static constexpr std::size_t kMostMarks = 256;

    [[nodiscard]] const Mark& mark(std::size_t i) const noexcept { return ring_[(first_ + i) % kMostMarks]; }
    void add_mark(std::int64_t now_ns);
    void take_welcome(const replication::Welcome& welcome, std::int64_t now_ns);
    void take_ack(std::uint64_t serial) noexcept;
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
    std::array<Mark, kMostMarks> ring_{};
    std::size_t first_{0};
    std::size_t marks_{0};
    std::size_t sent_{0};  // of marks_: the others wait for room
    std::uint64_t serial_{0};
    std::uint64_t acked_{0};
    std::uint64_t attach_at_{0};     // serial with which the standby became complete
    std::uint64_t cursor_{1};        // the next record to write
    std::uint64_t acked_sender_{1};  // next_sender of the acked mark
    std::uint64_t published_sender_{0};
    std::uint64_t published_target_{0};
    std::uint64_t resets_seen_{0};
    bool reset_is_due_{false};
    std::uint64_t skipped_{0};
};

}  // namespace millpond::engine
