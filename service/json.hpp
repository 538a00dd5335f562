#pragma once

#include <json/value.h>

#include <stdexcept>
#include <string_view>

namespace millpond::service {

/// What is wrong with a text in JSON: "line 1, column 5: ...", or which member is not there.
class JsonError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The object or list that the text is, and nothing behind it (RFC 8259; no key twice, no comments; a number may begin
/// with zeros). Throws JsonError, also where it is nested more than `deepest` levels deep. A value's own readers, such
/// as asDouble, throw Json::Exception where it is of another type.
[[nodiscard]] Json::Value parse_json(std::string_view text, int deepest = 64);

/// A member of an object. Throws JsonError where the object has none of that name, or is no object.
[[nodiscard]] const Json::Value& member(const Json::Value& object, std::string_view key);

}  // namespace millpond::service
