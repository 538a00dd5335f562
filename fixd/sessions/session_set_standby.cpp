// Sessions of a standby, until they are promoted.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "fixd/sessions/session_set.hpp"

namespace millpond::fixd {
namespace {

constexpr std::chrono::seconds kPatience{5};

/// Promotes the session on its I/O thread. Returns the error, or an empty string.
std::string promoted(engine::SessionHandle& session) {
    // Shared with the I/O thread, which may answer after the timeout.
    const auto outcome = std::make_shared<std::promise<std::string>>();
    auto known = outcome->get_future();
    session.request_promotion([outcome](std::string error) { outcome->set_value(std::move(error)); });
    if (known.wait_for(kPatience) != std::future_status::ready) return "the I/O thread does not answer";
    try {
        return known.get();
    } catch (const std::future_error&) {
        return "the session was removed";
    }
}

bool is_superseded(const engine::SessionHandle& session) {
    return session.status().standby.state == engine::StandbyStatus::State::superseded;
}

}  // namespace

/// Returns false if the session is to run here.
bool SessionSet::wait_as_standby(Prepared& prepared) {
    const auto& settings = prepared.settings;
    if (options_.replicas == nullptr || is_template(settings)) return false;
    const auto name = session_name(settings);
    if (!options_.replicas->add(prepared.options)) {
        log_->info(name + ".standby", "{}: it was promoted here, and runs", name);
        return false;
    }
    log_->info(name + ".standby", "{}: this engine is its standby", name);
    placed_.push_back(std::make_unique<Placed>(Placed{.settings = settings,
                                                      .files = prepared.files,
                                                      .thread = prepared.thread,
                                                      .dictionaries = prepared.dictionaries,
                                                      .application = {},
                                                      .log = {},
                                                      .acceptor = nullptr,
                                                      .session = {},
                                                      .waiting = std::make_unique<Prepared>(std::move(prepared))}));
    return true;
}

std::string SessionSet::promote(std::string_view name, bool force) {
    const auto place =
        std::ranges::find_if(placed_, [&](const auto& placed) { return session_name(placed->settings) == name; });
    if (place == placed_.end()) return fmt::format("there is no session '{}' that could be promoted", name);
    if ((*place)->waiting == nullptr) {
        if ((*place)->session == nullptr) return "sessions of target '*' have no standby";
        auto& session = *(*place)->session;
        if (is_superseded(session) && !force) {
            return fmt::format("{}: another machine has taken over, and may have messages that this store lacks", name);
        }
        return promoted(session);
    }
    const auto epoch = options_.replicas->promote(name, force);
    if (!epoch) return epoch.error();
    auto waiting = std::move(*place);
    placed_.erase(place);
    try {
        run(Prepared{*waiting->waiting});
    } catch (const std::exception& error) {
        placed_.push_back(std::move(waiting));  // the next attempt finds it promoted
        return fmt::format("{} is promoted, and cannot run: {}", name, error.what());
    }
    attach_copies();
    log_->warning(std::string{name} + ".promoted", "{}: promoted, epoch {}", name, *epoch);
    return {};
}

bool SessionSet::has_superseded() const {
    if (options_.replicas == nullptr) return false;
    return std::ranges::any_of(sessions(), [](const auto& session) { return is_superseded(*session); });
}

void SessionSet::stand_by_for_superseded() {
    service::FileHashes hashes;
    std::vector<Prepared> prepared;
    std::vector<std::unique_ptr<Placed>> leaving;
    for (auto& placed : placed_) {
        if (placed->session == nullptr || !is_superseded(*placed->session)) continue;
        const auto name = session_name(placed->settings);
        try {
            prepared.push_back(prepare(placed->settings, placed->thread, placed->dictionaries, hashes));
        } catch (const std::exception& error) {
            log_->say(service::Severity::error, name + ".standby",
                      fmt::format("{}: this engine cannot become its standby: {}", name, error.what()));
            continue;
        }
        prepared.back().files = placed->files;  // hash at the time of reading
        prepared.back().options.enabled = placed->session->status().enabled;
        leaving.push_back(std::move(placed));
    }
    std::erase(placed_, nullptr);
    remove(std::move(leaving), "another machine has taken over");
    for (const auto& one : prepared) {
        const auto name = session_name(one.settings);
        try {
            add_when_free(one);
        } catch (const std::exception& error) {
            log_->say(
                service::Severity::error, name + ".standby",
                fmt::format("{}: this engine cannot become its standby before a restart: {}", name, error.what()));
        }
    }
}

}  // namespace millpond::fixd
