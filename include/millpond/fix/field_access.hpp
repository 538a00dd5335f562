#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <millpond/fix/detail/words.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/fix/value.hpp>

namespace millpond::fix {

/// Location of a field in its message.
struct Field {
    Tag tag{tag::kInvalid};
    std::uint32_t offset{0};  ///< Offset of the value's first byte.
    std::uint32_t length{0};  ///< Length of the value.
};

/// Typed access to fields by tag, for types with find(tag) and value(field): messages and instances of groups.
template <class Fields>
class FieldAccess {
public:
    [[nodiscard]] bool has(Tag tag) const noexcept { return fields().find(tag) != nullptr; }

    /// The typed getters return the first value of the tag; nullopt if the tag is absent or, except for text, its value
    /// is malformed.
    [[nodiscard]] std::optional<std::string_view> text(Tag tag) const noexcept {
        const auto* field = fields().find(tag);
        if (field == nullptr) return std::nullopt;
        return fields().value(*field);
    }
    [[nodiscard]] std::optional<std::int64_t> integer(Tag tag) const noexcept {
        const auto* field = fields().find(tag);
        if (field == nullptr) return std::nullopt;
        if (in_a_word(*field)) {
            bool ok = false;
            const auto value = detail::digits_before(end_of(*field), field->length, ok);
            if (ok) [[likely]]
                return value;
        }
        return parse_int(fields().value(*field));
    }
    [[nodiscard]] std::optional<std::uint64_t> unsigned_integer(Tag tag) const noexcept {
        const auto* field = fields().find(tag);
        if (field == nullptr) return std::nullopt;
        if (in_a_word(*field)) {
            bool ok = false;
            const auto value = detail::digits_before(end_of(*field), field->length, ok);
            if (ok) [[likely]]
                return value;
        }
        return parse_unsigned(fields().value(*field));
    }
    [[nodiscard]] std::optional<Decimal> decimal(Tag tag) const noexcept {
        const auto* field = fields().find(tag);
        if (field == nullptr) return std::nullopt;
        if (in_a_word(*field)) {
            bool ok = false;
            const auto value = detail::decimal_before(end_of(*field), field->length, ok);
            if (ok) [[likely]]
                return Decimal{value.digits, value.decimals};
        }
        return parse_decimal(fields().value(*field));
    }
    [[nodiscard]] std::optional<char> character(Tag tag) const noexcept { return read<parse_char>(tag); }
    [[nodiscard]] std::optional<bool> boolean(Tag tag) const noexcept { return read<parse_bool>(tag); }
    [[nodiscard]] std::optional<std::int64_t> utc_timestamp_ns(Tag tag) const noexcept {
        return read<parse_utc_timestamp>(tag);
    }
    /// Nanoseconds since midnight.
    [[nodiscard]] std::optional<std::int64_t> utc_time_ns(Tag tag) const noexcept { return read<parse_utc_time>(tag); }
    /// Midnight of the date.
    [[nodiscard]] std::optional<std::int64_t> utc_date_ns(Tag tag) const noexcept { return read<parse_utc_date>(tag); }

private:
    friend Fields;
    FieldAccess() noexcept = default;

    /// Whether the value is short, and eight bytes before its end belong to the message.
    [[nodiscard]] static bool in_a_word(const Field& field) noexcept {
        return field.length - 1U < 8U && field.offset >= 8U;
    }
    [[nodiscard]] const char* end_of(const Field& field) const noexcept {
        return fields().value(field).data() + field.length;
    }
    [[nodiscard]] const Fields& fields() const noexcept { return static_cast<const Fields&>(*this); }

    template <auto parse>
    [[nodiscard]] auto read(Tag tag) const noexcept -> decltype(parse({})) {
        const auto* field = fields().find(tag);
        if (field == nullptr) return std::nullopt;
        return parse(fields().value(*field));
    }
};

}  // namespace millpond::fix
