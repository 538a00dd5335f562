#include "gateway/sink_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/moment.hpp>

#include "gateway/settings/value.hpp"
#include "service/file_hashes.hpp"
#include "service/out_of_memory.hpp"

namespace millpond::gateway {
namespace {

bool contains(const auto& list, const auto& one) { return std::ranges::find(list, one) != list.end(); }

}  // namespace

SinkSet::SinkSet(Options options, service::Log& log) : options_(std::move(options)), log_(log) {}

SinkHost SinkSet::host_of(const std::string& sink) {
    auto& error = errors_[sink];
    return {.log =
                [this, &error](service::Severity severity, std::string_view cause, const std::string& text) {
                    if (severity >= service::Severity::warning) error.set(text, core::MomentClock{}.now());
                    log_.say(severity, cause, text);
                },
            .file_mode = options_.file_mode,
            .pages = options_.pages,
            .acts = options_.acts,
            .journal = [this](const std::string& name) { return journal(name); },
            .request_books = options_.request_books};
}

JournalSource SinkSet::journal(const std::string& name) const {
    for (const auto& consumer : consumers_) {
        if (consumer->name() != name) continue;
        if (auto source = consumer->journal()) return *std::move(source);
    }
    throw ConfigError(fmt::format("journal '{}' is not running", name));
}

bool SinkSet::runs(std::string_view name) const {
    return std::ranges::any_of(consumers_, [&](const auto& consumer) { return consumer->name() == name; });
}

void SinkSet::rescue(const std::vector<SinkConfig>& sinks) {
    for (const auto& sink : sinks) sink.rescue(host_of(sink.name()));
}

void SinkSet::open(const std::vector<SinkConfig>& sinks) {
    std::vector<Candidate> all;
    service::FileHashes hashes;
    for (const auto& sink : sinks) all.push_back({sink, hashes.of(sink.files_read()), sink.prepare()});
    for (auto& sink : all) {
        service::need_memory(fmt::format("sink '{}'", sink.config.name()), [&] {
            sink.prepared->open(host_of(sink.config.name()));
            adopt(sink);
        });
    }
}

void SinkSet::adopt(Candidate& sink) {
    auto host = host_of(sink.config.name());
    host.replaced = sink.replaced;
    consumers_.push_back(sink.prepared->join(host));
    setups_.push_back({sink.config, sink.files});
    if (options_.added) options_.added(*consumers_.back());
}

void SinkSet::start() {
    for (const auto& consumer : consumers_) consumer->start();
}

void SinkSet::stop() {
    for (const auto& consumer : consumers_) consumer->stop();
    for (const auto& consumer : consumers_) log_account(*consumer);
}

void SinkSet::log_account(const Consumer& sink, bool replaced) {
    const auto account = sink.account();
    const bool left = account.queued != 0 && !replaced;
    log_.say(
        left ? service::Severity::warning : service::Severity::info, sink.name() + ".end",
        fmt::format("sink '{}': published {} = delivered {} + filtered {} + conflated {} + missed {} + queued {}{}",
                    sink.name(), account.published, account.delivered, account.filtered, account.conflated,
                    account.missed, account.queued, left ? "; the queued events were not sent" : ""));
}

std::vector<health::WatchedSink> SinkSet::watched() const {
    std::vector<health::WatchedSink> all;
    for (std::size_t i = 0; i < consumers_.size(); ++i) {
        const auto& consumer = consumers_[i];
        all.push_back({.thread = consumer.get(),
                       .error = &errors_.at(consumer->name()),
                       .holds = consumer->holds(),
                       .exposed = setups_[i].config.exposure()});
    }
    return all;
}

net::SocketAddress SinkSet::address_of(std::string_view kind) const {
    for (const auto& consumer : consumers_) {
        if (consumer->type() == kind) return consumer->address();
    }
    return {};
}

SinkSet::Closed SinkSet::close(std::size_t place, bool followed) {
    const auto at = static_cast<std::ptrdiff_t>(place);
    const auto closing = std::move(consumers_[place]);
    auto config = std::move(setups_[place].config);
    consumers_.erase(consumers_.begin() + at);
    setups_.erase(setups_.begin() + at);
    if (options_.removed) options_.removed(*closing);
    closing->note_reload();
    closing->stop();
    auto stopped = closing->stopped_at();
    log_account(*closing, followed && stopped);
    return {.config = std::move(config), .stopped = std::move(stopped)};
}

std::set<std::string> SinkSet::gone(const std::vector<Setup>& next, const std::set<std::string>& kept) const {
    std::set<std::string> gone;
    for (const auto& setup : setups_) {
        const auto name = setup.config.name();
        if (!kept.contains(name) && !contains(next, setup)) gone.insert(name);
    }
    // Sinks that follow another are listed after it, so one pass is enough.
    for (const auto& [config, files] : setups_) {
        if (gone.contains(config.follows())) gone.insert(config.name());
    }
    return gone;
}

bool SinkSet::waits(const SinkConfig& sink, const std::set<std::string>& gone) const {
    const auto wanted = sink.outputs();
    for (const auto& [config, files] : setups_) {
        if (!gone.contains(config.name())) continue;
        for (const auto& held : config.outputs()) {
            if (held.claim.empty()) continue;
            if (std::ranges::find(wanted, held.claim, &SinkOutput::claim) != wanted.end()) return true;
        }
    }
    return false;
}

void SinkSet::refuse(const SinkConfig& sink, std::string_view why, Reloaded& result) const {
    result.refused.push_back(fmt::format("sink '{}' {}: {}", sink.name(),
                                         runs(sink.name()) ? "keeps its old settings" : "was not added", why));
}

std::set<std::string> SinkSet::open_early(std::vector<Candidate>& wanted, const std::vector<Setup>& next,
                                          Reloaded& result) {
    std::set<std::string> kept;
    const auto attempt = [&](std::size_t place, auto&& step) {
        const auto& config = wanted[place].config;
        try {
            step(wanted[place]);
            return true;
        } catch (const std::exception& error) {
            refuse(config, error.what(), result);
            kept.insert(config.name());
            wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(place));
            return false;
        }
    };
    const auto check = [&](Candidate& sink) {
        const auto& ring = sink.config.basics().ring;
        if (!options_.rings.contains(ring)) {
            throw ConfigError(fmt::format("ring '{}' is not running, and a new ring needs a restart", ring));
        }
        sink.prepared->check();
    };
    for (std::size_t i = 0; i < wanted.size();) i += attempt(i, check) ? 1U : 0U;
    // Repeats until nothing changes: a refused sink keeps its predecessor, whose output another sink may wait for.
    for (bool changes = true; changes;) {
        changes = false;
        const auto going = gone(next, kept);
        for (std::size_t i = 0; i < wanted.size() && !changes;) {
            if (wanted[i].opened || waits(wanted[i].config, going)) {
                ++i;
                continue;
            }
            changes = !attempt(i, [&](Candidate& sink) {
                sink.prepared->open(host_of(sink.config.name()));
                sink.opened = true;
            });
            i += changes ? 0U : 1U;
        }
    }
    return kept;
}

std::optional<std::string> SinkSet::run(Candidate& sink) {
    const auto before = consumers_.size();
    try {
        if (!sink.opened) sink.prepared->open(host_of(sink.config.name()));
        adopt(sink);
        consumers_.back()->start();
        return std::nullopt;
    } catch (const std::exception& error) {
        std::string why = error.what();
        if (consumers_.size() != before) close(before, true);
        return why;
    }
}

void SinkSet::replace(const std::vector<SinkConfig>& next, Reloaded& result) {
    std::vector<Setup> setups;
    std::vector<Candidate> wanted;
    std::vector<Candidate> unchanged;
    service::FileHashes hashes;
    for (const auto& sink : next) {
        // Files are hashed before they are read, so that the next reload detects a change in between.
        const auto& setup = setups.emplace_back(sink, hashes.of(sink.files_read()));
        (contains(setups_, setup) ? unchanged : wanted)
            .push_back({sink, setup.files, sink.prepare()});  // throws before anything is changed
    }
    const auto kept = open_early(wanted, setups, result);
    const auto going = gone(setups, kept);
    const auto is_named = [](const auto& name) {
        return [&name](const auto& one) { return one.config.name() == name; };
    };
    // Sinks that only follow a changed one are opened again with unchanged settings.
    for (const auto& [config, files] : setups_) {
        const auto name = config.name();
        if (!going.contains(name) || std::ranges::any_of(wanted, is_named(name))) continue;
        const auto same = std::ranges::find_if(unchanged, is_named(name));
        if (same != unchanged.end()) wanted.push_back(std::move(*same));
        if (kept.contains(name)) wanted.push_back({config, files, config.prepare()});
    }
    std::ranges::stable_partition(wanted, [](const Candidate& sink) { return sink.config.follows().empty(); });
    std::vector<Closed> closed;
    for (std::size_t i = consumers_.size(); i-- != 0;) {
        const auto closing = consumers_[i]->name();
        if (!going.contains(closing)) continue;
        const bool only_files = !contains(setups, setups_[i]) && contains(next, setups_[i].config);
        result.done.push_back(
            fmt::format("sink '{}' is closed{}", closing, only_files ? ": a secret or certificate has changed" : ""));
        closed.push_back(close(i, std::ranges::any_of(wanted, is_named(closing))));
    }
    for (auto& sink : wanted) {
        const auto name = sink.config.name();
        const auto old = std::ranges::find(closed, name, [](const Closed& one) { return one.config.name(); });
        if (old != closed.end()) sink.replaced = old->stopped;
        const auto failure = run(sink);
        if (!failure) {
            result.done.push_back(fmt::format("sink '{}' runs", name));
            continue;
        }
        sink.prepared.reset();  // releases its resources
        bool restored = false;
        if (old != closed.end() && !(old->config == sink.config)) {
            try {
                service::FileHashes again;
                Candidate former{.config = old->config,
                                 .files = again.of(old->config.files_read()),
                                 .prepared = old->config.prepare(),
                                 .replaced = old->stopped};
                restored = !run(former);
            } catch (const std::exception&) {
                restored = false;  // a secret has disappeared since it was first opened
            }
        }
        result.refused.push_back(
            fmt::format("sink '{}' {}: {}", name, restored ? "keeps its old settings" : "was not added", *failure));
    }
}

}  // namespace millpond::gateway
