// Reloads: sessions are added, removed and replaced.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "fixd/sessions/session_set.hpp"
#include "service/config_error.hpp"

namespace millpond::fixd {
namespace {

// Texts of Logouts.
constexpr const char* kRemoved = "session is removed";
constexpr const char* kChanged = "session settings have changed";
constexpr std::chrono::seconds kLogoutMargin{1};  ///< Added to the timeout of a Logout.
constexpr std::chrono::milliseconds kPollInterval{2};
constexpr std::chrono::seconds kMaxWait{6};  ///< For a thread that holds a list of all sessions.

/// Whether both are the same session to a counterparty.
bool same_session(const SessionSettings& one, const SessionSettings& other) {
    return session_name(one) == session_name(other);
}

/// Whether the settings are equal, apart from `enabled`.
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

SessionSet::Renewal SessionSet::renewal_of(Opened& opened, service::FileHashes& hashes) {
    const auto& tls = opened.config.tls;
    Renewal renewal{.opened = &opened, .files = hashes.of(files_read(opened.config)), .context = {}};
    if (tls.certificate.empty()) return renewal;
    // Also if no file has changed: a key that all users may read by now is refused.
    auto context = service::named(fmt::format("[[acceptor]] '{}'", opened.config.name),
                                  [&] { return std::make_unique<tls::Context>(tls::Role::server, tls); });
    if (renewal.files != opened.files) renewal.context = std::move(context);
    return renewal;
}

void SessionSet::replace(const EngineConfig& next, service::Reloaded& result) {
    const auto dictionaries = std::make_shared<Dictionaries>(dictionaries_);
    service::FileHashes hashes;
    std::vector<Prepared> added;
    std::vector<Prepared> changed;
    std::vector<Placed*> kept;
    for (std::size_t i = 0; i < next.sessions.size(); ++i) {
        const auto& settings = next.sessions[i];
        const auto known = find(settings);
        const bool is_new = known == placed_.end();
        auto prepared = prepare(settings, is_new ? i : (*known)->thread, dictionaries, hashes);
        if (is_new) {
            added.push_back(std::move(prepared));
        } else if ((*known)->files == prepared.files &&
                   ((*known)->settings == settings ||
                    (!is_template(settings) && same_settings((*known)->settings, settings)))) {
            kept.push_back(known->get());
        } else {
            changed.push_back(std::move(prepared));
        }
    }
    log_warnings(*dictionaries);
    std::vector<std::unique_ptr<Opened>> acceptors;
    std::vector<Renewal> renewals;
    for (const auto& config : next.acceptors) {
        const auto known =
            std::ranges::find(acceptors_, config.name, [](const auto& opened) -> auto& { return opened->config.name; });
        if (known == acceptors_.end()) {
            acceptors.push_back(open_acceptor(config, hashes));
        } else {
            service::append_if_changed((*known)->config == config, fmt::format("acceptor '{}'", config.name),
                                       result.refused);
            renewals.push_back(renewal_of(**known, hashes));
        }
    }
    auto copies = drop_copies_.prepare(next.drop_copies);
    end_template_sessions(added);
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
    // All files have been read and all addresses opened: the rest does not throw.
    for (auto& [opened, files, context] : renewals) {
        if (context == nullptr) continue;
        opened->acceptor->renew_tls(std::move(context));
        opened->files = files;
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

/// Adds all acceptors and sessions; if one cannot be added, removes the others again and throws.
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
            prepared.replaces_dynamic ? add_when_free(prepared) : add(std::move(prepared));
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
    options_.disabled->set(session_name(placed.settings), false);  // the file overrides the operator
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
        {
            const std::lock_guard guard{lock_};
            details_.erase(session_name(placed->settings));
        }
        if (placed->waiting != nullptr) {
            options_.replicas->remove(session_name(placed->settings));
            endings.push_back({});
            continue;
        }
        if (options_.replicas != nullptr) options_.replicas->remove(session_name(placed->settings));
        const std::chrono::nanoseconds logout{placed->settings.config.logout_timeout_ns};
        endings.push_back({placed->acceptor, std::move(placed->session), logout});
        if (endings.back().session != nullptr) continue;
        for (auto& session : placed->acceptor->remove_template(placed->settings.config)) {
            by_template.push_back({placed->acceptor, std::move(session), logout});
        }
    }
    const auto templates = endings.size();
    std::ranges::move(by_template, std::back_inserter(endings));
    auto last = end(std::move(endings), reason);
    last.resize(templates);
    return last;
}

/// Logs the sessions out, waits, and removes them. Returns the last status of each; nullopt if it has no session.
std::vector<std::optional<engine::SessionStatus>> SessionSet::end(std::vector<Ending> endings, const char* reason) {
    std::chrono::nanoseconds patience{kLogoutMargin};
    for (const auto& ending : endings) {
        patience = std::max<std::chrono::nanoseconds>(patience, kLogoutMargin + ending.logout);
        if (ending.session != nullptr) ending.session->request_logout(reason);
    }
    const auto until = std::chrono::steady_clock::now() + patience;
    std::vector<std::optional<engine::SessionStatus>> last;
    for (auto& [acceptor, session, logout] : endings) {
        if (session == nullptr) {
            last.emplace_back();
            continue;
        }
        session->io().call([] {});  // the I/O thread has handled the request
        while (is_logged_on(*session) && std::chrono::steady_clock::now() < until) {
            // An operator may have enabled the session meanwhile.
            if (session->status().enabled) session->request_logout(reason);
            std::this_thread::sleep_for(kPollInterval);
        }
        last.emplace_back(session->status());
        remove_session(acceptor, std::move(session));
    }
    return last;
}

/// Ends sessions that a template created and that are configured now.
void SessionSet::end_template_sessions(std::vector<Prepared>& added) {
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
            prepared.replaces_dynamic = true;
            endings.push_back(
                {&acceptor, std::move(session), std::chrono::nanoseconds{settings.config.logout_timeout_ns}});
        }
    }
    end(std::move(endings), kChanged);
}

/// Removes a session; returns when its store can be opened again.
void SessionSet::remove_session(engine::Acceptor* acceptor, std::shared_ptr<engine::SessionHandle> session) {
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
    // Another thread may hold a list with the session.
    const auto until = std::chrono::steady_clock::now() + kMaxWait;
    while (!left.expired() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kPollInterval);
}

/// Adds a session, with retries while its store is in use: another thread may still be closing it, or its peer
/// connected again.
void SessionSet::add_when_free(const Prepared& prepared) {
    const auto until = std::chrono::steady_clock::now() + kMaxWait;
    for (;;) {
        try {
            return add(Prepared{prepared});
        } catch (const std::system_error& error) {
            const bool is_busy = error.code() == std::errc::device_or_resource_busy;
            if (!is_busy || std::chrono::steady_clock::now() > until) throw;
        }
        std::this_thread::sleep_for(kPollInterval);
    }
}

void SessionSet::replace_changed(std::vector<Prepared> changed, service::Reloaded& result) {
    struct Former {
        SessionSettings settings;
        std::string files;  // hash at the time of reading
        std::size_t thread;
        std::shared_ptr<Dictionaries> dictionaries;
        bool enabled;
    };
    std::vector<Former> formers;
    std::vector<std::unique_ptr<Placed>> leaving;
    for (const auto& prepared : changed) {
        const auto known = find(prepared.settings);
        auto& placed = **known;
        formers.push_back({placed.settings, placed.files, placed.thread, placed.dictionaries,
                           placed.session != nullptr ? placed.session->status().enabled : placed.settings.enabled});
        leaving.push_back(std::move(*known));
        placed_.erase(known);
    }
    const auto last = remove(std::move(leaving), kChanged);
    for (std::size_t i = 0; i < changed.size(); ++i) {
        const auto& former = formers[i];
        const auto name = session_name(former.settings);
        // Keeps the sequence numbers after the Logout, and whether an operator disabled the session.
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
                service::FileHashes hashes;
                auto again = prepare(former.settings, former.thread, former.dictionaries, hashes);
                again.files = former.files;
                carry(again);
                add_when_free(again);
                restored = true;
            } catch (const std::exception&) {
                restored = false;  // a file that it needs no longer exists
            }
            result.refused.push_back(fmt::format("session {} {}: {}", name,
                                                 restored ? "keeps its old settings" : "was not added", error.what()));
        }
    }
}

}  // namespace millpond::fixd
