#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/moment.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/engine/wire_tap.hpp>
#include <millpond/fix/file_store.hpp>
#include <millpond/fix/message_store.hpp>

#include "src/engine/io/output_queue.hpp"
#include "src/engine/session/host_connection.hpp"

namespace millpond::engine {

/// Output of a session: passes messages of the store, and copies, through a queue to the socket.
///
/// Threads: the I/O thread's.
/// Memory:  the queue, allocated in the constructor.
class OutputPath {
public:
    /// All arguments must outlive it. file: the store if it is in files, else null. stamp: the latest known time.
    OutputPath(HostConnection& connection, fix::MessageStore& store, fix::FileStore* file, const std::string& name,
               const SessionLimits& limits, std::size_t max_message_bytes, const core::Moment& stamp);

    /// Drops all output, at the start and the end of a connection.
    void clear() noexcept;
    /// Adds a message of the store, or, with number 0, a copy of complete messages. Returns false if it does not fit,
    /// so that the connection cannot continue.
    [[nodiscard]] bool add(std::uint64_t sequence, std::string_view bytes);

    // For sessions with a standby:
    /// Sets whether messages that are added later are held back; false: releases all.
    void set_holding(bool holding) noexcept;
    /// Messages added since the last call wait for this serial.
    void seal(std::uint64_t serial) noexcept;
    /// Releases messages that wait for serials up to this one.
    void release(std::uint64_t serial) noexcept;
    /// Whether output is held back; holds_much: so much that reading from the peer must stop.
    [[nodiscard]] bool is_holding() const noexcept { return queue_.held() != 0; }
    [[nodiscard]] bool holds_much() const noexcept {
        return queue_.held_bytes() > pending_bytes_ / 4 || queue_.held() > queue_.max_pieces() / 4;
    }
    /// Writes as much as the socket accepts; calls written(sequence) with the newest written message.
    template <class Written>
    void flush(Written&& written);

    /// Whether the queued output must be written before the end of the action.
    [[nodiscard]] bool is_due() const noexcept {
        return queue_.pieces() - queue_.held() >= kWriteAtOnce || is_too_much();
    }
    [[nodiscard]] bool is_too_much() const noexcept { return queue_.bytes() - queue_.held_bytes() > pending_bytes_; }
    [[nodiscard]] bool is_congested() const noexcept {
        return queue_.bytes() > pending_bytes_ / 2 || queue_.pieces() > queue_.max_pieces() / 2 ||
               queue_.copies_are_half_full() || connection_->is_broken();
    }
    /// When the output counts as stalled; kNever: nothing is queued.
    [[nodiscard]] std::int64_t stalled_at_ns() const noexcept {
        return moved_ns_ == 0 ? core::kNever : moved_ns_ + stalled_ns_;
    }
    [[nodiscard]] const OutputQueue& queue() const noexcept { return queue_; }
    /// Number of resets of the store when the queued messages got their numbers.
    [[nodiscard]] std::uint64_t resets() const noexcept { return resets_seen_; }
    /// Called when an action ended with an exception, possibly within `flush`.
    void abandon_flush() noexcept { flushing_ = false; }
    /// tap: may be null.
    void set_tap(WireTap* tap) noexcept { tap_ = tap; }

private:
    static constexpr std::size_t kWriteAtOnce = 16;  // maximum number of messages that wait for the end of an action

    void make_durable() noexcept;
    [[nodiscard]] bool survive_reset();

    HostConnection* connection_;
    fix::MessageStore* store_;
    fix::FileStore* durable_;  // null: does not wait for the disk
    const std::string* name_;
    const core::Moment* stamp_;
    WireTap* tap_{nullptr};
    std::size_t pending_bytes_;
    std::int64_t stalled_ns_;
    OutputQueue queue_;
    bool flushing_{false};
    bool holding_{false};
    struct Sealed {
        std::uint64_t serial;
        std::size_t pieces;
    };
    std::vector<Sealed> sealed_;  // oldest first; empty unless there is a standby
    std::size_t sealed_pieces_{0};
    std::uint64_t resets_seen_{0};  // resets of the store when the first queued message was added
    std::int64_t moved_ns_{0};      // monotonic: when the socket last accepted bytes; 0: the queue is empty
};

inline bool OutputPath::add(std::uint64_t sequence, std::string_view bytes) {
    if (tap_ != nullptr) tap_->on_bytes(*name_, Direction::out, bytes, stamp_->utc_ns);
    if (sequence != 0 && durable_ != nullptr) make_durable();
    if (store_->counters().resets.read() != resets_seen_ && !survive_reset()) return false;
    if (!(sequence != 0 ? queue_.add_stored(sequence, bytes) : queue_.add_copy(bytes))) return false;
    if (holding_) [[unlikely]] {
        queue_.hold_newest();
    } else if (moved_ns_ == 0) {
        moved_ns_ = stamp_->monotonic_ns;
    }
    return true;
}

template <class Written>
void OutputPath::flush(Written&& written) {
    if (flushing_ || !connection_->is_open()) return;
    flushing_ = true;
    bool blocked = false;
    do {
        std::uint64_t last = 0;
        const auto before = queue_.bytes();
        if (!(*connection_)->send(queue_, [&](std::uint64_t sequence) { last = sequence; })) connection_->set_broken();
        blocked = queue_.is_ready();
        if (!blocked) {
            moved_ns_ = 0;
        } else if (queue_.bytes() != before) {
            moved_ns_ = stamp_->monotonic_ns;
        }
        if (last == 0) break;
        if (store_->counters().resets.read() == resets_seen_) store_->mark_written(last);
        written(last);
    } while (!blocked && !connection_->is_broken() && queue_.is_ready());  // the callback may have sent more
    flushing_ = false;
}

}  // namespace millpond::engine
