#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <millpond/fix/tag.hpp>

namespace millpond::fix::detail {

/// Direct-mapped cache of parsed tags: a known text is compared instead of parsed.
class TagCache {
public:
    static constexpr std::uint32_t kMaxLength = 7;  ///< Maximum characters of a text.

    /// Key of a text: its characters in the highest bytes, zeros below; longer texts have no valid key.
    [[nodiscard]] static std::uint64_t key_of(std::uint64_t word, std::uint32_t length) noexcept {
        return word << ((64 - 8 * length) & 63U);
    }
    /// Returns tag::kInvalid if the text is not cached.
    [[nodiscard]] Tag find(std::uint64_t key, std::uint32_t length) const noexcept {
        const auto& entry = entries_[place(key)];
        return entry.key == key && entry.length == length ? entry.tag : tag::kInvalid;
    }
    void add(std::uint64_t key, std::uint32_t length, Tag tag) noexcept { entries_[place(key)] = {key, length, tag}; }

private:
    struct Entry {
        std::uint64_t key{0};
        std::uint32_t length{0};
        Tag tag{tag::kInvalid};
    };
    static constexpr unsigned kBits = 8;
    [[nodiscard]] static std::size_t place(std::uint64_t key) noexcept {
        return (key * 0x9E3779B97F4A7C15ULL) >> (64 - kBits);
    }

    std::array<Entry, std::size_t{1} << kBits> entries_{};
};

}  // namespace millpond::fix::detail
