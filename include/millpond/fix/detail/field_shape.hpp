#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <millpond/fix/detail/patience.hpp>
#include <millpond/fix/detail/words.hpp>
#include <millpond/fix/field_access.hpp>

namespace millpond::fix::detail {

/// Bytes of the last message of a layout. A message with the same tags, '=' and delimiters at the same positions,
/// because its values have the same widths, has the same fields. The shape is only a prediction: all of these bytes are
/// compared, and no other byte may be a delimiter.
class FieldShape {
public:
    static constexpr std::size_t kBytes = 1536;    ///< Messages with a longer body are not cached.
    static constexpr std::size_t kCapacity = 192;  ///< Messages with more fields are not cached.

    /// Length of the cached body; 0: nothing is cached.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// The cached body. The mask is 255 for bytes that must be equal, and 0 for others.
    [[nodiscard]] const char* text() const noexcept { return text_.data(); }
    [[nodiscard]] const char* mask() const noexcept { return mask_.data(); }
    /// Fields of the cached message, CheckSum last. Its body began at body_offset().
    [[nodiscard]] const Field* fields() const noexcept { return fields_.data(); }
    [[nodiscard]] std::uint32_t body_offset() const noexcept { return body_offset_; }

    /// Whether a message with this body may have this shape: the same fields, or fewer. Compares one position only.
    [[nodiscard]] bool may_fit(const char* body, std::size_t size) const noexcept {
        if (size > size_ || text_[size - 1] != '\x01' || size < 8) return false;
        const auto middle = (size - 8) / 2;
        return ((load_word(body + middle) ^ load_word(text() + middle)) & load_word(mask() + middle)) == 0;
    }
    /// Number of fields of a body of this size; 0 unless a field ends there.
    [[nodiscard]] std::size_t fields_before(std::size_t size) const noexcept {
        if (size == size_) return count_ - 1;
        const auto* end = std::partition_point(
            fields_.data(), fields_.data() + count_,
            [end_of_body = body_offset_ + size](const Field& f) { return f.offset < end_of_body; });
        return static_cast<std::size_t>(end - fields_.data());
    }

    void clear() noexcept { size_ = count_ = 0; }
    /// Caches a message: its fields, CheckSum last, and the offset of its body.
    void remember(const char* message, std::uint32_t body_offset, std::span<const Field> fields) noexcept {
        const std::size_t size = fields.back().offset - 3 - body_offset;
        if (size > kBytes || fields.size() > kCapacity) return;
        size_ = size;
        count_ = fields.size();
        body_offset_ = body_offset;
        std::memcpy(text_.data(), message + body_offset, size);
        std::memset(mask_.data(), 0xFF, size);
        for (const auto& field : fields.subspan(2, count_ - 3)) {
            std::memset(mask_.data() + (field.offset - body_offset), 0, field.length);
        }
        std::ranges::copy(fields, fields_.begin());
    }

    [[nodiscard]] Patience& patience() noexcept { return patience_; }

private:
    std::size_t size_{0};
    std::size_t count_{0};
    std::uint32_t body_offset_{0};
    Patience patience_;
    std::array<char, kBytes> text_{};
    std::array<char, kBytes> mask_{};
    std::array<Field, kCapacity> fields_{};
};

}  // namespace millpond::fix::detail
