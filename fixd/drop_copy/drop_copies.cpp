#include "fixd/drop_copy/drop_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace millpond::fixd {
namespace {

constexpr std::chrono::seconds kMaxWait{1};
constexpr std::chrono::milliseconds kPollInterval{1};

std::shared_ptr<DropCopies::Entry> same_target(const DropCopies::Entries& entries, const DropCopyConfig& config) {
    const auto known =
        std::ranges::find(entries, config.target, [](const auto& entry) -> auto& { return entry->config.target; });
    return known == entries.end() ? nullptr : *known;
}

/// "copies to FIX.4.4:HOUSE->RISK were lost: 3 (queue full 3)"
std::string text_of(const std::string& target, const engine::DropCopy::Status& status) {
    std::string parts;
    const auto add = [&](std::string_view reason, std::uint64_t count) {
        if (count != 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", reason, count);
    };
    add("queue full", status.queue_full);
    add("store full", status.store_full);
    add("not encoded", status.not_encoded);
    add("version not carried", status.wrong_version);
    add("engine ended", status.abandoned);
    add("discarded by a reset", status.discarded);
    add("overwritten in the store", status.overwritten);
    return fmt::format("drop copy to {}: {} copies were lost since the start ({})", target, status.lost(), parts);
}

}  // namespace

DropCopies::Entries DropCopies::prepare(const std::vector<DropCopyConfig>& configs) const {
    Entries next;
    for (const auto& config : configs) {
        const auto known = same_target(entries_, config);
        if (known != nullptr && known->config == config) {
            next.push_back(known);
            continue;
        }
        auto entry = std::make_shared<Entry>(Entry{.config = config, .copy = {}, .registrations = {}});
        if (known != nullptr && known->config.queue_bytes == config.queue_bytes &&
            known->config.queue == config.queue) {
            entry->copy = known->copy;  // keeps queue, counters and connection
            entry->attached = known->attached;
        } else {
            entry->copy =
                std::make_shared<engine::DropCopy>(engine::DropCopy::Options{.name = config.target,
                                                                             .producers = producers_,
                                                                             .queue_bytes = config.queue_bytes,
                                                                             .file = config.queue,
                                                                             .file_mode = config.file_mode});
            log_recovered(*entry);
        }
        next.push_back(std::move(entry));
    }
    return next;
}

DropCopies::Entries DropCopies::replace(Entries next) {
    const std::lock_guard guard{lock_};
    return std::exchange(entries_, std::move(next));
}

std::vector<CopyRoutes::Route> DropCopies::routes_of(std::string_view session) const {
    std::vector<CopyRoutes::Route> routes;
    for (const auto& entry : entries_) {
        const auto& sources = entry->config.sources;
        if (std::ranges::find(sources, session) == sources.end()) continue;
        routes.push_back({.copy = entry->copy, .types = entry->config.types});
    }
    return routes;
}

std::vector<std::string> DropCopies::finish(const Entries& former) {
    std::vector<std::string> done;
    Entries gone;
    for (const auto& entry : former) {
        const auto next = same_target(entries_, entry->config);
        if (next == nullptr) done.push_back(fmt::format("drop copy to {} is removed", entry->config.target));
        if (next == nullptr || next->copy != entry->copy) gone.push_back(entry);
        if (next == nullptr || next == entry) continue;
        done.push_back(fmt::format("drop copy to {} is changed", entry->config.target));
        if (next->copy != entry->copy) continue;
        next->registrations = std::move(entry->registrations);
        const std::lock_guard guard{lock_};
        next->lost_logged = entry->lost_logged;
    }
    for (const auto& entry : entries_) {
        if (same_target(former, entry->config) != nullptr) continue;
        done.push_back(fmt::format("drop copy to {} is added", entry->config.target));
    }
    settle(gone);
    for (const auto& entry : gone) {
        entry->registrations.clear();
        entry->copy->detach();
        const auto left = entry->copy->status().waiting;
        const auto next = same_target(entries_, entry->config);
        const bool goes_on = entry->copy->is_in_file() && next != nullptr && next->config.queue == entry->config.queue;
        if (left != 0 && !goes_on) {
            log_->say(service::Severity::warning, entry->config.target + ".drop copy removed",
                      fmt::format("drop copy to {}: {} copies still waited when it was removed: they are lost",
                                  entry->config.target, left));
        }
        if (!goes_on) entry->copy->discard();
        entry->copy.reset();  // the next engine reads its files
    }
    return done;
}

void DropCopies::log_recovered(const Entry& entry) const {
    for (const auto& error : entry.copy->unusable()) {
        log_->say(service::Severity::error, entry.config.target + ".drop copy unusable " + error,
                  fmt::format("drop copy to {}: copies of an earlier run may wait in a file that cannot be used: {}",
                              entry.config.target, error));
    }
    const auto recovered = entry.copy->status().recovered;
    if (recovered == 0) return;
    log_->say(service::Severity::warning, entry.config.target + ".drop copy recovered",
              fmt::format("drop copy to {}: {} copies waited when the engine ended last: they are sent first",
                          entry.config.target, recovered));
}

void DropCopies::attach(const FindTarget& find) {
    for (const auto& entry : entries_) {
        if (entry->registrations.empty()) entry->registrations = entry->copy->add_metrics(*registry_);
        if (entry->copy->is_attached()) {
            const auto known = find(entry->config);
            entry->attached = known.session;
            continue;
        }
        auto target = find(entry->config);
        entry->attached = target.session;
        if (target.session != nullptr) entry->copy->attach(*target.session, target.terms);
    }
}

void DropCopies::release(const engine::SessionHandle& session) {
    for (const auto& entry : entries_) {
        if (entry->attached != &session) continue;
        entry->copy->detach();
        entry->attached = nullptr;
    }
}

void DropCopies::release_copies_of(const std::vector<std::string>& sources) {
    for (const auto& entry : entries_) {
        const auto& copied = entry->config.sources;
        const bool is_one = std::ranges::find_first_of(copied, sources) != copied.end();
        if (is_one) entry->copy->detach();
    }
}

void DropCopies::release_all() {
    for (const auto& entry : entries_) {
        entry->copy->detach();
        const auto left = entry->copy->status().waiting;
        if (left == 0) continue;
        log_->say(service::Severity::warning, entry->config.target + ".drop copy ended",
                  fmt::format("drop copy to {}: {} copies still waited at the end: they {}", entry->config.target, left,
                              entry->copy->is_in_file() ? "are sent after the next start" : "are lost"));
    }
}

void DropCopies::settle() const {
    const auto entries = [this] {
        const std::lock_guard guard{lock_};  // a promotion may attach entries at the same time
        return entries_;
    }();
    settle(entries);
}

void DropCopies::settle(const Entries& entries) {
    const auto until = std::chrono::steady_clock::now() + kMaxWait;
    const auto waits = [](const auto& entry) {
        return entry->copy->is_attached() && entry->copy->status().waiting != 0;
    };
    while (std::ranges::any_of(entries, waits) && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(kPollInterval);
    }
}

std::vector<DropCopies::Report> DropCopies::reports() const {
    const std::lock_guard guard{lock_};
    std::vector<Report> all;
    for (const auto& entry : entries_) all.push_back({.config = entry->config, .status = entry->copy->status()});
    return all;
}

void DropCopies::watch() {
    const std::lock_guard guard{lock_};
    for (const auto& entry : entries_) {
        const auto status = entry->copy->status();
        if (status.lost() == std::exchange(entry->lost_logged, status.lost())) continue;
        log_->say(service::Severity::warning, entry->config.target + ".drop copy",
                  text_of(entry->config.target, status));
    }
}

}  // namespace millpond::fixd
