#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/session_handle.hpp>
#include <millpond/engine/wire_tap.hpp>
#include <millpond/fix/application_version.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/session.hpp>
#include <millpond/metrics/registry.hpp>

namespace millpond::engine {

class CopyQueue;

/// Mirrors messages of other sessions to one session, the target, which has its own store and numbers. A source's I/O
/// thread only copies a message into a ring; the target's encodes it with the target's header. While the target is not
/// logged on, its copies get their numbers and stay in its store, and its counterparty requests them after its next
/// Logon. A source never waits for the target.
///
/// A copy has the body of the original, and in its header PossResend(97) of the original, ApplVerID(1128) where its
/// version is not the target's, and the source's counterparty in OnBehalfOfCompID(115) and OnBehalfOfSubID(116).
/// CopyMsgIndicator(797) = Y is added if the target's dictionary has it in the message, or without a dictionary to an
/// ExecutionReport from FIX 4.4 on. Other header fields and signatures are left out.
///
/// With `file` the rings are in files: the next process sends the copies that wait when a process ends or is killed.
/// The first copy of such a file may be in the target's store already, so it has PossResend.
///
/// offered + recovered = mirrored + queue_full + store_full + not_encoded + wrong_version + abandoned + waiting
///
/// Threads: offer, offer_sent and offer_received on the thread of their producer; attach and detach on one thread at a
///          time, not in callbacks of the target; the rest on any.
/// Memory:  a ring for each producer, in the constructor, and the rings of earlier processes; a parser and a sender, in
///          `attach`.
class DropCopy {
public:
    struct Options {
        std::string name{};                  ///< Label of the drop copy's metrics.
        std::size_t producers{1};            ///< Number of I/O threads of sources.
        std::size_t queue_bytes{4U << 20U};  ///< Bytes per producer, a power of two. A copy is at most a quarter of it.
        /// Path of the queues FILE.1, FILE.2 and so on; each is removed once it is empty and unused. Empty: in memory.
        std::filesystem::path file{};
        std::uint32_t file_mode{0640};
    };
    /// The dictionaries for the target's messages.
    struct Terms {
        const fix::Dictionary* dictionary{
            nullptr};  ///< Dictionary of the target's usual application version; may be null.
        /// Dictionaries of the sources, for header and data fields outside the standard. Only read during `attach`.
        std::vector<const fix::Dictionary*> sources{};
    };

    /// Throws std::invalid_argument if a size is not a power of two, memory::RegionError if a file cannot be used.
    explicit DropCopy(Options options);
    /// Detaches. Waiting copies are lost, or stay in their files.
    ~DropCopy();
    DropCopy(const DropCopy&) = delete;
    DropCopy& operator=(const DropCopy&) = delete;

    /// Copies `message` into the ring. version: used if it has no ApplVerID(1128). Returns false, and counts the loss,
    /// if the ring is full.
    bool offer(std::size_t producer, Direction direction, fix::ApplicationVersion version,
               std::string_view message) noexcept;
    /// Copies a message that a session has sent, or received in sequence; see offer.
    bool offer_sent(std::size_t producer, const fix::Session& source, std::string_view message) noexcept;
    bool offer_received(std::size_t producer, const fix::Session& source, const fix::Message& message) noexcept;

    /// Sends copies to this session: first those in files that no other process uses, then those that wait. The session
    /// must exist until `detach`.
    void attach(SessionHandle& target, const Terms& terms);
    /// Stops sending; later copies wait for the next session.
    void detach() noexcept;
    [[nodiscard]] bool is_attached() const noexcept { return io_.load(std::memory_order_relaxed) != nullptr; }

    /// Files with this name that cannot be used, with the reason, as of the last `attach` and on its thread. They are
    /// not removed.
    [[nodiscard]] const std::vector<std::string>& unusable() const noexcept { return unusable_; }
    /// Detaches and drops all waiting copies, also those in files.
    void discard() noexcept;
    [[nodiscard]] bool is_in_file() const noexcept { return !options_.file.empty(); }

    /// Snapshot of the counters.
    struct Status {
        std::uint64_t offered{0};
        std::uint64_t recovered{0};      ///< Copies found in the files of an earlier process.
        std::uint64_t mirrored{0};       ///< Copies with a number, in the target's store.
        std::uint64_t queue_full{0};     ///< Lost: the ring was full.
        std::uint64_t store_full{0};     ///< Lost: the ring was full because the target's store refuses more.
        std::uint64_t not_encoded{0};    ///< Lost: too long for the target, or unreadable.
        std::uint64_t wrong_version{0};  ///< Lost: the target does not carry the message's version.
        std::uint64_t abandoned{0};      ///< Lost: the engine ended before the target's store had them.
        std::uint64_t waiting{0};
        std::uint64_t unusable{0};  ///< Files of an earlier process that cannot be used.
        /// Lost: mirrored copies that were not sent to the counterparty when the target's numbers were reset.
        std::uint64_t discarded{0};
        /// Lost: copies that the counterparty requested when they were no longer in the store.
        std::uint64_t overwritten{0};
        [[nodiscard]] std::uint64_t lost() const noexcept {
            return queue_full + store_full + not_encoded + wrong_version + abandoned + discarded + overwritten;
        }
    };
    [[nodiscard]] Status status() const noexcept;
    [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
    /// Adds the counters to the registry; the label `drop_copy` is the name.
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;

private:
    class Pump;
    struct Producer;
    /// Written on the target's I/O thread.
    struct Counters {
        core::Tally mirrored;
        core::Tally not_encoded;
        core::Tally wrong_version;
        core::Tally abandoned;
        core::Tally discarded;
        core::Tally overwritten;
        core::Tally unsent;  // mirrored, and not sent to the counterparty since it was last logged on
    };

    void wake() noexcept;
    void adopt_files();
    void forget_empty_files() noexcept;

    Options options_;
    std::vector<std::unique_ptr<Producer>> producers_;
    mutable std::mutex left_lock_;                  // protects the two lists, which change only while there is no pump
    std::vector<std::unique_ptr<CopyQueue>> left_;  // queues of earlier processes, oldest first
    std::vector<std::string> unusable_;
    core::Tally recovered_;
    Counters counters_;
    std::uint64_t last_unsent_{0};            // the newest number of the unsent copies; used by the target's thread
    std::uint64_t resets_seen_{0};            // resets of the target's store at that time
    std::atomic<bool> store_is_full_{false};  // last state seen by the target's thread
    std::atomic<IoThread*> io_{nullptr};      // I/O thread of the target
    std::atomic<std::size_t> slot_{0};        // slot on that thread
    std::unique_ptr<Pump> pump_;
};

}  // namespace millpond::engine
