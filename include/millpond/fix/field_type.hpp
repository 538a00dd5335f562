#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millpond::fix {

/// What form a field's value has. Types of the standard that share a form share an enumerator.
///
/// Source: FIX 5.0 SP2, volume 1, "Data types"; the names are those of QuickFIX's dictionaries.
enum class FieldType : std::uint8_t {
    text,           ///< Any characters but the delimiter.
    character,      ///< One character.
    boolean,        ///< Y or N.
    integer,        ///< Optional '-' and digits.
    count,          ///< Digits: sequence numbers, lengths.
    group_count,    ///< Digits; so many instances of a repeating group follow.
    decimal,        ///< Optional '-', digits, at most one point: prices, quantities, amounts, percentages.
    multiple,       ///< Values of the field's list with a space between them.
    utc_timestamp,  ///< YYYYMMDD-HH:MM:SS[.fraction]
    utc_time,       ///< HH:MM:SS[.fraction]
    utc_date,       ///< YYYYMMDD
    local_date,     ///< YYYYMMDD
    data,           ///< Any bytes; a length field precedes it.
};

/// The type of a name as dictionaries write it ("PRICE", "UTCTIMESTAMP", ...); nothing when there is no such type.
[[nodiscard]] std::optional<FieldType> field_type_named(std::string_view name) noexcept;

[[nodiscard]] std::string_view name(FieldType type) noexcept;

/// Whether a value that is not empty has the type's form.
[[nodiscard]] bool well_formed(FieldType type, std::string_view value) noexcept;

}  // namespace millpond::fix
