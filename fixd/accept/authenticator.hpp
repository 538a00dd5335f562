#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/engine/logon_guard.hpp>
#include <millpond/metrics/registry.hpp>

#include "fixd/accept/failed_logons.hpp"
#include "fixd/accept/round_robin_queue.hpp"
#include "fixd/settings/engine_config.hpp"
#include "fixd/settings/user_file.hpp"
#include "service/log.hpp"

namespace millpond::fixd {

/// Checks the Logons of sessions with `users` or `certificates`. A separate thread checks passwords, one after
/// the other; an address that fails at a session waits there longer each time.
///
/// Threads: guard_of on one at a time; guards on I/O threads. Ends after the sessions that have its guards.
class Authenticator {
public:
    /// log: outlives this.
    explicit Authenticator(service::Log& log) : log_(&log) {}
    ~Authenticator();
    Authenticator(const Authenticator&) = delete;
    Authenticator& operator=(const Authenticator&) = delete;

    /// The guard of a session; null if the session has neither users nor certificates. allows_new_password: whether its
    /// Logon may have NewPassword(925).
    [[nodiscard]] std::shared_ptr<engine::LogonGuard> guard_of(const SessionSettings& session,
                                                               bool allows_new_password);
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;

private:
    class Guard;
    /// The requirements of a session.
    struct Rules {
        std::string session;
        UserFile user_file;
        std::vector<std::string> users;
        std::vector<std::string> certificates;
        bool allows_new_password;
    };
    struct Job {
        engine::LogonAttempt attempt;
        engine::LogonGuard::Answer answer;
        std::shared_ptr<const Rules> rules;
    };
    /// Key of a queue of waiting Logons: each session has one for addresses that have logged on since startup, and one
    /// for all others.
    struct QueueKey {
        const Rules* rules;
        bool is_known;
        friend bool operator==(const QueueKey&, const QueueKey&) = default;
    };
    /// Attempts by outcome; under the lock.
    struct Counters {
        core::Tally admitted;
        core::Tally certificate;
        core::Tally delayed;
        core::Tally queue_full;
        core::Tally password;  ///< Or the user.
        core::Tally new_password;
        core::Tally failed;  ///< The check itself failed.
    };

    void count(core::Tally& tally);
    /// Queues an attempt, or refuses it with the reason.
    void enqueue(Job job);
    /// The reason why the queue admits no further attempt; empty if it does. Under the lock.
    [[nodiscard]] std::string full_reason(const QueueKey& key);
    /// The reason if the attempt comes before its delay is over; else empty. Under the lock.
    [[nodiscard]] std::string delayed(const Job& job);
    void run();
    /// The reason for a refusal. Empty: the attempt is accepted, and its NewPassword is stored.
    [[nodiscard]] std::string check_attempt(const Job& job);
    [[nodiscard]] std::string change_password(const Job& job, const service::PasswordHash& former);

    service::Log* log_;
    std::optional<service::PasswordHash> decoy_;  // compared for unknown users, so that their attempts last as long
    Counters counters_;
    mutable std::mutex lock_;  // protects everything below, and writes of the counters
    std::condition_variable waiting_;
    RoundRobinQueue<QueueKey, Job> jobs_;
    FailedLogons failures_;
    std::set<std::string> known_;  // addresses that have logged on and not failed since
    bool stopping_{false};
    std::thread thread_;  // from the first session with users on
};

}  // namespace millpond::fixd
