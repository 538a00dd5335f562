#include "fixd/sessions/session_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <utility>

#include "service/config_error.hpp"
#include "service/out_of_memory.hpp"

namespace millpond::fixd {
namespace {

constexpr std::uint64_t kUsualMessageBytes = 256;
constexpr std::uint64_t kMaxBeforeLogon = 64;

/// Logs how much a store in memory holds: it may be less than a busy day, and a restart loses it.
void log_memory_store(const SessionSettings& settings, service::Log& log) {
    if (!is_in_memory(settings)) return;
    const auto bytes = settings.memory_bytes;
    log.say(
        service::Severity::info, fmt::format("{}.memory", session_name(settings)),
        fmt::format("{}: no store file: about the newest {} messages of {} bytes can be resent ({} bytes of memory), "
                    "and none after a restart",
                    session_name(settings), bytes / fix::StoreSegment::record_bytes(kUsualMessageBytes),
                    kUsualMessageBytes, bytes));
}

}  // namespace

SessionSet::SessionSet(Options options, Applications applications, service::Log& log)
    : options_(std::move(options)),
      applications_(std::move(applications)),
      log_(&log),
      drop_copies_(options_.threads.size(), *options_.registry, log) {
    initiator_ = std::make_unique<engine::Initiator>(*options_.threads.front());
}

SessionSet::~SessionSet() {
    drop_copies_.release_all();
    initiator_.reset();
    acceptors_.clear();
}

SessionSet::Prepared SessionSet::prepare(const SessionSettings& settings, std::size_t thread,
                                         const std::shared_ptr<Dictionaries>& dictionaries,
                                         service::FileHashes& hashes) const {
    // Hashed before they are read, so that the next reload notices a change in between.
    Prepared prepared{.settings = settings,
                      .files = hashes.of(files_read(settings, *dictionaries)),
                      .thread = settings.thread.value_or(thread % options_.threads.size()),
                      .dictionaries = dictionaries,
                      .options = session_options(settings, *dictionaries),
                      .initiator = {},
                      .replaces_dynamic = false};
    if (options_.disabled->has(session_name(settings))) prepared.options.enabled = false;
    check_files(settings, prepared.options);
    if (is_template(settings) && !is_in_memory(settings) && !std::filesystem::is_directory(settings.store.file)) {
        throw service::ConfigError(fmt::format("{}: key 'store': expected a folder, found '{}'", described(settings),
                                               settings.store.file.string()));
    }
    if (settings.hosts.empty()) {
        const auto* const logon = prepared.options.dictionary->message("A");
        const bool has_new_password = logon != nullptr && logon->fields.find(fix::tag::kNewPassword) != nullptr;
        prepared.options.guard = options_.authenticator->guard_of(
            settings, has_new_password || !settings.config.validation.message_fields_are_known);
        return prepared;
    }
    prepared.initiator = initiator_options(settings);
    return prepared;
}

std::unique_ptr<SessionSet::Opened> SessionSet::open_acceptor(const AcceptorConfig& config,
                                                              service::FileHashes& hashes) const {
    auto opened =
        std::make_unique<Opened>(Opened{.config = config,
                                        .log = std::make_unique<AcceptorLog>(config.name, *log_, options_.quiet),
                                        .acceptor = {},
                                        .registrations = {},
                                        .files = hashes.of(files_read(config))});
    engine::AllowList allowed;
    for (const auto& range : config.allow) allowed.add(range);
    engine::Acceptor::Options options{
        .address = config.listen.host(),
        .port = config.listen.port(),
        .max_connections = config.max_connections,
        .max_before_logon = std::max(kMaxBeforeLogon, config.max_before_logon_per_address),
        .max_before_logon_per_address = config.max_before_logon_per_address,
        .allowed = allowed,
        .observer = opened->log.get()};
    if (!config.tls.certificate.empty()) options.tls = config.tls;
    opened->acceptor = service::named(fmt::format("[[acceptor]] '{}'", config.name), [&] {
        return std::make_unique<engine::Acceptor>(*options_.threads.front(), options);
    });
    opened->registrations = opened->acceptor->add_metrics(*options_.registry);
    return opened;
}

void SessionSet::add(Prepared prepared) {
    if (wait_as_standby(prepared)) return;
    const auto& settings = prepared.settings;
    const auto what = fmt::format("session {} (max_message_bytes = {}, pending_bytes = {})", session_name(settings),
                                  settings.config.max_message_bytes, settings.limits.pending_bytes);
    service::need_memory(what, [&] { run(std::move(prepared)); });
}

void SessionSet::run(Prepared prepared) {
    const auto& settings = prepared.settings;
    auto placed = std::make_unique<Placed>(Placed{.settings = settings,
                                                  .files = prepared.files,
                                                  .thread = prepared.thread,
                                                  .dictionaries = prepared.dictionaries,
                                                  .application = applications_(settings, prepared.options.application),
                                                  .log = {},
                                                  .acceptor = nullptr,
                                                  .session = {}});
    // Sessions created by a template run on their acceptor's thread.
    const bool by_template = is_template(settings);
    auto* const tap = options_.raw_logs.empty() ? nullptr : options_.raw_logs[by_template ? 0 : placed->thread].get();
    auto secrets = secrets_of(settings, prepared.options);
    if (tap != nullptr) tap->hide_too(secrets);
    secrets.add(fix::SecretTags{options_.mask_tags});
    add_details(prepared, secrets);
    auto* const io = options_.threads[placed->thread].get();
    placed->log = std::make_unique<SessionLog>(*placed->application, *log_, *options_.records, *options_.events,
                                               options_.quiet, settings, std::move(secrets));
    placed->log->set_copies(drop_copies_.routes_of(session_name(settings)), producer_of(*placed));
    prepared.options.sent = placed->log.get();
    prepared.options.tap = tap;
    log_memory_store(settings, *log_);
    const engine::SessionHandle* added = nullptr;
    const std::lock_guard guard{lock_};
    if (prepared.initiator) {
        auto& session = initiator_->add(std::move(prepared.options), *std::move(prepared.initiator), *placed->log, io);
        added = &session;
    } else {
        const auto named = std::ranges::find(acceptors_, settings.acceptor,
                                             [](const auto& opened) -> auto& { return opened->config.name; });
        placed->acceptor = (*named)->acceptor.get();
        if (by_template) {
            placed->acceptor->add_template(std::move(prepared.options), *placed->log, settings.max_dynamic,
                                           [disabled = options_.disabled](auto name) { return disabled->has(name); });
        } else {
            auto& session = placed->acceptor->add(std::move(prepared.options), *placed->log, io);
            added = &session;
        }
    }
    const auto all = placed->acceptor != nullptr ? placed->acceptor->sessions() : initiator_->sessions();
    const auto handle = std::ranges::find(all, added, [](const auto& session) { return session.get(); });
    if (handle != all.end()) placed->session = *handle;
    placed_.push_back(std::move(placed));
}

void SessionSet::add_details(const Prepared& prepared, const fix::SecretTags& secrets) {
    const auto& settings = prepared.settings;
    const auto& options = prepared.options;
    std::vector<const fix::Dictionary*> printed;
    if (options.application != nullptr) printed.push_back(options.application);
    for (const auto& further : options.config.further_versions) {
        if (further.dictionary != nullptr) printed.push_back(further.dictionary);
    }
    if (options.config.version != fix::Version::fixt11) printed.push_back(options.dictionary);
    auto details = std::make_shared<SessionDetails>(
        SessionDetails{.settings = settings,
                       .store = is_in_memory(settings) ? std::filesystem::path{} : settings.store.file,
                       .thread = is_template(settings) ? 0 : prepared.thread,
                       .printed = std::move(printed),
                       .secrets = secrets,
                       .dictionaries = prepared.dictionaries});
    const std::lock_guard guard{lock_};
    details_[session_name(settings)] = std::move(details);
}

std::shared_ptr<const SessionDetails> SessionSet::details(std::string_view name) const {
    const std::lock_guard guard{lock_};
    if (const auto known = details_.find(name); known != details_.end()) return known->second;
    // A template "FIX.4.4:HOUSE->*" creates sessions with a CompID in place of '*'.
    for (const auto& [pattern, made_by] : details_) {
        const auto star = pattern.find('*');
        if (!is_template(made_by->settings) || star == std::string::npos || name.size() < pattern.size()) continue;
        const auto end = std::string_view{pattern}.substr(star + 1);
        if (!name.starts_with(pattern.substr(0, star)) || !name.ends_with(end)) continue;
        auto details = std::make_shared<SessionDetails>(*made_by);
        const auto id = name.substr(star, name.size() - star - end.size());
        if (!details->store.empty()) details->store /= std::string{id} + ".store";
        return details;
    }
    return nullptr;
}

void SessionSet::open(const EngineConfig& config) {
    dictionaries_ = config.dictionaries;
    const auto dictionaries = std::make_shared<Dictionaries>(dictionaries_);
    service::FileHashes hashes;
    for (const auto& acceptor : config.acceptors) acceptors_.push_back(open_acceptor(acceptor, hashes));
    static_cast<void>(drop_copies_.replace(drop_copies_.prepare(config.drop_copies)));
    for (std::size_t i = 0; i < config.sessions.size(); ++i) {
        add(prepare(config.sessions[i], i, dictionaries, hashes));
    }
    log_warnings(*dictionaries);
    attach_copies();
}

void SessionSet::log_warnings(const Dictionaries& dictionaries) {
    for (const auto& text : dictionaries.warnings()) log_->warning("dictionary " + text, "{}", text);
}

/// The number of the I/O thread; sessions created by a template run on their acceptor's.
std::size_t SessionSet::producer_of(const Placed& placed) const noexcept {
    return is_template(placed.settings) ? 0 : placed.thread;
}

void SessionSet::reroute_copies() {
    for (std::size_t thread = 0; thread < options_.threads.size(); ++thread) {
        options_.threads[thread]->call([&] {
            for (const auto& placed : placed_) {
                // A session that waits for its promotion has no log yet.
                if (placed->log == nullptr || producer_of(*placed) != thread) continue;
                placed->log->set_copies(drop_copies_.routes_of(session_name(placed->settings)), thread);
            }
        });
    }
}

void SessionSet::attach_copies() {
    drop_copies_.attach([&](const DropCopyConfig& config) {
        DropCopies::Target target;
        for (const auto& placed : placed_) {
            const auto name = session_name(placed->settings);
            const bool is_source = std::ranges::find(config.sources, name) != config.sources.end();
            if (name != config.target && !is_source) continue;
            const auto dictionaries = placed->dictionaries->of(placed->settings);
            if (name == config.target) {
                target.session = placed->session.get();
                target.terms.dictionary = dictionaries.application;
                continue;
            }
            target.terms.sources.push_back(dictionaries.session);
            if (dictionaries.application != nullptr) target.terms.sources.push_back(dictionaries.application);
            for (const auto& further : placed->dictionaries->further(placed->settings)) {
                if (further.dictionary != nullptr) target.terms.sources.push_back(further.dictionary);
            }
        }
        return target;
    });
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
        places.push_back(opened->config.listen.with_port(opened->acceptor->port()).to_string());
    }
    return places;
}

}  // namespace millpond::fixd
