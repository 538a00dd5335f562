#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace millpond::fix {

/// Holds out-of-order messages until the missing ones before them arrive. Bounded in number and bytes; messages that do
/// not fit are dropped and arrive again with the pending resend.
///
/// Threads: one. Memory: allocated once in the constructor.
class HeldMessages {
public:
    HeldMessages(std::size_t messages, std::size_t bytes) : entries_(messages), bytes_(bytes) {}

    /// Stores a copy of the message. Returns false if the memory is full, or another number occupies the slot.
    [[nodiscard]] bool hold(std::uint64_t sequence, std::string_view message) noexcept {
        if (entries_.empty() || message.size() > bytes_.size() - used_) return false;
        auto& entry = entries_[sequence % entries_.size()];
        if (entry.sequence != 0) return entry.sequence == sequence;
        std::memcpy(bytes_.data() + used_, message.data(), message.size());
        entry = {.sequence = sequence, .offset = used_, .length = message.size()};
        used_ += message.size();
        ++count_;
        return true;
    }

    /// Removes and returns the message with this number; its bytes stay valid until the next `hold`.
    [[nodiscard]] std::optional<std::string_view> extract(std::uint64_t sequence) noexcept {
        if (entries_.empty()) return std::nullopt;
        auto& entry = entries_[sequence % entries_.size()];
        if (entry.sequence != sequence || sequence == 0) return std::nullopt;
        const std::string_view message{bytes_.data() + entry.offset, entry.length};
        drop(entry);
        return message;
    }

    /// Drops messages with lower numbers.
    void forget_below(std::uint64_t sequence) noexcept {
        if (count_ == 0) return;
        for (auto& entry : entries_) {
            if (entry.sequence != 0 && entry.sequence < sequence) drop(entry);
        }
    }

    void clear() noexcept { forget_below(UINT64_MAX); }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    struct Entry {
        std::uint64_t sequence{0};  // 0: free
        std::size_t offset{0};
        std::size_t length{0};
    };

    void drop(Entry& entry) noexcept {
        entry.sequence = 0;
        if (--count_ == 0) used_ = 0;
    }

    std::vector<Entry> entries_;  // by sequence number modulo their count
    std::vector<char> bytes_;
    std::size_t used_{0};
    std::size_t count_{0};
};

}  // namespace millpond::fix
