#include "roster.hpp"

#include <algorithm>
#include <utility>

#include <millpond/fix/tag.hpp>
#include <millpond/fix/version.hpp>

namespace millpond::engine {
namespace {

bool same_identity(const fix::SessionConfig& one, const fix::SessionConfig& other) {
    return one.version == other.version && one.sender_comp_id == other.sender_comp_id &&
           one.target_comp_id == other.target_comp_id;
}

bool asks_for(const fix::Message& logon, const fix::SessionConfig& config) {
    return fix::begin_string(config.version) == logon.begin_string() &&
           logon.text(fix::tag::kSenderCompId) == config.target_comp_id &&
           logon.text(fix::tag::kTargetCompId) == config.sender_comp_id;
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
    const std::lock_guard guard{lock_};
    const auto host =
        std::ranges::find_if(hosts_, [&](const auto& one) { return same_identity(one->config(), identity); });
    return host == hosts_.end() ? nullptr : *host;
}

std::shared_ptr<SessionHost> Roster::named_by(const fix::Message& logon) const {
    const std::lock_guard guard{lock_};
    const auto host = std::ranges::find_if(hosts_, [&](const auto& one) { return asks_for(logon, one->config()); });
    return host == hosts_.end() ? nullptr : *host;
}

fix::Tag Roster::fault_of(const fix::Message& logon) const {
    const std::lock_guard guard{lock_};
    const auto ours = logon.text(fix::tag::kTargetCompId);
    const auto peers = logon.text(fix::tag::kSenderCompId);
    auto fault = fix::tag::kTargetCompId;
    for (const auto& host : hosts_) {
        if (host->config().sender_comp_id != ours) continue;
        if (host->config().target_comp_id == peers) return fix::tag::kBeginString;
        fault = fix::tag::kSenderCompId;
    }
    return fault;
}

std::expected<std::shared_ptr<SessionHost>, Roster::Refusal> Roster::claim(const fix::Message& logon) const {
    const std::lock_guard guard{lock_};
    const auto host = std::ranges::find_if(hosts_, [&](const auto& one) { return asks_for(logon, one->config()); });
    if (host == hosts_.end()) return std::unexpected(Refusal::unknown);
    if (!(*host)->claim()) return std::unexpected(Refusal::duplicate);
    return *host;
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
