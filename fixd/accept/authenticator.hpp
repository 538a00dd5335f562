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
#include "fixd/accept/turn_queue.hpp"
#include "fixd/accept/user_file.hpp"
#include "fixd/engine_config.hpp"
#include "service/log.hpp"

namespace millpond::fixd {

/// Decides who may log on to sessions with `users` or `certificates`. A separate thread checks passwords, one after
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

    /// Null for a session without requirements. takes_new_password: whether its Logon may have NewPassword(925).
    [[nodiscard]] std::shared_ptr<engine::LogonGuard> guard_of(const SessionSettings& session, bool takes_new_password);
    [[nodiscard]] std::vector<metrics::Registration> add_metrics(metrics::Registry& registry) const;

private:
    class Guard;
    /// The requirements of a session.
    struct Rules {
        std::string session;
        UserFile user_file;
        std::vector<std::string> users;
        std::vector<std::string> certificates;
        bool takes_new_password;
    };
    struct Job {
        engine::LogonAttempt attempt;
        engine::LogonGuard::Answer answer;
        std::shared_ptr<const Rules> rules;
    };
    /// Key of a queue of waiting Logons: each session has one for addresses that have logged on since startup, and one
    /// for all others.
    struct Line {
        const Rules* rules;
        bool is_known;
        friend bool operator==(const Line&, const Line&) = default;
    };
    /// Attempts by outcome; under the lock.
    struct Counters {
        core::Tally admitted;
        core::Tally certificate;
        core::Tally delayed;
        core::Tally queue_full;
        core::Tally password;  ///< Or the user.
        core::Tally new_password;
        core::Tally failed;  ///< By us.
    };

    void count(core::Tally& tally);
    /// Queues an attempt, or answers it with the reason for the refusal.
    void enqueue(Job job);
    /// Under the lock. Empty: there is room.
    [[nodiscard]] std::string full_for(const Line& line);
    /// Under the lock. Empty: it need not wait.
    [[nodiscard]] std::string delayed(const Job& job);
    void run();
    /// Empty: it may log on, and a NewPassword is in force.
    [[nodiscard]] std::string wrong_in(const Job& job);
    [[nodiscard]] std::string wrong_in_change(const Job& job, const service::PasswordHash& former);

    service::Log* log_;
    std::optional<service::PasswordHash> decoy_;  // compared for unknown users, so that their attempts take as long
    Counters counters_;
    mutable std::mutex lock_;  // protects everything below, and writes of the counters
    std::condition_variable waiting_;
    TurnQueue<Line, Job> jobs_;
    FailedLogons failures_;
    std::set<std::string> known_;  // addresses that have logged on and not failed since
    bool stopping_{false};
    std::thread thread_;  // from the first session with users on
};

/// Reads the user_file, if there is one. Returns a sentence for each user of a session that has no line in it. Throws
/// as UserFile::check.
[[nodiscard]] std::vector<std::string> check_users(const EngineConfig& config);

}  // namespace millpond::fixd
