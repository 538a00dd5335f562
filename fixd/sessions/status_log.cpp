#include "fixd/sessions/status_log.hpp"

#include <fmt/format.h>

#include <utility>

namespace millpond::fixd {

void StatusLog::update(const engine::SessionStatus& status, service::Log& log) {
    const auto grew = [](std::uint64_t& logged, std::uint64_t count) { return std::exchange(logged, count) != count; };
    const auto warn = [&](std::string_view key, const std::string& text) {
        log.say(service::Severity::warning, fmt::format("{}.{}", status.name, key),
                fmt::format("{}: {}", status.name, text));
    };
    if (grew(store_damaged_, status.store_damaged)) {
        warn("store damaged",
             fmt::format("messages in its store are damaged and will not be resent: millpond fix store "
                         "FILE --verify lists them (found since startup: {})",
                         status.store_damaged));
    }
    if (grew(store_failures_, status.store_failures)) {
        warn("store", fmt::format("the next file of its store cannot be prepared, so its oldest messages are removed: "
                                  "free space on the disk (attempts since startup: {})",
                                  status.store_failures));
    }
    if (grew(beyond_, status.beyond)) {
        warn("beyond",
             fmt::format("the counterparty asked for messages that were never sent, beyond {}: its numbers are "
                         "ahead of ours (ResendRequests since startup: {})",
                         status.next_sender - 1, status.beyond));
    }
    if (grew(garbled_, status.garbled)) {
        warn("garbled", fmt::format("ignored bytes that are no message: a wrong BodyLength or CheckSum (since startup: "
                                    "{})",
                                    status.garbled));
    }
    const auto& standby = status.standby;
    if (grew(standby_losses_, standby.losses)) {
        warn("standby",
             fmt::format("the standby is lost{}{}; the session {} (losses since startup: {})",
                         standby.error.empty() ? "" : ": ", standby.error,
                         standby.goes_on ? "continues without it" : "stops until it is back", standby.losses));
    }
}

}  // namespace millpond::fixd
