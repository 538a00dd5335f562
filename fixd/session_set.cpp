#include "fixd/session_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include <millpond/engine/tls.hpp>

namespace millpond::fixd {
namespace {

constexpr std::uint64_t kUsualMessageBytes = 256;
constexpr const char* kReason = "session is removed";  ///< Of the Logout; also where another takes its place.
constexpr std::chrono::seconds kBesidesLogout{1};      ///< For what goes on around a Logout's own timeout.
constexpr std::chrono::milliseconds kLookEvery{2};
constexpr std::chrono::seconds kLongestLook{6};  ///< Of a thread that answers a request about all sessions.

/// Without a file a restart forgets everything, and a busy day is more than the memory holds.
void say_what_is_kept(const SessionSettings& settings, service::Log& log) {
    if (!is_in_memory(settings)) return;
    const auto bytes = settings.store_bytes.value_or(kDefaultStoreBytes);
    log.say(
        service::Severity::info, fmt::format("{}->{}.memory", settings.sender, settings.target),
        fmt::format("{}->{}: no store file: about the newest {} messages of {} bytes can be resent (store_bytes {}), "
                    "and none after a restart",
                    settings.sender, settings.target, bytes / fix::StoreSegment::record_bytes(kUsualMessageBytes),
                    kUsualMessageBytes, bytes));
}

bool is_template(const SessionSettings& settings) { return settings.target == "*"; }

/// Whether both are the same session to a counterparty.
bool same_session(const SessionSettings& one, const SessionSettings& other) {
    return session_version(one.version) == session_version(other.version) && one.sender == other.sender &&
           one.target == other.target;
}

/// Whether they differ in nothing but `enabled`.
bool same_settings(const SessionSettings& one, SessionSettings other) {
    other.enabled = one.enabled;
    return one == other;
}

bool is_logged_on(const engine::SessionHandle& session) {
    const auto state = session.status().state;
    return state == fix::Session::State::active || state == fix::Session::State::awaiting_logout;
}

}  // namespace

SessionSet::SessionSet(Options options, Applications applications, service::Log& log)
    : options_(std::move(options)), applications_(std::move(applications)), log_(&log) {
    initiator_ = std::make_unique<engine::Initiator>(*options_.threads.front());
}

SessionSet::~SessionSet() {
    initiator_.reset();
    acceptors_.clear();
}

SessionSet::Prepared SessionSet::prepare(const SessionSettings& settings, std::size_t thread,
                                         const std::shared_ptr<Dictionaries>& dictionaries) const {
    Prepared prepared{.settings = settings,
                      .thread = settings.thread.value_or(thread % options_.threads.size()),
                      .dictionaries = dictionaries,
                      .options = session_options(settings, *dictionaries),
                      .initiator = {},
                      .takes_over = false};
    if (settings.hosts.empty()) {
        const auto* const logon = prepared.options.dictionary->message("A");
        const bool has_new_password = logon != nullptr && logon->fields.find(fix::tag::kNewPassword) != nullptr;
        prepared.options.guard =
            options_.authenticator->guard_of(settings, has_new_password || !settings.message_fields_are_known);
        return prepared;
    }
    prepared.initiator = initiator_options(settings);
    if (prepared.initiator->tls) engine::TlsContext{engine::TlsRole::client, *prepared.initiator->tls};
    return prepared;
}

std::unique_ptr<SessionSet::Opened> SessionSet::open_acceptor(const AcceptorConfig& config) const {
    auto opened =
        std::make_unique<Opened>(Opened{.config = config,
                                        .log = std::make_unique<AcceptorLog>(config.name, *log_, options_.quiet),
                                        .acceptor = {},
                                        .registrations = {}});
    engine::AllowList allowed;
    for (const auto& range : config.allow) allowed.add(range);
    engine::Acceptor::Options options{.address = config.listen.host(),
                                      .port = config.listen.port(),
                                      .max_connections = config.max_connections,
                                      .max_before_logon = config.max_before_logon,
                                      .max_before_logon_per_address = config.max_before_logon_per_address,
                                      .first_message_timeout = std::chrono::seconds{config.first_message_seconds},
                                      .allowed = allowed,
                                      .observer = opened->log.get()};
    if (!config.tls.certificate.empty()) options.tls = tls_options(config.tls);
    opened->acceptor = std::make_unique<engine::Acceptor>(*options_.threads.front(), options);
    opened->registrations = opened->acceptor->add_metrics(*options_.registry);
    return opened;
}

void SessionSet::add(Prepared prepared) {
    const auto& settings = prepared.settings;
    auto placed = std::make_unique<Placed>(Placed{.settings = settings,
                                                  .thread = prepared.thread,
                                                  .dictionaries = prepared.dictionaries,
                                                  .application = applications_(settings, prepared.options.application),
                                                  .log = {},
                                                  .acceptor = nullptr,
                                                  .session = {}});
    // Those by template run on their acceptor's thread.
    const bool by_template = is_template(settings);
    auto* const tap = options_.raw_logs.empty() ? nullptr : options_.raw_logs[by_template ? 0 : placed->thread].get();
    auto* const io = options_.threads[placed->thread].get();
    placed->log = std::make_unique<SessionLog>(*placed->application, *log_, *options_.records, options_.quiet,
                                               by_template ? tap : nullptr, settings);
    say_what_is_kept(settings, *log_);
    const engine::SessionHandle* added = nullptr;
    const std::lock_guard guard{lock_};
    if (prepared.initiator) {
        auto& session = initiator_->add(std::move(prepared.options), *std::move(prepared.initiator), *placed->log, io);
        session.set_tap(tap);
        added = &session;
    } else {
        const auto named = std::ranges::find(acceptors_, settings.acceptor,
                                             [](const auto& opened) -> auto& { return opened->config.name; });
        placed->acceptor = (*named)->acceptor.get();
        if (by_template) {
            placed->acceptor->add_template(std::move(prepared.options), *placed->log, settings.max_dynamic);
        } else {
            auto& session = placed->acceptor->add(std::move(prepared.options), *placed->log, io);
            session.set_tap(tap);
            added = &session;
        }
    }
    const auto all = placed->acceptor != nullptr ? placed->acceptor->sessions() : initiator_->sessions();
    const auto handle = std::ranges::find(all, added, [](const auto& session) { return session.get(); });
    if (handle != all.end()) placed->session = *handle;
    placed_.push_back(std::move(placed));
}

void SessionSet::open(const EngineConfig& config) {
    dictionaries_ = config.dictionaries;
    const auto dictionaries = std::make_shared<Dictionaries>(dictionaries_);
    for (const auto& acceptor : config.acceptors) acceptors_.push_back(open_acceptor(acceptor));
    for (std::size_t i = 0; i < config.sessions.size(); ++i) add(prepare(config.sessions[i], i, dictionaries));
}

SessionSet::Place SessionSet::find(const SessionSettings& settings) {
    return std::ranges::find_if(placed_, [&](const auto& placed) { return same_session(placed->settings, settings); });
}

void SessionSet::replace(const EngineConfig& next, service::Reloaded& result) {
    const auto dictionaries = std::make_shared<Dictionaries>(dictionaries_);
    std::vector<Prepared> added;
    std::vector<Prepared> changed;
    std::vector<Placed*> kept;
    for (std::size_t i = 0; i < next.sessions.size(); ++i) {
        const auto& settings = next.sessions[i];
        const auto known = find(settings);
        const bool is_new = known == placed_.end();
        auto prepared = prepare(settings, is_new ? i : (*known)->thread, dictionaries);
        if (is_new) {
            added.push_back(std::move(prepared));
        } else if ((*known)->settings == settings ||
                   (!is_template(settings) && same_settings((*known)->settings, settings))) {
            kept.push_back(known->get());
        } else {
            changed.push_back(std::move(prepared));
        }
    }
    std::vector<std::unique_ptr<Opened>> acceptors;
    for (const auto& config : next.acceptors) {
        const auto known =
            std::ranges::find(acceptors_, config.name, [](const auto& opened) -> auto& { return opened->config.name; });
        if (known == acceptors_.end()) {
            acceptors.push_back(open_acceptor(config));
        } else {
            service::needs_restart((*known)->config == config, fmt::format("acceptor '{}'", config.name),
                                   result.refused);
        }
    }
    end_those_by_template(added);
    add_new(std::move(acceptors), std::move(added), result);
    // From here on nothing throws for what is not there.
    for (auto* placed : kept) {
        const auto in_file = std::ranges::find_if(
            next.sessions, [&](const auto& settings) { return same_session(placed->settings, settings); });
        if (in_file->enabled != placed->settings.enabled) switch_enabled(*placed, in_file->enabled, result);
    }
    std::vector<std::unique_ptr<Placed>> leaving;
    for (auto& placed : placed_) {
        const bool stays = std::ranges::any_of(
            next.sessions, [&](const auto& settings) { return same_session(placed->settings, settings); });
        if (stays) continue;
        result.done.push_back(fmt::format("session {} is removed", session_name(placed->settings)));
        leaving.push_back(std::move(placed));
    }
    std::erase(placed_, nullptr);
    remove(std::move(leaving));
    replace_changed(std::move(changed), result);
    const std::lock_guard guard{lock_};
    std::erase_if(acceptors_, [&](const auto& opened) {
        const auto& name = opened->config.name;
        if (std::ranges::find(next.acceptors, name, &AcceptorConfig::name) != next.acceptors.end()) return false;
        result.done.push_back(fmt::format("acceptor '{}' is closed", name));
        return true;
    });
}

/// All of them, or none and the exception.
void SessionSet::add_new(std::vector<std::unique_ptr<Opened>> acceptors, std::vector<Prepared> sessions,
                         service::Reloaded& result) {
    const auto opened_before = acceptors_.size();
    const auto placed_before = placed_.size();
    std::vector<std::string> done;
    {
        const std::lock_guard guard{lock_};
        for (auto& opened : acceptors) {
            done.push_back(fmt::format("acceptor '{}' listens on {}:{}", opened->config.name,
                                       opened->config.listen.host(), opened->acceptor->port()));
            acceptors_.push_back(std::move(opened));
        }
    }
    try {
        for (auto& prepared : sessions) {
            done.push_back(fmt::format("session {} is added", session_name(prepared.settings)));
            prepared.takes_over ? add_when_free(prepared) : add(std::move(prepared));
        }
    } catch (...) {
        std::vector<std::unique_ptr<Placed>> leaving{
            std::move_iterator{placed_.begin() + static_cast<std::ptrdiff_t>(placed_before)},
            std::move_iterator{placed_.end()}};
        placed_.resize(placed_before);
        remove(std::move(leaving));
        const std::lock_guard guard{lock_};
        acceptors_.erase(acceptors_.begin() + static_cast<std::ptrdiff_t>(opened_before), acceptors_.end());
        throw;
    }
    std::ranges::move(done, std::back_inserter(result.done));
}

void SessionSet::switch_enabled(Placed& placed, bool enabled, service::Reloaded& result) {
    placed.settings.enabled = enabled;
    result.done.push_back(
        fmt::format("session {} is {}", session_name(placed.settings), enabled ? "enabled" : "disabled"));
    if (enabled) {
        placed.session->request_logon();
    } else {
        placed.session->request_logout("session is disabled");
    }
}

std::vector<std::optional<engine::SessionStatus>> SessionSet::remove(std::vector<std::unique_ptr<Placed>> leaving) {
    std::vector<Ending> endings;
    std::vector<Ending> by_template;
    for (const auto& placed : leaving) {
        const std::chrono::seconds logout{placed->settings.logout_seconds};
        endings.push_back({placed->acceptor, std::move(placed->session), logout});
        if (endings.back().session != nullptr) continue;
        fix::SessionConfig ids;
        ids.version = session_version(placed->settings.version);
        ids.sender_comp_id = placed->settings.sender;
        for (auto& session : placed->acceptor->remove_template(ids)) {
            by_template.push_back({placed->acceptor, std::move(session), logout});
        }
    }
    const auto templates = endings.size();
    std::ranges::move(by_template, std::back_inserter(endings));
    auto last = end(std::move(endings));
    last.resize(templates);
    return last;
}

/// Gives the last status of each, but where there is no session.
std::vector<std::optional<engine::SessionStatus>> SessionSet::end(std::vector<Ending> endings) {
    auto patience = kBesidesLogout;
    for (const auto& ending : endings) {
        patience = std::max(patience, kBesidesLogout + ending.logout);
        if (ending.session != nullptr) ending.session->request_logout(kReason);
    }
    const auto until = std::chrono::steady_clock::now() + patience;
    std::vector<std::optional<engine::SessionStatus>> last;
    for (auto& [acceptor, session, logout] : endings) {
        if (session == nullptr) {
            last.emplace_back();
            continue;
        }
        session->io().call([] {});  // the request is in front of it
        while (is_logged_on(*session) && std::chrono::steady_clock::now() < until) {
            // An operator may enable it meanwhile.
            if (session->status().enabled) session->request_logout(kReason);
            std::this_thread::sleep_for(kLookEvery);
        }
        last.emplace_back(session->status());
        take_away(acceptor, std::move(session));
    }
    return last;
}

/// A session that a template made makes way for one of its own.
void SessionSet::end_those_by_template(std::vector<Prepared>& added) {
    std::vector<Ending> endings;
    for (auto& prepared : added) {
        const auto& settings = prepared.settings;
        if (prepared.initiator || is_template(settings)) continue;
        const auto opened =
            std::ranges::find(acceptors_, settings.acceptor, [](const auto& one) -> auto& { return one->config.name; });
        if (opened == acceptors_.end()) continue;
        auto& acceptor = *(*opened)->acceptor;
        for (auto& session : acceptor.sessions()) {
            if (session->name() != session_name(settings)) continue;
            prepared.takes_over = true;
            endings.push_back({&acceptor, std::move(session), std::chrono::seconds{settings.logout_seconds}});
        }
    }
    end(std::move(endings));
}

/// Returns when its store is free for another session.
void SessionSet::take_away(engine::Acceptor* acceptor, std::shared_ptr<engine::SessionHandle> session) {
    {
        const std::lock_guard guard{lock_};
        if (acceptor != nullptr) {
            acceptor->remove(*session);
        } else {
            initiator_->remove(*session);
        }
    }
    if (options_.removed) options_.removed(*session);
    const std::weak_ptr<engine::SessionHandle> left = session;
    session.reset();
    // A list of sessions that another thread looks at just now.
    const auto until = std::chrono::steady_clock::now() + kLongestLook;
    while (!left.expired() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kLookEvery);
}

/// As add; the thread that let go of the former session last may still be closing its store, or its peer was there
/// again.
void SessionSet::add_when_free(const Prepared& prepared) {
    const auto until = std::chrono::steady_clock::now() + kLongestLook;
    for (;;) {
        try {
            return add(Prepared{prepared});
        } catch (const std::system_error& error) {
            const bool is_busy = error.code() == std::errc::device_or_resource_busy;
            if (!is_busy || std::chrono::steady_clock::now() > until) throw;
        }
        std::this_thread::sleep_for(kLookEvery);
    }
}

void SessionSet::replace_changed(std::vector<Prepared> changed, service::Reloaded& result) {
    struct Former {
        SessionSettings settings;
        std::size_t thread;
        std::shared_ptr<Dictionaries> dictionaries;
        bool enabled;
    };
    std::vector<Former> formers;
    std::vector<std::unique_ptr<Placed>> leaving;
    for (const auto& prepared : changed) {
        const auto known = find(prepared.settings);
        auto& placed = **known;
        formers.push_back({placed.settings, placed.thread, placed.dictionaries,
                           placed.session != nullptr ? placed.session->status().enabled : placed.settings.enabled});
        leaving.push_back(std::move(*known));
        placed_.erase(known);
    }
    const auto last = remove(std::move(leaving));
    for (std::size_t i = 0; i < changed.size(); ++i) {
        const auto& former = formers[i];
        const auto name = session_name(former.settings);
        // What was there goes on: the numbers, as they are behind the Logout, and what an operator said.
        const auto carry = [&](Prepared& to) {
            if (to.settings.enabled == former.settings.enabled) to.options.enabled = former.enabled;
            if (!last[i] || !is_in_memory(to.settings) || !is_in_memory(former.settings)) return;
            to.options.store.next_sender = last[i]->next_sender;
            to.options.store.next_target = last[i]->next_target;
        };
        try {
            carry(changed[i]);
            add_when_free(changed[i]);
            result.done.push_back(fmt::format("session {} is changed", name));
        } catch (const std::exception& error) {
            bool restored = false;
            try {
                auto again = prepare(former.settings, former.thread, former.dictionaries);
                carry(again);
                add_when_free(again);
                restored = true;
            } catch (const std::exception&) {
                restored = false;  // a file that was there when it was added first is gone
            }
            result.refused.push_back(fmt::format(
                "session {} {}: {}", name, restored ? "runs with its old settings" : "is left out", error.what()));
        }
    }
}

SessionList SessionSet::sessions() const {
    const std::lock_guard guard{lock_};
    auto all = initiator_->sessions();
    for (const auto& opened : acceptors_) std::ranges::move(opened->acceptor->sessions(), std::back_inserter(all));
    return all;
}

std::vector<std::string> SessionSet::listening() const {
    const std::lock_guard guard{lock_};
    std::vector<std::string> places;
    for (const auto& opened : acceptors_) {
        places.push_back(fmt::format("{}:{}", opened->config.listen.host(), opened->acceptor->port()));
    }
    return places;
}

}  // namespace millpond::fixd
