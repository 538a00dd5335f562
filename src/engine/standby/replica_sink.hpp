#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <millpond/fix/file_store.hpp>

#include "src/engine/io/output_queue.hpp"
#include "src/engine/standby/replication_frames.hpp"

namespace millpond::engine {

/// The standby's side of a replication: writes the primary's messages into the replica's store and acknowledges them.
/// Uses no socket.
///
/// Threads: one. Memory: none.
class ReplicaSink {
public:
    /// store: must outlive it. max_message: maximum message size of the session.
    ReplicaSink(fix::FileStore& store, std::size_t max_message) noexcept : store_(&store), max_message_(max_message) {}

    /// Makes the store a replica. Returns false if it was promoted and no other machine has taken over since.
    [[nodiscard]] static bool attach(fix::FileStore& store) noexcept;
    /// Takes over: drops messages that were received without the Progress that completes them, and starts the next
    /// epoch, which is on disk when this returns. A promoted store may be promoted again.
    static void promote(fix::FileStore& store) noexcept;

    /// Answers a Hello for this session with a valid token. Returns false after a refusal: it is in `output`, and
    /// failure() has the reason.
    [[nodiscard]] bool greet(const replication::Hello& hello, OutputQueue& output);
    /// Handles the primary's frames and acknowledges them; returns the number of consumed bytes. After a fault,
    /// `output` has the refusal and failure() the reason.
    [[nodiscard]] std::size_t receive(std::span<const std::byte> bytes, OutputQueue& output);

    /// Reason why the connection must end; empty: it continues.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    /// Reason code of the failure.
    [[nodiscard]] replication::Reason reason() const noexcept { return reason_; }
    /// Whether everything that the primary had when it connected was received.
    [[nodiscard]] bool is_filled() const noexcept { return is_filled_; }
    [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
    /// Messages of the last epoch that the new primary does not have, dropped since the last call.
    [[nodiscard]] std::uint64_t consume_dropped() noexcept { return std::exchange(dropped_, 0); }

private:
    struct Fault {
        replication::Reason reason;
        std::string text;
    };
    using Applied = std::optional<Fault>;

    [[nodiscard]] Applied apply(const replication::Frame& frame);
    [[nodiscard]] Applied apply(const replication::Begin& begin);
    [[nodiscard]] Applied apply(const replication::Record& record);
    [[nodiscard]] Applied apply(const replication::Reset& reset);
    [[nodiscard]] Applied apply(const replication::Progress& progress);
    void refuse(const Fault& fault, OutputQueue& output);

    fix::FileStore* store_;
    std::size_t max_message_;
    std::string failure_;
    replication::Reason reason_{replication::Reason::protocol};
    std::uint64_t lineage_{0};  // lineage of the primary's store
    bool has_begun_{false};
    bool is_filled_{false};
    std::uint64_t acked_{0};
    std::uint64_t to_ack_{0};
    std::uint64_t records_{0};
    std::uint64_t dropped_{0};
};

}  // namespace millpond::engine
