#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <millpond/fix/tag.hpp>

namespace millpond::fix {

/// Pairs of data fields, which may hold any byte, the delimiter included, and the length fields before them.
///
/// Threads: a value; built at start-up, then only read.
class DataFields {
public:
    static constexpr std::size_t kCapacity = 256;

    /// An empty table.
    constexpr DataFields() noexcept = default;

    /// The pairs of FIX 4.0 to 5.0 SP2.
    [[nodiscard]] static constexpr DataFields standard() noexcept;

    /// False if the table is full.
    constexpr bool add(Tag length_tag, Tag data_tag) noexcept {
        if (data_of(length_tag) == data_tag) return true;
        if (count_ == kCapacity || length_tag == 0 || data_tag == 0) return false;
        pairs_[count_++] = {length_tag, data_tag};
        hints_[length_tag % kHints] = true;
        return true;
    }

    /// Adds the pairs of `other`, up to the capacity.
    constexpr void add(const DataFields& other) noexcept {
        for (std::size_t i = 0; i < other.count_; ++i) add(other.pairs_[i].length_tag, other.pairs_[i].data_tag);
    }

    /// Fast check: false if the tag is not a length field, true if it may be one.
    [[nodiscard]] constexpr bool may_announce(Tag tag) const noexcept { return hints_[tag % kHints]; }
    /// Data field of the length field `length_tag`; 0 for other tags.
    [[nodiscard]] constexpr Tag data_of(Tag length_tag) const noexcept {
        if (!hints_[length_tag % kHints]) return 0;
        for (std::size_t i = 0; i < count_; ++i) {
            if (pairs_[i].length_tag == length_tag) return pairs_[i].data_tag;
        }
        return 0;
    }

    /// Length field of the data field `data_tag`; 0 for other tags. Linear in the pairs.
    [[nodiscard]] constexpr Tag length_of(Tag data_tag) const noexcept {
        for (std::size_t i = 0; i < count_; ++i) {
            if (pairs_[i].data_tag == data_tag) return pairs_[i].length_tag;
        }
        return 0;
    }

private:
    struct Pair {
        Tag length_tag{0};
        Tag data_tag{0};
    };
    static constexpr std::size_t kHints = 1024;

    std::array<Pair, kCapacity> pairs_{};
    std::size_t count_{0};
    std::array<bool, kHints> hints_{};  // by tag modulo kHints: may be a length field
};

constexpr DataFields DataFields::standard() noexcept {
    DataFields fields;
    constexpr Pair kPairs[] = {
        {90, 91},     {93, 89},     {95, 96},     {212, 213},   {348, 349},   {350, 351},   {352, 353},   {354, 355},
        {356, 357},   {358, 359},   {360, 361},   {362, 363},   {364, 365},   {445, 446},   {618, 619},   {621, 622},
        {1184, 1185}, {1277, 1278}, {1280, 1281}, {1282, 1283}, {1397, 1398}, {1401, 1402}, {1403, 1404}, {1468, 1469},
    };
    for (const auto& pair : kPairs) fields.add(pair.length_tag, pair.data_tag);
    return fields;
}

}  // namespace millpond::fix
