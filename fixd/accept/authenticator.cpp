#include "fixd/accept/authenticator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include <millpond/core/thread_name.hpp>

#include "fixd/settings/session_build.hpp"

namespace millpond::fixd {
namespace {

constexpr std::size_t kMaxPerQueue = 16;
constexpr std::size_t kMaxUnknown = 256;  // waiting attempts of unknown addresses, in all queues
constexpr std::size_t kMaxKnown = 10'000;
constexpr std::size_t kMaxShownBytes = 64;

/// The key that failures are counted by.
std::string failure_key(const engine::LogonAttempt& attempt, const std::string& session) {
    return source_of(attempt.peer) + " " + session;
}

std::string_view shortened(std::string_view text) { return text.substr(0, kMaxShownBytes); }

/// Erases a secret from memory.
void wipe(std::string& secret) noexcept {
    for (volatile char& c : secret) c = '\0';
    secret.clear();
}

}  // namespace

class Authenticator::Guard final : public engine::LogonGuard {
public:
    Guard(Authenticator& authenticator, Rules rules)
        : authenticator_(&authenticator), rules_(std::make_shared<const Rules>(std::move(rules))) {}

    void check(engine::LogonAttempt attempt, Answer answer) override {
        const auto& allowed = rules_->certificates;
        const auto& names = attempt.certificate_names;
        const bool has_one = std::ranges::find_first_of(names, allowed) != names.end();
        if (!allowed.empty() && !has_one) {
            authenticator_->count(authenticator_->counters_.certificate);
            return answer(
                {.refusal = names.empty() ? "no certificate" : fmt::format("certificate {}", fmt::join(names, ", "))});
        }
        if (!rules_->users.empty()) return authenticator_->enqueue({std::move(attempt), std::move(answer), rules_});
        authenticator_->count(authenticator_->counters_.admitted);
        answer({});
    }

private:
    Authenticator* authenticator_;
    std::shared_ptr<const Rules> rules_;
};

Authenticator::~Authenticator() {
    {
        const std::lock_guard guard{lock_};
        stopping_ = true;
    }
    waiting_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::shared_ptr<engine::LogonGuard> Authenticator::guard_of(const SessionSettings& session, bool allows_new_password) {
    if (session.users.empty() && session.certificates.empty()) return nullptr;
    if (!session.users.empty() && !thread_.joinable()) {
        decoy_ = service::PasswordHash::of("the password of no user");
        thread_ = std::thread{[this] {
            core::name_this_thread("fix-logon");
            run();
        }};
    }
    return std::make_shared<Guard>(*this, Rules{.session = session_name(session),
                                                .user_file = UserFile{session.user_file},
                                                .users = session.users,
                                                .certificates = session.certificates,
                                                .allows_new_password = allows_new_password});
}

std::vector<metrics::Registration> Authenticator::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    const auto add = [&](const char* result, const core::Tally& tally) {
        list.push_back(registry.add_counter({"millpond_fix_logon_checks_total",
                                             "Logons at sessions with users or certificates, by result of the check.",
                                             {{"result", result}}},
                                            tally));
    };
    add("admitted", counters_.admitted);
    add("certificate", counters_.certificate);
    add("password", counters_.password);
    add("new_password", counters_.new_password);
    add("delayed", counters_.delayed);
    add("queue_full", counters_.queue_full);
    add("failed", counters_.failed);
    return list;
}

void Authenticator::count(core::Tally& tally) {
    const std::lock_guard guard{lock_};
    tally.add();
}

void Authenticator::enqueue(Job job) {
    std::string refusal;
    {
        const std::lock_guard guard{lock_};
        refusal = delayed(job);
        const QueueKey key{job.rules.get(), known_.contains(failure_key(job.attempt, job.rules->session))};
        if (refusal.empty()) refusal = full_reason(key);
        if (refusal.empty()) {
            jobs_.push(key, std::move(job));
            waiting_.notify_one();
            return;
        }
    }
    wipe(job.attempt.password);
    wipe(job.attempt.new_password);
    job.answer({.refusal = std::move(refusal)});
}

std::string Authenticator::full_reason(const QueueKey& key) {
    const auto waiting = jobs_.size_of(key);
    if (waiting < kMaxPerQueue && (key.is_known || jobs_.size() < kMaxUnknown)) return {};
    counters_.queue_full.add();
    return fmt::format("{} logons are waiting for password checks, {} of them at this session", jobs_.size(), waiting);
}

std::string Authenticator::delayed(const Job& job) {
    const auto wait = failures_.wait(failure_key(job.attempt, job.rules->session), FailedLogons::Clock::now());
    if (!wait) return {};
    counters_.delayed.add();
    return fmt::format("failed logons from this address: {}; the next one in {} s", wait->failures, wait->left.count());
}

void Authenticator::run() {
    for (;;) {
        Job job;
        std::string refusal;
        {
            std::unique_lock lock{lock_};
            waiting_.wait(lock, [this] { return stopping_ || jobs_.size() != 0; });
            if (stopping_) return;
            job = jobs_.pop();
            refusal = delayed(job);  // an earlier attempt may have failed
        }
        if (refusal.empty()) refusal = check_attempt(job);
        const bool changed = refusal.empty() && !job.attempt.new_password.empty();
        wipe(job.attempt.password);
        wipe(job.attempt.new_password);
        job.answer({.refusal = std::move(refusal), .password_changed = changed});
    }
}

std::string Authenticator::check_attempt(const Job& job) {
    const auto& attempt = job.attempt;
    const auto& rules = *job.rules;
    const auto ends = [&](core::Tally& tally, std::string refusal) {
        const std::lock_guard guard{lock_};
        tally.add();
        const auto name = failure_key(attempt, rules.session);
        if (&tally == &counters_.password) {
            known_.erase(name);
            failures_.failed(name, FailedLogons::Clock::now());
        } else if (refusal.empty() && known_.insert(name).second && known_.size() > kMaxKnown) {
            known_.erase(known_.begin());
        }
        return refusal;
    };
    try {
        const auto user = rules.user_file.find(attempt.username);
        const auto& hash = user ? *user : *decoy_;
        // A guard before this one may have changed the password in the same file, or in another.
        const bool has_changed = attempt.password_changed && hash.admits(attempt.new_password) && user;
        const bool right = has_changed || (hash.admits(attempt.password) && user);
        const bool listed = std::ranges::find(rules.users, attempt.username) != rules.users.end();
        if (attempt.username.empty()) return ends(counters_.password, "no Username(553)");
        const auto name = shortened(attempt.username);
        if (!user) return ends(counters_.password, fmt::format("unknown user '{}'", name));
        if (!right) return ends(counters_.password, fmt::format("wrong password of user '{}'", name));
        if (!listed) return ends(counters_.password, fmt::format("user '{}' does not belong to this session", name));
        if (!attempt.new_password.empty() && !has_changed) {
            if (auto wrong = change_password(job, *user); !wrong.empty()) {
                return ends(counters_.new_password, std::move(wrong));
            }
        }
        return ends(counters_.admitted, {});
    } catch (const std::exception& error) {
        return ends(counters_.failed, error.what());
    }
}

/// Changes the password. Returns the reason for a refusal; if empty, the new password is on the disk.
std::string Authenticator::change_password(const Job& job, const service::PasswordHash& former) {
    const auto& attempt = job.attempt;
    const auto& wanted = attempt.new_password;
    const auto refused = [&](std::string_view why) {
        return fmt::format("NewPassword(925) of user '{}' {}", shortened(attempt.username), why);
    };
    if (!job.rules->allows_new_password) return refused("is not a field of this session's Logon");
    if (const auto wrong = service::wrong_with_password(wanted); !wrong.empty()) return refused(wrong);
    if (wanted == attempt.password) return refused("is the same as the old one");
    try {
        job.rules->user_file.change(attempt.username, former, service::PasswordHash::of(wanted));
    } catch (const std::exception& error) {
        return refused(fmt::format("cannot be stored: {}", error.what()));
    }
    log_->say(service::Severity::info, fmt::format("{}.new password", job.rules->session),
              fmt::format("{}: user '{}' changed its password, from {}", job.rules->session, attempt.username,
                          attempt.peer.to_string()));
    return {};
}

}  // namespace millpond::fixd
