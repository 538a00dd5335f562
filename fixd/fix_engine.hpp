#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/acceptor.hpp>
#include <millpond/engine/initiator.hpp>
#include <millpond/engine/io_thread.hpp>
#include <millpond/engine/raw_log.hpp>
#include <millpond/metrics/registry.hpp>

#include "fixd/admin_server.hpp"
#include "fixd/engine_config.hpp"
#include "fixd/session_build.hpp"
#include "service/http/server.hpp"
#include "service/log.hpp"

namespace millpond::fixd {

/// The FIX engine as a configuration describes it: I/O threads, acceptors, sessions, raw logs, metrics, administration.
///
/// Threads: used on one; applications are called on the I/O threads.
class FixEngine {
public:
    /// Gives the application of a session; called once for each, application as in Dictionaries::Pair.
    using Applications =
        std::function<engine::Application&(const SessionSettings& session, const fix::Dictionary* application)>;

    /// config: completed. log: outlives this. Throws what cannot be had: an address, a file, a certificate.
    FixEngine(const EngineConfig& config, const Applications& applications, service::Log& log);
    ~FixEngine();
    FixEngine(const FixEngine&) = delete;
    FixEngine& operator=(const FixEngine&) = delete;

    /// From now on connections are made and taken.
    void start();
    /// Answers `millpond fix sessions` and looks after what needs no hurry; returns after `patience` or when something
    /// was done.
    void watch(std::chrono::milliseconds patience);
    /// Logs all sessions out. False when `bound` was too short.
    bool drain(std::chrono::milliseconds bound);

    [[nodiscard]] std::vector<std::shared_ptr<engine::SessionHandle>> sessions() const;
    /// ADDRESS:PORT of each acceptor, in the order of the configuration.
    [[nodiscard]] std::vector<std::string> listening() const;
    /// Where /metrics is; empty where nowhere.
    [[nodiscard]] std::string metrics_address() const;

private:
    class Watched;
    class Strangers;

    void add_threads(const EngineConfig& config, service::Log& log);
    void add_session(const SessionSettings& settings, const Applications& applications, std::size_t thread,
                     service::Log& log, bool quiet);
    void add_metrics_of_new_sessions();

    metrics::Registry registry_;
    Dictionaries dictionaries_;
    std::vector<std::unique_ptr<engine::RawLog>> raw_logs_;  // one an I/O thread, or none
    std::vector<std::unique_ptr<Watched>> applications_;
    std::vector<std::unique_ptr<engine::IoThread>> io_;
    std::vector<std::unique_ptr<Strangers>> strangers_;  // by acceptor
    std::vector<std::string> acceptor_names_;
    std::vector<std::string> acceptor_hosts_;
    std::vector<std::unique_ptr<engine::Acceptor>> acceptors_;
    std::unique_ptr<engine::Initiator> initiator_;
    std::vector<metrics::Registration> registrations_;
    struct Listed {
        std::shared_ptr<engine::SessionHandle> session;  // kept: its metrics refer to it
        std::vector<metrics::Registration> registrations;
    };
    std::map<std::string, Listed> session_metrics_;  // by session
    std::unique_ptr<http::Server> http_;
    std::unique_ptr<AdminServer> admin_;
};

}  // namespace millpond::fixd
