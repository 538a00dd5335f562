#pragma once

#include <string_view>

#include <millpond/fix/tag.hpp>

/// Names for printing messages without a dictionary.
namespace millpond::fixd {

/// The field's name, for common fields of orders, executions and market data; otherwise empty.
[[nodiscard]] std::string_view common_field_name(fix::Tag tag) noexcept;

/// Name of the type of an application message; empty if unknown.
[[nodiscard]] std::string_view common_message_name(std::string_view type) noexcept;

/// Meaning of a value of an enumerated field; empty if unknown.
[[nodiscard]] std::string_view common_value_name(fix::Tag tag, std::string_view value) noexcept;

}  // namespace millpond::fixd
