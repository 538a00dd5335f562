#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <millpond/fix/detail/field_index.hpp>
#include <millpond/fix/detail/field_shape.hpp>
#include <millpond/fix/detail/patience.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fix::detail {

/// Tags of the last message of a type, in order: the tags of the next message are compared instead of parsed. The
/// layout is only a prediction: every byte of a tag is compared before it is used.
class FieldLayout {
public:
    static constexpr std::size_t kCapacity =
        FieldShape::kCapacity;  ///< Maximum number of fields; messages with more are not cached.

    /// "tag=" as the eight bytes of a little-endian word, with a mask of its bytes.
    struct Entry {
        std::uint64_t text{0};
        std::uint64_t mask{0};
        Tag tag{tag::kInvalid};
        std::uint32_t length{0};  ///< Length of the text.
    };

    [[nodiscard]] std::uint32_t msg_type() const noexcept { return msg_type_; }
    /// 0: nothing is cached.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const Entry* entries() const noexcept { return entries_.data(); }
    [[nodiscard]] const FieldIndex& index() const noexcept { return index_; }

    void begin_type(std::uint32_t msg_type) noexcept {
        msg_type_ = msg_type;
        patience_.matched();
        clear();
    }
    void clear() noexcept {
        size_ = 0;
        index_.clear();
        shape_.clear();
    }
    /// Adds a tag. Requires fewer than kCapacity fields.
    void add(const Entry& entry) noexcept {
        index_.add(entry.tag, static_cast<std::uint32_t>(size_));
        entries_[size_++] = entry;
    }

    [[nodiscard]] Patience& patience() noexcept { return patience_; }
    [[nodiscard]] FieldShape& shape() noexcept { return shape_; }

private:
    std::uint32_t msg_type_{0};
    Patience patience_;
    std::size_t size_{0};
    FieldIndex index_;
    FieldShape shape_;
    std::array<Entry, kCapacity> entries_{};
};

}  // namespace millpond::fix::detail
