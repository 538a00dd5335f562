#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/message.hpp>

namespace millpond::fixd {

/// Dictionaries for writing a message as JSON.
struct JsonNames {
    const fix::Dictionary* session;      ///< Header, trailer and session messages.
    const fix::Dictionary* application;  ///< Null if there is none.
    std::function<std::string_view(fix::Tag)>
        field_name{};  ///< Returns an empty string for an unknown field: its tag is the name.
};

/// A message in the JSON encoding of FIX: `{"Header":{...},"Body":{...},"Trailer":{...}}` on one line. Every value is a
/// string, bytes that are not UTF-8 as Latin-1. A repeating group is an array of objects with the name of the field
/// that counts them; a field that repeats outside of a known group is an array of its values. BodyLength and CheckSum,
/// which belong to the other encoding, are left out.
///
/// Source: FIX Trading Community, Encoding FIX using JSON, User Guide, version 1.0 release candidate 1.
[[nodiscard]] std::string json_of(const fix::Message& message, const JsonNames& names);

}  // namespace millpond::fixd
