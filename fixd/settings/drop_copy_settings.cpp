#include "fixd/settings/drop_copy_settings.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/fix/msg_type.hpp>

#include "service/settings/key_of.hpp"
#include "service/settings/schema.hpp"

namespace millpond::fixd {
namespace {

using settings::Key;
using settings::Value;
using DropCopyKey = settings::KeyOf<DropCopyConfig>;

/// Reads `types`; refuses session messages, which belong to their session.
std::vector<std::string> copied_types_of(const Value& value) {
    auto types = value.list();
    for (const auto& type : types) {
        if (fix::is_session_message(type)) value.fail("types of application messages", "'" + type + "'");
    }
    return types;
}

constexpr Key<DropCopyConfig> kDropCopyKeys[] = {
    DropCopyKey::text<&DropCopyConfig::target>("target", "SENDER->TARGET",
                                               "Session that gets the copies; no session that is copied."),
    DropCopyKey::list<&DropCopyConfig::sources>(
        "sources", "SENDER->TARGET+...", "Sessions whose messages are copied; * for all but those that get copies."),
    {"types", "MSGTYPE+...", "Message types to copy, sent or received; * for all application messages.",
     [](DropCopyConfig& c, const Value& v) { c.types = copied_types_of(v); },
     [](const DropCopyConfig& c) { return fmt::format("{}", fmt::join(c.types, ",")); }},
    DropCopyKey::removed("queue_bytes", "64 MiB for each I/O thread, or more for long messages"),
};

}  // namespace
}  // namespace millpond::fixd

namespace millpond::settings {

using namespace fixd;

// clang-format off
template <> std::string_view Schema<DropCopyConfig>::name() { return "drop_copy"; }
template <> std::span<const Key<DropCopyConfig>> Schema<DropCopyConfig>::keys() { return kDropCopyKeys; }
// clang-format on

}  // namespace millpond::settings
