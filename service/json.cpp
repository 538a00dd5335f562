#include "service/json.hpp"

#include <fmt/format.h>
#include <json/reader.h>

#include <memory>
#include <string>

namespace millpond::service {
namespace {

/// Formats the first error: "* Line 1, Column 5
///   Missing ',' ...
/// " becomes "line 1, column 5: Missing ',' ...".
std::string first_of(const std::string& errors) {
    const auto line = errors.find("Line ");
    const auto comma = errors.find(", Column ");
    const auto end = errors.find('\n');
    if (line == std::string::npos || comma == std::string::npos || end == std::string::npos) return errors;
    const auto text = errors.find_first_not_of(' ', end + 1);
    return fmt::format("line {}, column {}: {}", errors.substr(line + 5, comma - line - 5),
                       errors.substr(comma + 9, end - comma - 9),
                       text == std::string::npos ? "" : errors.substr(text, errors.find('\n', text) - text));
}

}  // namespace

Json::Value parse_json(std::string_view text, int deepest) {
    Json::CharReaderBuilder builder;
    Json::CharReaderBuilder::strictMode(&builder.settings_);
    builder["stackLimit"] = deepest;
    const std::unique_ptr<Json::CharReader> reader{builder.newCharReader()};
    Json::Value value;
    std::string errors;
    bool good = false;
    try {
        good = reader->parse(text.data(), text.data() + text.size(), &value, &errors);
    } catch (const Json::Exception&) {
        throw JsonError(fmt::format("it is nested more than {} levels deep", deepest));
    }
    if (!good) throw JsonError(first_of(errors));
    return value;
}

const Json::Value& member(const Json::Value& object, std::string_view key) {
    const auto* found = object.isObject() ? object.find(key.data(), key.data() + key.size()) : nullptr;
    if (found == nullptr) throw JsonError(fmt::format("it has no '{}'", key));
    return *found;
}

}  // namespace millpond::service
