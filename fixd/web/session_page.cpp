#include "fixd/web/session_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <ranges>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <millpond/core/json_string.hpp>
#include <millpond/fix/file_store.hpp>

#include "fixd/messages/recent_messages.hpp"
#include "fixd/print/fix_printer.hpp"

namespace millpond::fixd {
namespace {

using core::json_string;

std::string or_null(std::int64_t utc_ns) { return utc_ns == 0 ? "null" : fmt::format("{}", utc_ns); }

std::string text_or_null(std::string_view text) { return text.empty() ? "null" : json_string(text); }

/// "08:30:00"
std::string time_json(const std::optional<std::int64_t>& second_of_day) {
    if (!second_of_day) return "null";
    constexpr std::int64_t kMinute = 60;
    constexpr std::int64_t kHour = 3'600;
    const auto second = *second_of_day;
    return fmt::format(R"("{:02}:{:02}:{:02}")", second / kHour, second / kMinute % kMinute, second % kMinute);
}

std::string schedule_json(const SessionSettings& settings) {
    if (!settings.start) return "null";
    return fmt::format(R"({{"start":{},"end":{},"days":{},"start_day":{},"end_day":{},"timezone":{}}})",
                       time_json(settings.start), time_json(settings.end), text_or_null(settings.days),
                       text_or_null(settings.start_day), text_or_null(settings.end_day),
                       json_string(settings.timezone));
}

/// Size of all files of a store, which grow and shrink meanwhile.
std::uint64_t bytes_of(const std::filesystem::path& store) {
    std::uint64_t bytes = 0;
    for (const auto number : fix::FileStore::segment_numbers(store)) {
        std::error_code error;
        const auto size = std::filesystem::file_size(fix::FileStore::segment_path(store, number), error);
        if (!error) bytes += size;
    }
    return bytes;
}

std::string store_json(const SessionDetails& details) {
    const bool in_memory = details.store.empty();
    return fmt::format(R"({{"file":{},"bytes":{},"keep_bytes":{}}})", text_or_null(details.store.string()),
                       in_memory ? details.settings.memory_bytes : bytes_of(details.store),
                       in_memory ? details.settings.memory_bytes : details.settings.store.bytes);
}

std::string json_of(const SessionRecord::Occurrences& all) {
    return fmt::format(R"({{"count":{},"newest":{},"newest_at":{}}})", all.count, text_or_null(all.newest),
                       or_null(all.newest_utc_ns));
}

std::string json_of(const SessionRecord::Rejection& rejection) {
    return fmt::format(R"({{"reason":{},"messages":{},"first":{},"last":{},"newest":{}}})",
                       json_string(rejection.reason), rejection.messages, or_null(rejection.first_utc_ns),
                       or_null(rejection.last_utc_ns), json_string(rejection.newest));
}

std::vector<RecentMessage> messages_of(std::string_view session, const SessionDetails& details,
                                       const std::filesystem::path& raw_log, std::size_t limit) {
    if (!raw_log.empty()) return recent_in_raw_log(raw_log, session, limit);
    return details.store.empty() ? std::vector<RecentMessage>{} : recent_in_store(details.store, limit);
}

}  // namespace

http::Page session_page(const SessionReport& session, const SessionDetails& details) {
    const auto& settings = details.settings;
    const auto& status = session.status;
    auto body = fmt::format(
        R"({{"session":{},"template":{},"schedule":{},"heartbeat_seconds":{},"connects_to":[{}],"acceptor":{},)"
        R"("store":{},"gaps":{},"resends":{{"resent":{},"lost":{},"lost_fills":{},"beyond":{}}},"garbled":{},)"
        R"("rejected":[{}],"peer_rejects":{}}})",
        session_json(session), is_template(settings), schedule_json(settings), settings.config.heartbeat_seconds,
        fmt::join(settings.hosts | std::views::transform([](const auto& host) { return json_string(host); }), ","),
        settings.hosts.empty() ? json_string(settings.acceptor) : "null", store_json(details), json_of(session.gaps),
        status.resent, status.lost, status.lost_fills, status.beyond, status.garbled,
        fmt::join(session.rejections | std::views::transform([](const auto& one) { return json_of(one); }), ","),
        json_of(session.peer_rejects));
    return {.type = "application/json", .body = std::move(body += "\n")};
}

http::Page messages_page(std::string_view session, const SessionDetails& details, const std::filesystem::path& raw_log,
                         std::size_t limit) {
    const auto* const source = !raw_log.empty() ? "raw_log" : details.store.empty() ? "none" : "store";
    std::vector<RecentMessage> messages;
    try {
        messages = messages_of(session, details, raw_log, limit);
    } catch (const std::exception& error) {
        return {.type = "text/plain", .body = fmt::format("{}\n", error.what()), .status = 503};
    }
    FixPrinter printer{FixPrinter::Form::decoded, details.printed, details.secrets};
    std::vector<std::string> texts;
    for (const auto& message : messages) {
        texts.push_back(fmt::format(R"({{"time":{},"direction":"{}","message":{}}})",
                                    or_null(message.utc_ns.value_or(0)), message.direction == '<' ? "in" : "out",
                                    printer.text(message.bytes)));
    }
    return {.type = "application/json",
            .body = fmt::format(R"({{"source":"{}","messages":[{}]}})"
                                "\n",
                                source, fmt::join(texts | std::views::reverse, ","))};
}

}  // namespace millpond::fixd
