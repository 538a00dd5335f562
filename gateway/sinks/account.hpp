#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include <millpond/queue/sequenced_words.hpp>

namespace millpond::gateway {

/// Counts of events since a consumer joined: published = delivered + filtered + conflated + missed + queued.
struct Account {
    std::uint64_t published{0};
    std::uint64_t delivered{0};  ///< Passed to the file, the socket or the client.
    std::uint64_t filtered{0};   ///< Events of a kind or instrument that the consumer excludes.
    std::uint64_t conflated{
        0};                     ///< Quotes and levels replaced by newer ones of their instrument before they were sent.
    std::uint64_t missed{0};    ///< Overwritten before the consumer read them, or part of `refused`.
    std::uint64_t queued{0};    ///< Waiting in the ring or in the consumer.
    std::uint64_t refused{0};   ///< Refused by the receiver, or of a group that was cut; a part of `missed`.
    std::uint64_t snapshot{0};  ///< Quotes and states of the board passed on at joining; not part of the sum.

    [[nodiscard]] constexpr bool closes() const noexcept {
        return published == delivered + filtered + conflated + missed + queued;
    }
    friend constexpr bool operator==(const Account&, const Account&) noexcept = default;
};

/// A record, such as an Account, that one thread writes and any thread reads consistently (seqlock).
///
/// Threads: write on one thread, read on any; a read repeats during a write.
template <class Record>
class SharedRecord {
public:
    void write(const Record& record) noexcept {
        queue::mark_writing(sequence_, ++writes_);
        queue::store_words(words_.data(), record);
        queue::mark_complete(sequence_, writes_);
    }

    /// Returns the record; all zero before the first write.
    [[nodiscard]] Record read() const noexcept {
        for (Record record;; std::this_thread::yield()) {
            const auto mark = sequence_.load(std::memory_order_acquire);  // sync "n complete": mark_complete
            if (mark == 0) return record;
            if (!queue::is_complete(mark)) continue;
            queue::load_words(words_.data(), record);
            if (queue::still_marked(sequence_, mark)) return record;
        }
    }

private:
    queue::Word sequence_{0};
    std::array<queue::Word, sizeof(Record) / sizeof(queue::Word)> words_{};
    std::uint64_t writes_{0};
};

using SharedAccount = SharedRecord<Account>;

}  // namespace millpond::gateway
