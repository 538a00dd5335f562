#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millpond::fix {

/// Form of a field's value. Types of the standard with the same form share an enumerator.
///
/// Source: FIX 5.0 SP2, volume 1, "Data types"; the names are those of QuickFIX's dictionaries.
enum class FieldType : std::uint8_t {
    text,           ///< Any characters except the delimiter.
    character,      ///< One character.
    boolean,        ///< Y or N.
    integer,        ///< Optional '-' and digits.
    count,          ///< Digits: sequence numbers.
    group_count,    ///< Digits: number of instances of a repeating group that follow.
    decimal,        ///< Optional '-', digits, at most one point: prices, quantities, amounts, percentages.
    multiple,       ///< Values of the field's list, separated by spaces.
    utc_timestamp,  ///< YYYYMMDD-HH:MM:SS[.fraction]
    utc_time,       ///< HH:MM:SS[.fraction]
    utc_date,       ///< YYYYMMDD
    local_date,     ///< YYYYMMDD
    data,           ///< Any bytes; preceded by a length field.
    length,         ///< Digits: size of a data field, or of a message.
};

/// Parses a type's name in a dictionary ("PRICE", "MONTH-YEAR", "String"); nullopt if there is no such type.
[[nodiscard]] std::optional<FieldType> field_type_named(std::string_view name) noexcept;

[[nodiscard]] std::string_view name(FieldType type) noexcept;

/// Whether a non-empty value has the type's form, even if its number or date is outside the range of value.hpp and
/// utc_time.hpp. Counts must be in range, since the session computes with them.
[[nodiscard]] bool well_formed(FieldType type, std::string_view value) noexcept;

}  // namespace millpond::fix
