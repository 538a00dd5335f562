#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <millpond/fix/tag.hpp>

namespace millpond::fix::detail {

/// What the fields of the last message of a type looked like, in their order, so that the next one's tags are compared
/// instead of found. A guess only: every byte of a tag is compared before it is believed.
class FieldLayout {
public:
    static constexpr std::size_t kCapacity = 192;  ///< Fields remembered; those behind them are parsed afresh.
    static constexpr std::size_t kNone = kCapacity;

    /// "tag=" as the eight bytes of a little-endian word, with the bytes that count.
    struct Entry {
        std::uint64_t text{0};
        std::uint64_t mask{0};
        Tag tag{tag::kInvalid};
        Tag data_tag{0};         ///< Not 0: this field tells the length of that data field.
        std::uint8_t length{0};  ///< Bytes of text; 0 where the tag was too long to be remembered.
    };

    [[nodiscard]] std::uint32_t msg_type() const noexcept { return msg_type_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const Entry& entry(std::size_t index) const noexcept { return entries_[index]; }

    /// Index of the tag's first field; kNone when it is not remembered.
    [[nodiscard]] std::size_t index_of(Tag tag) const noexcept {
        const std::size_t index = first_[tag % kSlots];
        return index < size_ && entries_[index].tag == tag ? index : kNone;
    }

    void clear(std::uint32_t msg_type) noexcept {
        msg_type_ = msg_type;
        size_ = 0;
        misses_ = 0;
        first_.fill(static_cast<std::uint8_t>(kNone));
    }

    /// False when it is full.
    bool add(const Entry& entry) noexcept {
        if (size_ == kCapacity) return false;
        auto& first = first_[entry.tag % kSlots];
        if (first == kNone) first = static_cast<std::uint8_t>(size_);
        entries_[size_++] = entry;
        return true;
    }

    /// Counts messages in a row that had another layout.
    [[nodiscard]] unsigned missed() noexcept { return ++misses_; }
    void matched() noexcept { misses_ = 0; }

private:
    static constexpr std::size_t kSlots = 256;
    static_assert(kNone < 256);

    std::uint32_t msg_type_{0};
    unsigned misses_{0};
    std::size_t size_{0};
    std::array<std::uint8_t, kSlots> first_{};  // by tag modulo kSlots: index of the first entry that fell there
    std::array<Entry, kCapacity> entries_{};
};

}  // namespace millpond::fix::detail
