#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <millpond/fix/tag.hpp>

namespace millpond::fix::detail {

/// Hash table from tag to its first position in a message's list of fields, indexed by the tag modulo the number of
/// slots. If tags share a slot, the slot has the first of them.
class FieldIndex {
public:
    static constexpr std::uint32_t kNone = 0xFFFF;
    static constexpr std::size_t kMaxFields = kNone;

    /// Removes all entries.
    void clear() noexcept {
        if (++epoch_ == kEpochs) {
            slots_.fill(0);
            epoch_ = 1;
        }
    }
    /// index: below kMaxFields, in ascending order.
    void add(Tag tag, std::uint32_t index) noexcept {
        auto& slot = slots_[tag % kSlots];
        slot = (slot >> kIndexBits) == epoch_ ? slot : (epoch_ << kIndexBits) | index;
    }
    /// Index of the first field in the tag's slot; kNone if no field with this tag was added.
    [[nodiscard]] std::uint32_t candidate(Tag tag) const noexcept {
        const auto slot = slots_[tag % kSlots];
        return (slot >> kIndexBits) == epoch_ ? slot & kNone : kNone;
    }

private:
    static constexpr std::size_t kSlots = 512;
    static constexpr unsigned kIndexBits = 16;
    static constexpr std::uint32_t kEpochs = 1U << 16U;

    std::uint32_t epoch_{1};
    std::array<std::uint32_t, kSlots> slots_{};  // epoch of the entry, then the index
};

}  // namespace millpond::fix::detail
