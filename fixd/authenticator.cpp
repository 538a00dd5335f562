#include "fixd/authenticator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include <millpond/core/thread_name.hpp>

namespace millpond::fixd {
namespace {

constexpr std::size_t kMostWaiting = 64;
constexpr std::size_t kMostOfSession = 8;  // so that a flood at one session leaves room for the others
constexpr std::size_t kShortestPassword = 8;
constexpr std::size_t kLongestShown = 64;

/// Where one counterparty comes from, whatever its port.
std::string who(const engine::LogonAttempt& attempt, const std::string& session) {
    return attempt.peer.with_port(0).to_string() + " " + session;
}

std::string_view shown(std::string_view text) { return text.substr(0, kLongestShown); }

/// Leaves nothing of it in memory.
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
            return answer(names.empty() ? "no certificate" : fmt::format("certificate {}", fmt::join(names, ", ")));
        }
        if (!rules_->users.empty()) return authenticator_->enqueue({std::move(attempt), std::move(answer), rules_});
        authenticator_->count(authenticator_->counters_.admitted);
        answer({});
    }

private:
    Authenticator* authenticator_;
    std::shared_ptr<const Rules> rules_;
};

Authenticator::Authenticator(const std::string& user_file, service::Log& log) : log_(&log) {
    if (user_file.empty()) return;
    users_.emplace(user_file);
    nobody_ = service::PasswordHash::of("");
    thread_ = std::thread{[this] {
        core::name_this_thread("fix-logon");
        run();
    }};
}

Authenticator::~Authenticator() {
    {
        const std::lock_guard guard{lock_};
        stopping_ = true;
    }
    waiting_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::shared_ptr<engine::LogonGuard> Authenticator::guard_of(const SessionSettings& session, bool takes_new_password) {
    if (session.users.empty() && session.certificates.empty()) return nullptr;
    return std::make_shared<Guard>(*this, Rules{.session = fmt::format("{}->{}", session.sender, session.target),
                                                .users = session.users,
                                                .certificates = session.certificates,
                                                .takes_new_password = takes_new_password});
}

void Authenticator::reload() {
    if (users_) users_->reload();
}

std::vector<metrics::Registration> Authenticator::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    const auto add = [&](const char* result, const core::Tally& tally) {
        list.push_back(registry.add_counter({"millpond_fix_logon_checks_total",
                                             "Logons at sessions with users or certificates, by how the check ended.",
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
        refusal = why_not_now(job);
        if (refusal.empty()) {
            jobs_.push_back(std::move(job));
            waiting_.notify_one();
            return;
        }
    }
    wipe(job.attempt.password);
    wipe(job.attempt.new_password);
    job.answer(std::move(refusal));
}

std::string Authenticator::why_not_now(const Job& job) {
    const auto of_session = static_cast<std::size_t>(std::ranges::count(jobs_, job.rules, &Job::rules));
    if (of_session >= kMostOfSession || jobs_.size() >= kMostWaiting) {
        counters_.queue_full.add();
        return fmt::format("{} logons wait for their passwords to be compared, {} of this session", jobs_.size(),
                           of_session);
    }
    const auto wait = failures_.begin(who(job.attempt, job.rules->session), FailedLogons::Clock::now());
    if (!wait) return {};
    counters_.delayed.add();
    if (wait->left.count() == 0) return "another logon from this address is being looked at";
    return fmt::format("failed logons from this address: {}; the next one in {} s", wait->failures, wait->left.count());
}

void Authenticator::run() {
    for (;;) {
        Job job;
        {
            std::unique_lock lock{lock_};
            waiting_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
            if (stopping_) return;
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        const auto refusal = wrong_in(job);
        wipe(job.attempt.password);
        wipe(job.attempt.new_password);
        job.answer(refusal);
    }
}

std::string Authenticator::wrong_in(const Job& job) {
    const auto& attempt = job.attempt;
    const auto& rules = *job.rules;
    const auto ends = [&](core::Tally& tally, bool failed, std::string refusal) {
        const std::lock_guard guard{lock_};
        tally.add();
        failures_.settle(who(attempt, rules.session), failed, FailedLogons::Clock::now());
        return refusal;
    };
    try {
        const auto user = users_->find(attempt.username);
        const bool right = (user ? *user : *nobody_).admits(attempt.password) && user;
        const bool listed = std::ranges::find(rules.users, attempt.username) != rules.users.end();
        if (attempt.username.empty()) return ends(counters_.password, true, "no Username(553)");
        const auto name = shown(attempt.username);
        if (!user) return ends(counters_.password, true, fmt::format("unknown user '{}'", name));
        if (!right) return ends(counters_.password, true, fmt::format("wrong password of user '{}'", name));
        if (!listed) return ends(counters_.password, true, fmt::format("user '{}' is not one of this session", name));
        if (!attempt.new_password.empty()) {
            if (auto wrong = wrong_in_change(job); !wrong.empty()) {
                return ends(counters_.new_password, false, std::move(wrong));
            }
        }
        return ends(counters_.admitted, false, {});
    } catch (const std::exception& error) {
        return ends(counters_.failed, false, error.what());
    }
}

/// The new password is on the disk when this returns nothing.
std::string Authenticator::wrong_in_change(const Job& job) {
    const auto& attempt = job.attempt;
    const auto& wanted = attempt.new_password;
    const auto refused = [&](std::string_view why) {
        return fmt::format("NewPassword(925) of user '{}' {}", shown(attempt.username), why);
    };
    if (!job.rules->takes_new_password) return refused("is not a field of this session's Logon");
    if (wanted.size() < kShortestPassword) return refused("has less than 8 characters");
    if (wanted == attempt.password) return refused("is the old one");
    try {
        users_->change(attempt.username, service::PasswordHash::of(wanted));
    } catch (const std::exception& error) {
        return refused(fmt::format("cannot be stored: {}", error.what()));
    }
    log_->say(service::Severity::info, fmt::format("{}.new password", job.rules->session),
              fmt::format("{}: user '{}' changed its password, from {}", job.rules->session, attempt.username,
                          attempt.peer.to_string()));
    return {};
}

}  // namespace millpond::fixd
