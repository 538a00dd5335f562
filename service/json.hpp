#pragma once

#include <json/value.h>

#include <stdexcept>
#include <string_view>

namespace millpond::service {

/// An error in a JSON text ("line 1, column 5: ..."), or a missing member.
class JsonError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Parses an object or a list (RFC 8259 without duplicate keys and comments; a number may begin with zeros). Throws
/// JsonError, also for trailing bytes and for more than `deepest` levels. The readers of a value, such as asDouble,
/// throw Json::Exception if it has another type.
[[nodiscard]] Json::Value parse_json(std::string_view text, int deepest = 64);

/// Returns a member of an object. Throws JsonError if there is no such member, or if `object` is not an object.
[[nodiscard]] const Json::Value& member(const Json::Value& object, std::string_view key);

}  // namespace millpond::service
