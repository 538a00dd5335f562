#include "src/engine/accept/roster.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <millpond/fix/session_ids.hpp>
#include <millpond/fix/store_identity.hpp>
#include <millpond/fix/tag.hpp>
#include <millpond/fix/version.hpp>

namespace millpond::engine {
namespace {

bool matches(const fix::Message& logon, const fix::SessionConfig& config) {
    return fix::begin_string(config.version) == logon.begin_string() &&
           logon.text(fix::tag::kSenderCompId) == config.target_comp_id &&
           logon.text(fix::tag::kTargetCompId) == config.sender_comp_id &&
           fix::wrong_sub_id(logon, config) == fix::tag::kInvalid;
}

/// Name of the session without its qualifier, which a Logon does not have.
std::string name_in_logon(const fix::SessionConfig& config) {
    auto identity = fix::StoreIdentity::of(config);
    identity.qualifier.clear();
    return identity.name();
}

}  // namespace

void Roster::add(std::shared_ptr<SessionHost> host) {
    const std::lock_guard guard{lock_};
    hosts_.push_back(std::move(host));
}

void Roster::remove(const SessionHost& host) {
    const std::lock_guard guard{lock_};
    std::erase_if(hosts_, [&](const auto& one) { return one.get() == &host; });
}

std::shared_ptr<SessionHost> Roster::find(const fix::SessionConfig& identity) const {
    const auto name = name_in_logon(identity);
    const std::lock_guard guard{lock_};
    const auto host =
        std::ranges::find_if(hosts_, [&](const auto& one) { return name_in_logon(one->config()) == name; });
    return host == hosts_.end() ? nullptr : *host;
}

std::shared_ptr<SessionHost> Roster::named_by(const fix::Message& logon) const {
    const std::lock_guard guard{lock_};
    return best(logon);
}

/// The session that matches most ids of the Logon. Requires the lock.
std::shared_ptr<SessionHost> Roster::best(const fix::Message& logon) const {
    const std::shared_ptr<SessionHost>* found = nullptr;
    for (const auto& host : hosts_) {
        if (!matches(logon, host->config())) continue;
        if (found == nullptr || fix::sub_ids(host->config()) > fix::sub_ids((*found)->config())) found = &host;
    }
    return found == nullptr ? nullptr : *found;
}

fix::Tag Roster::fault_of(const fix::Message& logon) const {
    const std::lock_guard guard{lock_};
    const auto ours = logon.text(fix::tag::kTargetCompId);
    const auto peers = logon.text(fix::tag::kSenderCompId);
    auto fault = fix::tag::kTargetCompId;
    for (const auto& host : hosts_) {
        if (host->config().sender_comp_id != ours) continue;
        if (host->config().target_comp_id == peers) {
            const bool has_begin = fix::begin_string(host->config().version) == logon.begin_string();
            return has_begin ? fix::wrong_sub_id(logon, host->config()) : fix::tag::kBeginString;
        }
        fault = fix::tag::kSenderCompId;
    }
    return fault;
}

std::expected<std::shared_ptr<SessionHost>, Roster::Refusal> Roster::claim(const fix::Message& logon) const {
    const std::lock_guard guard{lock_};
    auto host = best(logon);
    if (host == nullptr) return std::unexpected(Refusal::unknown);
    if (!host->claim()) return std::unexpected(Refusal::duplicate);
    return host;
}

std::vector<std::shared_ptr<SessionHost>> Roster::all() const {
    const std::lock_guard guard{lock_};
    return hosts_;
}

std::size_t Roster::claimed() const {
    const std::lock_guard guard{lock_};
    return static_cast<std::size_t>(std::ranges::count_if(hosts_, [](const auto& host) { return host->claimed(); }));
}

}  // namespace millpond::engine
