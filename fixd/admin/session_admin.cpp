#include "fixd/admin/session_admin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <stdexcept>

#include <millpond/core/json_string.hpp>
#include <millpond/fix/wire_bounds.hpp>

#include "fixd/admin/logout_reason.hpp"

namespace millpond::fixd {

using core::json_string;

namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr const char* kDone = "{\"done\":true}";

/// A request that cannot be answered; the message says why.
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

std::string list_entry(const engine::SessionStatus& status) {
    return fmt::format(
        "{{\"name\":{},\"role\":\"{}\",\"state\":{},\"enabled\":{},\"peer\":{},\"next_sender\":{},\"next_target\":{},"
        "\"received\":{},"
        "\"sent\":{},\"resent\":{},\"rejected\":{},\"pending_bytes\":{},\"history_lost\":{},\"history_lost_fills\":{},"
        "\"connections\":{},\"last_closed\":{},\"standby\":{},\"standby_behind\":{},\"standby_losses\":{},\"epoch\":{},"
        "\"connected_utc_ns\":{},\"last_received_utc_ns\":{},\"last_sent_utc_ns\":{}}}",
        json_string(status.name), status.role == fix::Role::acceptor ? "acceptor" : "initiator",
        json_string(engine::name(status.state)), status.enabled, json_string(status.peer), status.next_sender,
        status.next_target, status.received, status.sent, status.resent, status.rejected, status.pending_bytes,
        status.lost, status.lost_fills, status.connections, json_string(name(status.last_closed)),
        json_string(engine::name(status.standby.state)), status.standby.behind, status.standby.losses,
        status.standby.epoch, status.connected_utc_ns, status.last_received_utc_ns, status.last_sent_utc_ns);
}

/// A session that this engine is the standby of.
std::string list_entry(const engine::ReplicaStatus& replica) {
    return fmt::format(
        "{{\"name\":{},\"role\":\"standby\",\"state\":\"{}\",\"enabled\":true,\"peer\":{},\"next_sender\":{},"
        "\"next_target\":{},\"received\":{},\"sent\":0,\"epoch\":{},\"whole\":{},\"last_closed\":{},"
        "\"last_received_utc_ns\":{}}}",
        json_string(replica.name), replica.is_whole ? "standby" : "standby, gaps", json_string(replica.peer),
        replica.next_sender, replica.next_target, replica.records, replica.epoch, replica.is_whole,
        json_string(replica.error), replica.heard_utc_ns);
}

std::vector<engine::ReplicaStatus> waiting(const Administered& administered) {
    auto all = administered.replicas ? administered.replicas() : std::vector<engine::ReplicaStatus>{};
    std::erase_if(all, [](const auto& replica) { return replica.is_promoted; });
    return all;
}

std::string list(const Administered& administered) {
    std::string text;
    const auto add = [&](const std::string& one) { text += text.empty() ? one : "," + one; };
    for (const auto& session : administered.sessions()) add(list_entry(session->status()));
    for (const auto& replica : waiting(administered)) add(list_entry(replica));
    return "{\"sessions\":[" + text + "]}";
}

/// The name that equals `name`, with or without its BeginString; else the only one that contains it.
const std::string& name_like(std::string_view name, const std::vector<std::string>& names) {
    const auto only = [&](auto&& matches) {
        const std::string* found = nullptr;
        for (const auto& one : names) {
            if (!matches(std::string_view{one})) continue;
            if (found != nullptr && *found != one) {
                throw BadRequest(fmt::format("'{}' matches both '{}' and '{}'", name, *found, one));
            }
            found = &one;
        }
        return found;
    };
    const auto* found = only([&](auto one) { return one == name || one.substr(one.find(':') + 1) == name; });
    if (found == nullptr && !name.empty()) found = only([&](auto one) { return one.find(name) != one.npos; });
    if (found == nullptr) throw BadRequest(fmt::format("there is no session '{}'", name));
    return *found;
}

std::vector<std::string> names_of(const SessionList& sessions) {
    std::vector<std::string> names;
    for (const auto& session : sessions) names.push_back(session->name());
    return names;
}

SessionList::value_type session_of(const std::string& name, const SessionList& sessions) {
    const auto found = std::ranges::find(sessions, name, [](const auto& session) { return session->name(); });
    return found == sessions.end() ? nullptr : *found;
}

std::string not_here(const std::string& name) { return name + " does not run here: this engine is its standby"; }

engine::SessionHandle& session_named(std::string_view name, const Administered& administered,
                                     const SessionList& sessions) {
    auto names = names_of(sessions);
    for (const auto& replica : waiting(administered)) names.push_back(replica.name);
    const auto& found = name_like(name, names);
    const auto session = session_of(found, sessions);
    if (session == nullptr) throw BadRequest(not_here(found));
    return *session;
}

void note(const Administered& administered, const std::string& session, const std::string& text) {
    if (administered.acted) administered.acted(session, text);
}

/// Enables a session, also a template session that does not exist now.
void enable(std::string_view name, const Administered& administered, const SessionList& sessions) {
    auto names = names_of(sessions);
    const auto add = [&](std::string one) {
        if (std::ranges::find(names, one) == names.end()) names.push_back(std::move(one));
    };
    const auto replicas = waiting(administered);
    for (const auto& replica : replicas) add(replica.name);
    if (administered.disabled_names) std::ranges::for_each(administered.disabled_names(), add);
    const auto& found = name_like(name, names);
    const auto session = session_of(found, sessions);
    if (session == nullptr && std::ranges::find(replicas, found, &engine::ReplicaStatus::name) != replicas.end()) {
        throw BadRequest(not_here(found));
    }
    if (administered.disabled) administered.disabled(found, false);
    if (session != nullptr) session->request_logon();
    note(administered, found, "enabled");
}

/// The promoted sessions, and the errors.
std::string promoted_json(const std::vector<std::string>& names, const std::string& errors,
                          const Administered& administered) {
    std::string list;
    for (const auto& session : administered.sessions()) {
        const auto status = session->status();
        if (std::ranges::find(names, status.name) == names.end()) continue;
        list +=
            fmt::format("{}{{\"name\":{},\"epoch\":{},\"next_sender\":{},\"next_target\":{}}}", list.empty() ? "" : ",",
                        json_string(status.name), status.standby.epoch, status.next_sender, status.next_target);
    }
    const auto outcome = errors.empty() ? std::string{"\"done\":true"} : "\"error\":" + json_string(errors);
    return "{" + outcome + ",\"promoted\":[" + list + "]}";
}

/// Promotes SESSION, or with * every session that waits or that another machine has taken over.
std::string promote(std::string_view name, std::string_view how, const Administered& administered) {
    if (how != "-" && how != "force") throw BadRequest(fmt::format("promote: - or force, found '{}'", how));
    if (!administered.promote) throw BadRequest("nothing can be promoted here");
    std::vector<std::string> names;
    for (const auto& replica : waiting(administered)) names.push_back(replica.name);
    for (const auto& session : administered.sessions()) {
        const bool is_superseded = session->status().standby.state == engine::StandbyStatus::State::superseded;
        if (name != "*" || is_superseded) names.push_back(session->name());
    }
    if (name != "*") names = {name_like(name, names)};
    std::string errors;
    std::erase_if(names, [&](const std::string& one) {
        const auto error = administered.promote(one, how == "force");
        if (error.empty()) note(administered, one, how == "force" ? "promoted by force" : "promoted");
        if (!error.empty()) errors += (errors.empty() ? "" : "; ") + error;
        return !error.empty();
    });
    return promoted_json(names, errors, administered);
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

struct Verb {
    std::string_view name;
    std::vector<std::string_view> fields;
};

/// Throws BadRequest if a field is missing, which it names, or if there are too many.
void check_fields(const std::vector<std::string_view>& request) {
    static const std::vector<Verb> verbs{{"list", {}},
                                         {"logout", {"SESSION", "REASON"}},
                                         {"promote", {"SESSION", "-|force"}},
                                         {"logon", {"SESSION"}},
                                         {"reload", {}},
                                         {"reset", {"SESSION"}},
                                         {"set-seq", {"SESSION", "NEXT_SENDER", "NEXT_TARGET"}}};
    const auto verb = std::ranges::find(verbs, request[0], &Verb::name);
    if (verb == verbs.end()) throw BadRequest(fmt::format("unknown request '{}'", request[0]));
    const auto given = request.size() - 1;
    if (given < verb->fields.size()) {
        throw BadRequest(fmt::format("{}: {} is missing", verb->name, verb->fields[given]));
    }
    if (given > verb->fields.size()) {
        throw BadRequest(fmt::format("{}: {} fields, expected {}", verb->name, given, verb->fields.size()));
    }
}

void set_numbers(engine::SessionHandle& session, std::string_view sender, std::string_view target) {
    const auto next_sender = number_of(sender);
    const auto next_target = number_of(target);
    // Shared with the I/O thread, which may answer after the timeout.
    const auto outcome = std::make_shared<std::promise<bool>>();
    auto known = outcome->get_future();
    session.request_numbers(next_sender, next_target, [outcome](bool done) { outcome->set_value(done); });
    if (known.wait_for(kPatience) != std::future_status::ready) throw BadRequest("the I/O thread does not respond");
    bool done = false;
    try {
        done = known.get();
    } catch (const std::future_error&) {
        throw BadRequest("the session was removed");
    }
    if (!done) throw BadRequest("the session is connected: log it out first");
}

}  // namespace

std::string fault_of_reason(std::string_view reason) {
    if (reason.empty()) return "the reason is empty";
    if (reason.size() > fix::Session::kMaxReasonBytes) {
        return fmt::format("the reason has {} bytes, at most {} are sent", reason.size(),
                           fix::Session::kMaxReasonBytes);
    }
    for (std::size_t i = 0; i < reason.size(); ++i) {
        const auto byte = static_cast<unsigned char>(reason[i]);
        if (byte >= ' ' && byte != 0x7f) continue;
        return fmt::format("the reason has the control character 0x{:02x} at position {}", byte, i + 1);
    }
    return {};
}

std::string answer_admin(std::string_view request, const Administered& administered) {
    const auto fields = fields_of(request);
    const auto verb = fields[0];
    try {
        check_fields(fields);
        if (verb == "list") return list(administered);
        if (verb == "promote") return promote(fields[1], fields[2], administered);
        if (verb == "reload") {
            const auto result = administered.reload();
            if (!result) throw BadRequest("no result of the reload yet; see the log");
            return service::json_of(*result);
        }
        const auto sessions = administered.sessions();
        if (verb == "logon") {
            enable(fields[1], administered, sessions);
            return kDone;
        }
        auto& session = session_named(fields[1], administered, sessions);
        if (verb == "logout") {
            if (const auto fault = fault_of_reason(fields[2]); !fault.empty()) throw BadRequest(fault);
            if (administered.disabled) administered.disabled(session.name(), true);
            session.request_logout(std::string{fields[2]});
            note(administered, session.name(), fmt::format("disabled: {}", fields[2]));
        } else if (verb == "reset") {
            session.request_reset();
            note(administered, session.name(), "reset requested");
        } else {
            set_numbers(session, fields[2], fields[3]);
            const auto shown = [](std::string_view number) { return number == "-" ? "unchanged" : number; };
            note(administered, session.name(),
                 fmt::format("numbers set: next out {}, next in {}", shown(fields[2]), shown(fields[3])));
        }
    } catch (const BadRequest& error) {
        return "{\"error\":" + json_string(error.what()) + "}";
    }
    return kDone;
}

}  // namespace millpond::fixd
