#include "fixd/settings/session_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/fix/admin_draft.hpp>
#include <millpond/fix/value.hpp>

namespace millpond::fixd {
namespace {

using settings::Value;

constexpr fix::Tag kNoMsgTypes = 384;

/// `{ file = "..." }` or `{ env = "..." }`.
service::TokenSource secret_of(const Value& value) {
    service::TokenSource source;
    for (const auto& [key, place] : value.table()) {
        auto* const target = key == "file" ? &source.file : key == "env" ? &source.environment : nullptr;
        if (target == nullptr) value.fail("{ file = \"...\" } or { env = \"...\" }", fmt::format("'{}'", key));
        *target = place.text();
        if (target->empty()) place.fail("the source of a secret", "an empty string");
    }
    if (source.file.empty() == source.environment.empty()) {
        value.fail("{ file = \"...\" } or { env = \"...\" }", source.empty() ? "neither" : "both");
    }
    return source;
}

/// Reads a table of fields by tag. check: returns the expectation that a tag does not meet, or an empty string.
std::vector<FieldSetting> fields_of(const Value& value, std::string_view (*check)(fix::Tag)) {
    std::vector<FieldSetting> fields;
    for (const auto& [key, entry] : value.table()) {
        const auto tag = tag_of(key);
        if (tag == fix::tag::kInvalid) entry.fail(fmt::format("a tag from 1 to {} as its name", fix::kMaxTag), key);
        if (const auto wrong = check(tag); !wrong.empty()) entry.fail(wrong, key);
        auto& field = fields.emplace_back(FieldSetting{.tag = tag, .where = entry.where()});
        if (entry.is_table()) {
            field.secret = secret_of(entry);
            continue;
        }
        field.value = entry.field_text();
        const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
        if (field.value.empty()) entry.fail("a value", "an empty string");
        if (std::ranges::any_of(field.value, is_control)) entry.fail("no control characters", "one");
    }
    if (fields.size() > fix::AdminDraft::kMaxFields / 2) {
        value.fail(fmt::format("at most {} fields", fix::AdminDraft::kMaxFields / 2), fmt::format("{}", fields.size()));
    }
    return fields;
}

std::optional<fix::ApplicationVersion> version_named(std::string_view name) {
    const auto* const known = std::ranges::find(kVersions, name, [](const auto& one) { return one.first; });
    return known == kVersions.end() ? std::nullopt : std::optional{known->second};
}

std::string_view wrong_in_logon(fix::Tag tag) {
    switch (tag) {
        case fix::tag::kHeartBtInt: return "the key heartbeat_seconds instead";
        case fix::tag::kResetSeqNumFlag: return "the key reset_on_logon instead";
        case fix::tag::kNextExpectedMsgSeqNum: return "the key send_next_expected instead";
        case fix::tag::kDefaultApplVerId: return "the key version instead";
        case kNoMsgTypes:
        case fix::tag::kRefMsgType: return "the key logon_types instead";
        default: break;
    }
    if (fix::AdminDraft::may_set(tag)) return {};
    return "a field that the session does not write itself, and the data field instead of its length";
}

std::string_view wrong_in_header(fix::Tag tag) {
    return fix::AdminDraft::is_header_field(tag) ? "" : "one of 50, 57, 115, 116, 128, 129, 142, 143, 144 and 145";
}

}  // namespace

fix::Tag tag_of(std::string_view text) noexcept {
    const auto number = text.starts_with('0') ? std::nullopt : fix::parse_unsigned(text);
    return number && *number <= fix::kMaxTag ? static_cast<fix::Tag>(*number) : fix::tag::kInvalid;
}

std::int64_t time_of_day(const Value& value) {
    const auto text = value.text();
    const auto part = [&](std::size_t at, int max) {
        int number = -1;
        const auto* const begin = text.data() + at;
        const auto [end, error] = std::from_chars(begin, begin + 2, number);
        if (error != std::errc{} || end != begin + 2 || number < 0 || number > max) {
            value.fail("a time of day like 08:30 or 08:30:15", "'" + text + "'");
        }
        return number;
    };
    const bool has_shape =
        (text.size() == 5 || text.size() == 8) && text[2] == ':' && (text.size() == 5 || text[5] == ':');
    if (!has_shape) value.fail("a time of day like 08:30 or 08:30:15", "'" + text + "'");
    return part(0, 23) * 3600 + part(3, 59) * 60 + (text.size() == 8 ? part(6, 59) : 0);
}

std::vector<FurtherVersion> further_versions_of(const Value& value) {
    std::vector<FurtherVersion> versions;
    for (const auto& text : value.list()) {
        const auto equals = std::min(text.find('='), text.size());
        const std::string_view name{text.data(), equals};
        const auto version = version_named(name);
        if (!version) {
            value.fail("FIX.4.0 to FIX.5.0SP2 or FIX.Latest, with =FILE for its own dictionary file", "'" + text + "'");
        }
        if (equals + 1 == text.size()) value.fail("a file after the '='", "'" + text + "'");
        versions.push_back({*version, text.substr(std::min(equals + 1, text.size()))});
    }
    return versions;
}

std::string further_versions_text(const SessionSettings& settings) {
    std::string text;
    for (const auto& [version, dictionary] : settings.further_versions) {
        text += text.empty() ? "" : ",";
        text += fix::name(version);
        if (!dictionary.empty()) text += "=" + dictionary;
    }
    return text;
}

std::vector<fix::LogonMessageType> logon_types_of(const Value& value) {
    constexpr std::string_view kExpected =
        "send:MSGTYPE or receive:MSGTYPE, followed by =VERSION, and by :default where messages without "
        "ApplVerID have it";
    std::vector<fix::LogonMessageType> types;
    for (const auto& text : value.list()) {
        fix::LogonMessageType one;
        std::string_view rest{text};
        const auto colon = rest.find(':');
        one.sends = rest.starts_with("send:");
        if (!one.sends && !rest.starts_with("receive:")) value.fail(kExpected, "'" + text + "'");
        rest.remove_prefix(colon + 1);
        const auto equals = std::min(rest.find('='), rest.size());
        const bool has_version = equals < rest.size();
        one.type = rest.substr(0, equals);
        rest.remove_prefix(std::min(equals + 1, rest.size()));
        constexpr std::string_view kDefault = ":default";
        one.is_default = rest.ends_with(kDefault);
        if (one.is_default) rest.remove_suffix(kDefault.size());
        one.version = version_named(rest);
        if (one.type.empty() || one.type.find(':') != std::string::npos || has_version != one.version.has_value()) {
            value.fail(kExpected, "'" + text + "'");
        }
        types.push_back(std::move(one));
    }
    return types;
}

std::string logon_types_text(const SessionSettings& settings) {
    std::string text;
    for (const auto& one : settings.config.logon_types) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", one.sends ? "send" : "receive", one.type);
        if (!one.version) continue;
        text += "=";
        text += fix::name(*one.version);
        if (one.is_default) text += ":default";
    }
    return text;
}

std::vector<FieldSetting> logon_fields_of(const Value& value) { return fields_of(value, wrong_in_logon); }

std::vector<FieldSetting> header_fields_of(const Value& value) { return fields_of(value, wrong_in_header); }

}  // namespace millpond::fixd
