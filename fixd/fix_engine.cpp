#include "fixd/fix_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "fixd/session_admin.hpp"

namespace millpond::fixd {
namespace {

constexpr std::size_t kLongestDetail = 160;

/// What a peer has sent, fit for a line of the log.
std::string printable(std::string_view text) {
    std::string line{text.substr(0, kLongestDetail)};
    for (auto& c : line) {
        if (c < ' ' || c > '~') c = '?';
    }
    return line;
}

/// "127.0.0.1:4711: Logon refused: tag 108: HeartBtInt is ..." or "...: unknown session: tag 49 is 'DESK'"
std::string line_of(const engine::Refusal& why) {
    auto line = why.peer.empty() ? std::string{} : why.peer.to_string() + ": ";
    line += name(why.reason);
    const auto detail = printable(why.detail);
    if (why.reason == engine::RefusalReason::unknown_session) {
        return line + (detail.empty() ? fmt::format(": tag {} is missing", why.tag)
                                      : fmt::format(": tag {} is '{}'", why.tag, detail));
    }
    if (why.tag != fix::tag::kInvalid) line += fmt::format(": tag {}", why.tag);
    return detail.empty() ? line : line + ": " + detail;
}

}  // namespace

/// Logs the connections of an acceptor that found no session.
class FixEngine::Strangers final : public engine::AcceptorObserver {
public:
    /// quiet: only what is wrong.
    Strangers(std::string acceptor, service::Log& log, bool quiet)
        : acceptor_(std::move(acceptor)), log_(&log), quiet_(quiet) {}

    void on_refused(const engine::Refusal& why) override {
        log_->say(service::Severity::warning, fmt::format("{}.refused.{}", acceptor_, name(why.reason)),
                  fmt::format("{}: connection refused: {}", acceptor_, line_of(why)));
    }
    void on_reclaimed(const std::string& session) override {
        if (quiet_) return;
        log_->say(service::Severity::info, acceptor_ + ".reclaimed",
                  fmt::format("{}: removed to make room: it is disconnected", session));
    }

private:
    std::string acceptor_;
    service::Log* log_;
    bool quiet_;
};

/// An application with a log of what its session goes through.
class FixEngine::Watched final : public engine::Application {
public:
    /// quiet: of logons, logouts and closed connections only what is wrong. tap: null, or set for sessions that come by
    /// template.
    Watched(engine::Application& inner, service::Log& log, bool quiet, engine::WireTap* tap)
        : inner_(&inner), log_(&log), quiet_(quiet), tap_(tap) {}

    bool may_log_on(engine::SessionLink& link, const fix::Message& logon) override {
        if (tap_ != nullptr) link.handle().set_tap(tap_);
        return inner_->may_log_on(link, logon);
    }
    void on_send_admin(engine::SessionLink& link, fix::AdminDraft& draft) override {
        inner_->on_send_admin(link, draft);
    }
    void on_logon(engine::SessionLink& link) override {
        say(service::Severity::info, link, "logged on", link.peer().to_string());
        inner_->on_logon(link);
    }
    void on_logout(engine::SessionLink& link, std::string_view text) override {
        say(service::Severity::info, link, "logged out", printable(text));
        inner_->on_logout(link, text);
    }
    void on_refused(engine::SessionLink& link, const engine::Refusal& why) override {
        const auto& session = link.handle().name();
        auto cause = fmt::format("{}.not logged on.{}", session, name(why.reason));
        if (why.reason == engine::RefusalReason::unreachable) {
            cause +=
                "." + (why.peer.empty() ? std::string{why.detail} : why.peer.to_string());  // each host has its line
        } else {
            const std::lock_guard guard{lock_};
            refused_.insert(&link);
        }
        log_->say(service::Severity::warning, cause, fmt::format("{}: not logged on: {}", session, line_of(why)));
        inner_->on_refused(link, why);
    }
    void on_closed(engine::SessionLink& link, engine::Closed reason) override {
        const bool expected = reason == engine::Closed::logged_out || reason == engine::Closed::shut_down;
        if (!was_refused(link)) {
            say(expected ? service::Severity::info : service::Severity::warning, link, "closed", name(reason));
        }
        inner_->on_closed(link, reason);
    }
    fix::Verdict on_message(engine::SessionLink& link, const fix::Message& message) override {
        return inner_->on_message(link, message);
    }
    void on_reject(engine::SessionLink& link, const fix::Message& reject) override {
        // Before the logon, on_refused says it.
        if (link.session().state() != fix::Session::State::awaiting_logon) {
            say(service::Severity::warning, link, "rejected by the peer",
                printable(reject.text(fix::tag::kText).value_or("")));
        }
        inner_->on_reject(link, reject);
    }
    void on_history_lost(engine::SessionLink& link, const fix::LostHistory& lost) override {
        const auto& session = link.handle().name();
        const auto& all = link.session().tallies();
        // With the totals, so that a line that the rate limit leaves out hides nothing.
        log_->say(service::Severity::warning, session + ".history lost",
                  fmt::format("{}: history lost: of the messages {} to {}, {} are not in the store; the counterparty "
                              "got {} in their place (since the start: {} messages, {} gap fills, {} ResendRequests)",
                              session, lost.first, lost.last, lost.messages,
                              lost.gap_fills == 1 ? "a gap fill" : fmt::format("{} gap fills", lost.gap_fills),
                              all.lost.read(), all.lost_fills.read(), all.lost_requests.read()));
        inner_->on_history_lost(link, lost);
    }

private:
    [[nodiscard]] bool was_refused(const engine::SessionLink& link) {
        const std::lock_guard guard{lock_};
        return refused_.erase(&link) != 0;
    }
    void say(service::Severity severity, engine::SessionLink& link, std::string_view what, std::string_view detail) {
        if (quiet_ && severity == service::Severity::info) return;
        const auto& session = link.handle().name();
        log_->say(severity, fmt::format("{}.{}", session, what),
                  fmt::format("{}: {}{}{}", session, what, detail.empty() ? "" : ": ", detail));
    }

    engine::Application* inner_;
    service::Log* log_;
    bool quiet_;
    engine::WireTap* tap_;
    std::mutex lock_;
    std::set<const engine::SessionLink*> refused_;  // on_closed follows
};

namespace {

constexpr std::uint64_t kUsualMessageBytes = 256;

/// Without a file a restart forgets everything, and a busy day is more than the memory holds.
void say_what_is_kept(const SessionSettings& settings, service::Log& log) {
    if (!settings.store.empty()) return;
    log.say(
        service::Severity::info, fmt::format("{}->{}.memory", settings.sender, settings.target),
        fmt::format("{}->{}: no store file: about the newest {} messages of {} bytes can be resent (store_bytes {}), "
                    "and none after a restart",
                    settings.sender, settings.target,
                    settings.store_bytes / fix::StoreSegment::record_bytes(kUsualMessageBytes), kUsualMessageBytes,
                    settings.store_bytes));
}

}  // namespace

FixEngine::FixEngine(const EngineConfig& config, const Applications& applications, service::Log& log)
    : dictionaries_(config.dictionaries) {
    add_threads(config, log);
    for (const auto& settings : config.acceptors) {
        strangers_.push_back(std::make_unique<Strangers>(settings.name, log, config.quiet));
        engine::AllowList allowed;
        for (const auto& range : settings.allow) allowed.add(range);
        engine::Acceptor::Options options{.address = settings.listen.host(),
                                          .port = settings.listen.port(),
                                          .max_connections = settings.max_connections,
                                          .max_before_logon = settings.max_before_logon,
                                          .max_before_logon_per_address = settings.max_before_logon_per_address,
                                          .first_message_timeout = std::chrono::seconds{settings.first_message_seconds},
                                          .allowed = allowed,
                                          .observer = strangers_.back().get()};
        if (!settings.tls.certificate.empty()) options.tls = tls_options(settings.tls);
        acceptors_.push_back(std::make_unique<engine::Acceptor>(*io_.front(), options));
        acceptor_names_.push_back(settings.name);
        acceptor_hosts_.push_back(settings.listen.host());
        std::ranges::move(acceptors_.back()->add_metrics(registry_), std::back_inserter(registrations_));
    }
    initiator_ = std::make_unique<engine::Initiator>(*io_.front());
    for (std::size_t i = 0; i < config.sessions.size(); ++i) {
        const auto& settings = config.sessions[i];
        add_session(settings, applications, settings.thread.value_or(i % config.threads), log, config.quiet);
    }
    if (!config.metrics.empty()) {
        http_ = std::make_unique<http::Server>("metrics", config.metrics, [this](const http::Request& request) {
            if (request.path != "/metrics") return http::Page{};
            return http::Page{.type = std::string{metrics::Registry::kContentType},
                              .body = registry_.prometheus_text()};
        });
    }
    if (!config.admin.empty()) {
        admin_ = std::make_unique<AdminServer>(
            config.admin, [this](std::string_view request) { return answer_admin(request, sessions()); });
    }
}

FixEngine::~FixEngine() {
    for (const auto& io : io_) io->stop();
}

void FixEngine::add_threads(const EngineConfig& config, service::Log& log) {
    for (std::size_t i = 0; i < config.threads; ++i) {
        engine::IoThread::Options options{.name = fmt::format("fix-io-{}", i), .poll = config.poll};
        options.on_exception = [&log](const std::exception_ptr& error) {
            try {
                std::rethrow_exception(error);
            } catch (const std::exception& thrown) {
                log.say(service::Severity::error, "fix.exception", fmt::format("exception: {}", thrown.what()));
            }
        };
        if (config.pin) options.cpu = static_cast<int>(*config.pin + i);
        if (config.realtime != 0) options.realtime_priority = static_cast<int>(config.realtime);
        io_.push_back(std::make_unique<engine::IoThread>(options));
        const metrics::Labels labels{{"thread", options.name}};
        const auto& tallies = io_.back()->tallies();
        registrations_.push_back(registry_.add_counter(
            {"millpond_fix_io_rounds_total", "Rounds of an I/O thread over all its work.", labels}, tallies.rounds));
        registrations_.push_back(registry_.add_counter(
            {"millpond_fix_io_sleeps_total", "Times that an I/O thread waited.", labels}, tallies.sleeps));
        if (config.raw_log.empty()) continue;
        raw_logs_.push_back(std::make_unique<engine::RawLog>(engine::RawLog::Options{
            .file = config.threads == 1 ? config.raw_log : fmt::format("{}.thread{}", config.raw_log, i),
            .ring_bytes = config.raw_log_ring,
            .rotate_bytes = config.raw_log_rotate,
            .file_mode = config.file_mode,
            .secrets = fix::SecretTags{config.mask_tags}}));
        const auto& raw = raw_logs_.back()->tallies();
        const auto add = [&](const char* metric, const char* help, const core::Tally& tally) {
            registrations_.push_back(registry_.add_counter({metric, help, labels}, tally));
        };
        add("millpond_fix_raw_log_pieces_total", "Pieces of the stream taken into the raw log.", raw.pieces);
        add("millpond_fix_raw_log_lost_total", "Pieces of the stream that found no room in the raw log.",
            raw.lost_pieces);
        add("millpond_fix_raw_log_failed_bytes_total", "Bytes that could not be written to the raw log.",
            raw.failed_bytes);
    }
}

void FixEngine::add_session(const SessionSettings& settings, const Applications& applications, std::size_t thread,
                            service::Log& log, bool quiet) {
    auto options = session_options(settings, dictionaries_);
    auto& application = applications(settings, options.application);
    const bool by_template = settings.target == "*";
    // Those by template run on their acceptor's thread.
    auto* const tap = raw_logs_.empty() ? nullptr : raw_logs_[by_template ? 0 : thread].get();
    applications_.push_back(std::make_unique<Watched>(application, log, quiet, by_template ? tap : nullptr));
    say_what_is_kept(settings, log);
    if (!settings.hosts.empty()) {
        initiator_->add(std::move(options), initiator_options(settings), *applications_.back(), io_[thread].get())
            .set_tap(tap);
        return;
    }
    const auto named = std::ranges::find(acceptor_names_, settings.acceptor);
    auto& acceptor = *acceptors_[static_cast<std::size_t>(named - acceptor_names_.begin())];
    if (by_template) {
        acceptor.add_template(std::move(options), *applications_.back(), settings.max_dynamic);
    } else {
        acceptor.add(std::move(options), *applications_.back(), io_[thread].get()).set_tap(tap);
    }
}

void FixEngine::start() {
    for (const auto& io : io_) io->start();
    add_metrics_of_new_sessions();
}

void FixEngine::watch(std::chrono::milliseconds patience) {
    add_metrics_of_new_sessions();
    if (admin_ != nullptr) {
        admin_->poll(patience);
    } else {
        std::this_thread::sleep_for(patience);
    }
}

/// Sessions come by template, and go.
void FixEngine::add_metrics_of_new_sessions() {
    const auto all = sessions();
    std::erase_if(session_metrics_,
                  [&](const auto& known) { return std::ranges::find(all, known.second.session) == all.end(); });
    for (const auto& session : all) {
        if (session_metrics_.contains(session->name())) continue;
        session_metrics_.emplace(session->name(), Listed{session, session->add_metrics(registry_)});
    }
}

bool FixEngine::drain(std::chrono::milliseconds bound) {
    const auto end = std::chrono::steady_clock::now() + bound;
    bool all = true;
    for (const auto& io : io_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        all = io->drain(std::max(left, std::chrono::milliseconds{1})) && all;
    }
    return all;
}

SessionList FixEngine::sessions() const {
    auto all = initiator_->sessions();
    for (const auto& acceptor : acceptors_) std::ranges::move(acceptor->sessions(), std::back_inserter(all));
    return all;
}

std::vector<std::string> FixEngine::listening() const {
    std::vector<std::string> places;
    for (std::size_t i = 0; i < acceptors_.size(); ++i) {
        places.push_back(fmt::format("{}:{}", acceptor_hosts_[i], acceptors_[i]->port()));
    }
    return places;
}

std::string FixEngine::metrics_address() const { return http_ != nullptr ? http_->address().to_string() : ""; }

}  // namespace millpond::fixd
