#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <millpond/fix/file_store.hpp>

#include "output_queue.hpp"
#include "replication_frames.hpp"

namespace millpond::engine {

/// The standby's side of a replication: writes what the primary says into the replica's store, and acknowledges it.
/// Knows no socket.
///
/// Threads: one. Memory: none of its own.
class ReplicaSink {
public:
    /// store: outlives it. most_message: the longest message of the session.
    ReplicaSink(fix::FileStore& store, std::size_t most_message) noexcept
        : store_(&store), most_message_(most_message) {}

    /// Makes a replica of the store. False: it was promoted, and no other machine has taken over since.
    [[nodiscard]] static bool attach(fix::FileStore& store) noexcept;
    /// Takes over: drops what came without the number of what it answers, and begins the next epoch, which the disk has
    /// when this returns. Any store may be promoted again.
    static void promote(fix::FileStore& store) noexcept;

    /// Answers a Hello for this session whose token is right. False: `output` has the refusal, failure() the reason.
    [[nodiscard]] bool greet(const replication::Hello& hello, OutputQueue& output);
    /// Takes what the primary says and acknowledges it; gives the bytes that it is done with. After a fault, `output`
    /// has the refusal and failure() the reason.
    [[nodiscard]] std::size_t take(std::span<const std::byte> bytes, OutputQueue& output);

    /// Empty: the connection goes on.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
    /// Of the failure.
    [[nodiscard]] replication::Reason reason() const noexcept { return reason_; }
    /// Whether everything that the primary had when it connected has come.
    [[nodiscard]] bool is_filled() const noexcept { return is_filled_; }
    [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
    /// Messages of the last epoch that the new primary does not know, dropped since the last call.
    [[nodiscard]] std::uint64_t take_dropped() noexcept { return std::exchange(dropped_, 0); }

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
    std::size_t most_message_;
    std::string failure_;
    replication::Reason reason_{replication::Reason::protocol};
    std::uint64_t lineage_{0};  // the primary's
    bool has_begun_{false};
    bool is_filled_{false};
    std::uint64_t acked_{0};
    std::uint64_t to_ack_{0};
    std::uint64_t records_{0};
    std::uint64_t dropped_{0};
};

}  // namespace millpond::engine
