// What a reload does to the sessions.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "fixd/sessions/session_set.hpp"

namespace millpond::fixd {
namespace {

// Of a Logout.
constexpr const char* kRemoved = "session is removed";
constexpr const char* kChanged = "session settings have changed";
constexpr std::chrono::seconds kBesidesLogout{1};  ///< In addition to the timeout of a Logout.
constexpr std::chrono::milliseconds kLookEvery{2};
constexpr std::chrono::seconds kLongestLook{6};  ///< Of a thread that answers a request about all sessions.

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

SessionSet::Place SessionSet::find(const SessionSettings& settings) {
    return std::ranges::find_if(placed_, [&](const auto& placed) { return same_session(placed->settings, settings); });
}

SessionSet::Renewal SessionSet::renewal_of(Opened& opened) {
    const auto& tls = opened.config.tls;
    Renewal renewal{.opened = &opened, .contents = contents_hash(tls), .context = {}};
    if (tls.certificate.empty() || renewal.contents == opened.tls_contents) return renewal;
    renewal.context = std::make_unique<engine::TlsContext>(engine::TlsRole::server, tls_options(tls));
    return renewal;
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
    std::vector<Renewal> renewals;
    for (const auto& config : next.acceptors) {
        const auto known =
            std::ranges::find(acceptors_, config.name, [](const auto& opened) -> auto& { return opened->config.name; });
        if (known == acceptors_.end()) {
            acceptors.push_back(open_acceptor(config));
        } else {
            service::needs_restart((*known)->config == config, fmt::format("acceptor '{}'", config.name),
                                   result.refused);
            renewals.push_back(renewal_of(**known));
        }
    }
    auto copies = drop_copies_.prepare(next.drop_copies);
    end_those_by_template(added);
    std::vector<std::string> other_fields;  // sessions that may have other dictionaries
    for (const auto& prepared : added) other_fields.push_back(session_name(prepared.settings));
    for (const auto& prepared : changed) other_fields.push_back(session_name(prepared.settings));
    const auto former_copies = drop_copies_.replace(std::move(copies));
    try {
        add_new(std::move(acceptors), std::move(added), result);
    } catch (...) {
        static_cast<void>(drop_copies_.replace(former_copies));
        throw;
    }
    reroute_copies();
    std::ranges::move(drop_copies_.finish(former_copies), std::back_inserter(result.done));
    // From here on nothing throws for what is not there.
    for (auto& [opened, contents, context] : renewals) {
        if (context == nullptr) continue;
        opened->acceptor->renew_tls(std::move(context));
        opened->tls_contents = contents;
        result.done.push_back(fmt::format("acceptor '{}' has read its certificates", opened->config.name));
    }
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
        options_.disabled->set(session_name(placed->settings), false);
        leaving.push_back(std::move(placed));
    }
    std::erase(placed_, nullptr);
    remove(std::move(leaving), kRemoved);
    replace_changed(std::move(changed), result);
    drop_copies_.release_copies_of(other_fields);
    attach_copies();
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
            done.push_back(fmt::format("acceptor '{}' listens on {}", opened->config.name,
                                       opened->config.listen.with_port(opened->acceptor->port()).to_string()));
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
        remove(std::move(leaving), kRemoved);
        const std::lock_guard guard{lock_};
        acceptors_.erase(acceptors_.begin() + static_cast<std::ptrdiff_t>(opened_before), acceptors_.end());
        throw;
    }
    std::ranges::move(done, std::back_inserter(result.done));
}

void SessionSet::switch_enabled(Placed& placed, bool enabled, service::Reloaded& result) {
    placed.settings.enabled = enabled;
    options_.disabled->set(session_name(placed.settings), false);  // what the file says now counts
    if (placed.waiting != nullptr) {
        placed.waiting->settings.enabled = placed.waiting->options.enabled = enabled;
        return;
    }
    result.done.push_back(
        fmt::format("session {} is {}", session_name(placed.settings), enabled ? "enabled" : "disabled"));
    if (enabled) {
        placed.session->request_logon();
    } else {
        placed.session->request_logout("session is disabled");
    }
}

std::vector<std::optional<engine::SessionStatus>> SessionSet::remove(std::vector<std::unique_ptr<Placed>> leaving,
                                                                     const char* reason) {
    std::vector<Ending> endings;
    std::vector<Ending> by_template;
    for (const auto& placed : leaving) {
        if (placed->waiting != nullptr) {
            options_.replicas->remove(session_name(placed->settings));
            endings.push_back({});
            continue;
        }
        if (options_.replicas != nullptr) options_.replicas->remove(session_name(placed->settings));
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
    auto last = end(std::move(endings), reason);
    last.resize(templates);
    return last;
}

/// Gives the last status of each, but where there is no session.
std::vector<std::optional<engine::SessionStatus>> SessionSet::end(std::vector<Ending> endings, const char* reason) {
    auto patience = kBesidesLogout;
    for (const auto& ending : endings) {
        patience = std::max(patience, kBesidesLogout + ending.logout);
        if (ending.session != nullptr) ending.session->request_logout(reason);
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
            if (session->status().enabled) session->request_logout(reason);
            std::this_thread::sleep_for(kLookEvery);
        }
        last.emplace_back(session->status());
        take_away(acceptor, std::move(session));
    }
    return last;
}

/// A session created by a template is replaced by a configured one.
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
    end(std::move(endings), kChanged);
}

/// Returns when its store is free for another session.
void SessionSet::take_away(engine::Acceptor* acceptor, std::shared_ptr<engine::SessionHandle> session) {
    drop_copies_.release(*session);
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

/// Like add; the thread that released the former session last may still be closing its store, or its peer was there
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
    const auto last = remove(std::move(leaving), kChanged);
    for (std::size_t i = 0; i < changed.size(); ++i) {
        const auto& former = formers[i];
        const auto name = session_name(former.settings);
        // What was there goes on: the numbers, as they are behind the Logout, and what an operator said.
        const auto carry = [&](Prepared& to) {
            if (to.settings.enabled == former.settings.enabled) {
                to.options.enabled = former.enabled;
            } else {
                options_.disabled->set(name, false);
                to.options.enabled = to.settings.enabled;
            }
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
            result.refused.push_back(fmt::format("session {} {}: {}", name,
                                                 restored ? "keeps its old settings" : "was not added", error.what()));
        }
    }
}

}  // namespace millpond::fixd
