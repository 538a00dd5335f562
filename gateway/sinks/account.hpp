#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include <millpond/queue/sequenced_words.hpp>

namespace millpond::gateway {

/// The events published since a consumer joined:
/// published = delivered + filtered + conflated + missed + queued.
struct Account {
    std::uint64_t published{0};
    std::uint64_t delivered{0};  ///< Handed to the file, the socket or the client.
    std::uint64_t filtered{0};   ///< Of a kind or an instrument that the consumer does not take.
    std::uint64_t conflated{0};  ///< Replaced by a newer quote of the same instrument before it went out.
    std::uint64_t missed{0};     ///< Overwritten before the consumer read them.
    std::uint64_t queued{0};     ///< In the ring, or held by the consumer.
    std::uint64_t snapshot{0};  ///< Quotes and states of the board that were passed on at joining: not part of the sum.

    [[nodiscard]] constexpr bool closes() const noexcept {
        return published == delivered + filtered + conflated + missed + queued;
    }
    friend constexpr bool operator==(const Account&, const Account&) noexcept = default;
};

/// A record, such as an Account, that one thread writes as a whole and any thread reads as a whole.
///
/// Threads: write on the owner's thread, read on any; a read repeats while a write is going on.
template <class Record>
class Shared {
public:
    void write(const Record& record) noexcept {
        queue::mark_writing(sequence_, ++writes_);
        queue::store_words(words_.data(), record);
        queue::mark_complete(sequence_, writes_);
    }

    /// All zero before the first write.
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

using SharedAccount = Shared<Account>;

}  // namespace millpond::gateway
