#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <millpond/fix/detail/field_index.hpp>
#include <millpond/fix/field_access.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fix {

/// A parsed message: a view of the received bytes and of the parser's list of fields, in the order of the wire,
/// BeginString first and CheckSum last. Nothing is copied.
///
/// Threads: those of a view. Valid until the bytes change or the parser parses again.
class Message : public FieldAccess<Message> {
public:
    Message() noexcept = default;
    Message(std::string_view bytes, std::span<const Field> fields, const detail::FieldIndex* index) noexcept
        : bytes_(bytes), fields_(fields), index_(index) {}

    [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::span<const Field> fields() const noexcept { return fields_; }
    [[nodiscard]] std::string_view value(const Field& field) const noexcept {
        return {bytes_.data() + field.offset, field.length};
    }
    [[nodiscard]] std::string_view begin_string() const noexcept { return value(fields_[0]); }
    [[nodiscard]] std::string_view msg_type() const noexcept { return value(fields_[2]); }

    /// First field with this tag; null if there is none. O(1), except for tags that differ by a multiple of 512 and
    /// messages of more than 65534 fields: then linear in the fields.
    [[nodiscard]] const Field* find(Tag tag) const noexcept;

    /// The field's tag as text, to reject an invalid tag.
    [[nodiscard]] std::string_view tag_text(const Field& field) const noexcept;

private:
    std::string_view bytes_;
    std::span<const Field> fields_;
    const detail::FieldIndex* index_{nullptr};
};

inline const Field* Message::find(Tag tag) const noexcept {
    if (index_ != nullptr) {
        const auto index = index_->candidate(tag);
        if (index == detail::FieldIndex::kNone) return nullptr;
        // At or beyond the end the index is that of a longer message with the same beginning.
        if (index < fields_.size() && fields_[index].tag == tag) return &fields_[index];
    }
    for (const auto& field : fields_) {
        if (field.tag == tag) return &field;
    }
    return nullptr;
}

inline std::string_view Message::tag_text(const Field& field) const noexcept {
    const std::size_t end = field.offset - 1;  // position of the '='
    const auto delimiter = bytes_.rfind('\x01', end);
    const auto begin = delimiter == std::string_view::npos ? 0 : delimiter + 1;
    return bytes_.substr(begin, end - begin);
}

}  // namespace millpond::fix
