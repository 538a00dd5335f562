#include "fixd/session_admin.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <stdexcept>

#include <millpond/fix/wire_bounds.hpp>

namespace millpond::fixd {
namespace {

constexpr std::chrono::seconds kPatience{5};

/// A request that makes no sense.
class BadRequest : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

std::vector<std::string_view> fields_of(std::string_view request) {
    std::vector<std::string_view> fields;
    for (;;) {
        const auto tab = request.find('\t');
        fields.push_back(request.substr(0, tab));
        if (tab == std::string_view::npos) return fields;
        request.remove_prefix(tab + 1);
    }
}

std::string json_of(const engine::SessionStatus& status) {
    return fmt::format(
        "{{\"name\":{},\"role\":\"{}\",\"state\":{},\"peer\":{},\"next_sender\":{},\"next_target\":{},\"received\":{},"
        "\"sent\":{},\"resent\":{},\"rejected\":{},\"pending_bytes\":{},\"history_lost\":{},\"history_lost_fills\":{},"
        "\"connections\":{},\"last_closed\":{},"
        "\"connected_utc_ns\":{},\"last_received_utc_ns\":{},\"last_sent_utc_ns\":{}}}",
        json_string(status.name), status.role == fix::Role::acceptor ? "acceptor" : "initiator",
        json_string(engine::name(status.state)), json_string(status.peer), status.next_sender, status.next_target,
        status.received, status.sent, status.resent, status.rejected, status.pending_bytes, status.lost,
        status.lost_fills, status.connections, json_string(name(status.last_closed)), status.connected_utc_ns,
        status.last_received_utc_ns, status.last_sent_utc_ns);
}

std::string list(const SessionList& sessions) {
    std::string text;
    for (const auto& session : sessions) {
        if (!text.empty()) text += ',';
        text += json_of(session->status());
    }
    return "{\"sessions\":[" + text + "]}";
}

engine::SessionHandle& session_named(std::string_view name, const SessionList& sessions) {
    engine::SessionHandle* found = nullptr;
    for (const auto& session : sessions) {
        if (session->name() == name) return *session;
        if (session->name().find(name) == std::string::npos) continue;
        if (found != nullptr) {
            throw BadRequest(fmt::format("'{}' is a part of '{}' and '{}'", name, found->name(), session->name()));
        }
        found = session.get();
    }
    if (found == nullptr || name.empty()) throw BadRequest(fmt::format("there is no session '{}'", name));
    return *found;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
    if (text == "-") return std::nullopt;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number == 0 || number > fix::kMaxSequence) {
        throw BadRequest(fmt::format("a sequence number is from 1 to {}, found '{}'", fix::kMaxSequence, text));
    }
    return number;
}

void set_numbers(engine::SessionHandle& session, std::string_view sender, std::string_view target) {
    const auto next_sender = number_of(sender);
    const auto next_target = number_of(target);
    // The I/O thread keeps it alive when it answers too late.
    const auto outcome = std::make_shared<std::promise<bool>>();
    auto known = outcome->get_future();
    session.request_numbers(next_sender, next_target, [outcome](bool done) { outcome->set_value(done); });
    if (known.wait_for(kPatience) != std::future_status::ready) throw BadRequest("the I/O thread does not answer");
    if (!known.get()) throw BadRequest("the session is connected: log it out first");
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const auto byte : text) {
        if (byte == '"' || byte == '\\') {
            out += '\\';
            out += byte;
        } else if (static_cast<unsigned char>(byte) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
        } else {
            out += byte;
        }
    }
    return out + '"';
}

std::string answer_admin(std::string_view request, const SessionList& sessions) {
    const auto fields = fields_of(request);
    const auto verb = fields[0];
    try {
        if (verb == "list" && fields.size() == 1) return list(sessions);
        if (verb == "logout" && fields.size() == 3) {
            session_named(fields[1], sessions).request_logout(std::string{fields[2]});
        } else if (verb == "logon" && fields.size() == 2) {
            session_named(fields[1], sessions).request_logon();
        } else if (verb == "reset" && fields.size() == 2) {
            session_named(fields[1], sessions).request_reset();
        } else if (verb == "set-seq" && fields.size() == 4) {
            set_numbers(session_named(fields[1], sessions), fields[2], fields[3]);
        } else {
            throw BadRequest(fmt::format("unknown request '{}'", verb));
        }
    } catch (const BadRequest& error) {
        return "{\"error\":" + json_string(error.what()) + "}";
    }
    return "{\"done\":true}";
}

}  // namespace millpond::fixd
