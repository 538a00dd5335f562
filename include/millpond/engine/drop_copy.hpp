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
/// thread only copies a message into a ring; the target's encodes it with the target's header. While the target
/// is not logged on, its copies get their numbers and stay in its store: its counterparty asks for them at its next
/// logon. Whatever the target does, a source waits for nothing.
///
/// A copy has the body of the original, and in its header PossResend(97) of the original, ApplVerID(1128) where its
/// version is not the target's own, and the source's counterparty in OnBehalfOfCompID(115) and OnBehalfOfSubID(116).
/// CopyMsgIndicator(797) = Y is added where the target's dictionary has it in the message, or without a dictionary to
/// an ExecutionReport from FIX 4.4 on. Other header fields and signatures are left out.
///
/// With `file` the rings are in files, and what waits there when the process ends, or is killed, goes to the target in
/// the next one. The first copy that comes out of such a file may be in the target's store already: it has PossResend.
///
/// offered + recovered = mirrored + queue_full + store_full + not_encoded + wrong_version + abandoned + waiting
///
/// Threads: offer, offer_sent and offer_received on the thread of their producer's number; attach and detach on one
///          thread at a time, none of the target's callbacks; the rest on any.
/// Memory:  a ring for each producer, in the constructor, and those that were left; a parser and what a sender takes,
///          in `attach`.
class DropCopy {
public:
    struct Options {
        std::string name{};                  ///< In metrics.
        std::size_t producers{1};            ///< I/O threads of sources.
        std::size_t queue_bytes{4U << 20U};  ///< For each of them: a power of two. A copy takes a quarter at most.
        /// FILE.1, FILE.2 and so on are the queues; each is removed when it is empty and not used any more. Empty: they
        /// are in memory.
        std::filesystem::path file{};
        std::uint32_t file_mode{0640};
    };
    /// How the target reads what it is sent.
    struct Terms {
        const fix::Dictionary* dictionary{nullptr};  ///< Of its usual application version; null: none.
        /// Of the sources: their header and data fields, besides those of the standard. Only read during `attach`.
        std::vector<const fix::Dictionary*> sources{};
    };

    /// Throws std::invalid_argument: a size that is no power of two; memory::RegionError: a file cannot be had.
    explicit DropCopy(Options options);
    /// Detaches. What still waits is lost, or stays in its files.
    ~DropCopy();
    DropCopy(const DropCopy&) = delete;
    DropCopy& operator=(const DropCopy&) = delete;

    /// Takes a copy of `message`, whose version counts where it has no ApplVerID(1128). False, and counted: there is no
    /// room.
    bool offer(std::size_t producer, Direction direction, fix::ApplicationVersion version,
               std::string_view message) noexcept;
    /// The same for a message that a session has sent, or taken in its turn.
    bool offer_sent(std::size_t producer, const fix::Session& source, std::string_view message) noexcept;
    bool offer_received(std::size_t producer, const fix::Session& source, const fix::Message& message) noexcept;

    /// From now on copies go to this session, those that wait first, and in front of them those in files that no other
    /// process uses. It must be there until `detach`.
    void attach(SessionHandle& target, const Terms& terms);
    /// Copies wait for the next session. Copies whose connection ends now are in the store.
    void detach() noexcept;
    [[nodiscard]] bool is_attached() const noexcept { return io_.load(std::memory_order_relaxed) != nullptr; }

    /// Files of that name that cannot be used, as they were found last, with the reason. They stay. On the thread of
    /// attach.
    [[nodiscard]] const std::vector<std::string>& unusable() const noexcept { return unusable_; }
    /// What waits is lost, in files too.
    void discard() noexcept;
    [[nodiscard]] bool is_in_file() const noexcept { return !options_.file.empty(); }

    /// A moment's account.
    struct Status {
        std::uint64_t offered{0};
        std::uint64_t recovered{0};      ///< From the files of an earlier process.
        std::uint64_t mirrored{0};       ///< They have a number and lie in the target's store.
        std::uint64_t queue_full{0};     ///< Lost: the ring was full.
        std::uint64_t store_full{0};     ///< Lost: the ring was full because the target's store refuses more.
        std::uint64_t not_encoded{0};    ///< Lost: too long for the target, or unreadable.
        std::uint64_t wrong_version{0};  ///< Lost: the target does not carry the message's version.
        std::uint64_t abandoned{0};      ///< Lost: the engine ended before the target's store took them.
        std::uint64_t waiting{0};
        std::uint64_t unusable{0};  ///< Files of an earlier process that cannot be used: what is in them is unknown.
        /// Of the mirrored, those that the counterparty had not been sent when the target's numbers were reset: lost.
        std::uint64_t discarded{0};
        /// Of the numbers in the store, those that the counterparty asked for when they were no longer there: lost.
        std::uint64_t overwritten{0};
        [[nodiscard]] std::uint64_t lost() const noexcept {
            return queue_full + store_full + not_encoded + wrong_version + abandoned + discarded + overwritten;
        }
    };
    [[nodiscard]] Status status() const noexcept;
    [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
    /// The label `drop_copy` is its name.
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
    void take_over_files();
    void forget_empty_files() noexcept;

    Options options_;
    std::vector<std::unique_ptr<Producer>> producers_;
    mutable std::mutex left_lock_;                  // of the two lists, which change while there is no pump only
    std::vector<std::unique_ptr<CopyQueue>> left_;  // by earlier processes, the oldest first
    std::vector<std::string> unusable_;
    core::Tally recovered_;
    Counters counters_;
    std::uint64_t last_unsent_{0};            // the newest number of those; of the target's thread
    std::uint64_t resets_seen_{0};            // of the target's store, then
    std::atomic<bool> store_is_full_{false};  // as the target's thread saw it last
    std::atomic<IoThread*> io_{nullptr};      // of the target
    std::atomic<std::size_t> slot_{0};        // there
    std::unique_ptr<Pump> pump_;
};

}  // namespace millpond::engine
