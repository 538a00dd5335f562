#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include <millpond/core/descriptor.hpp>

namespace millpond::fixd {

/// Answers requests of one line on a UNIX socket that only its owner may use. Each answer is one line.
///
/// Threads: one.
/// Source:  unix(7).
class AdminServer {
public:
    using Answer = std::function<std::string(std::string_view request)>;

    /// Listens at `path`; replaces the socket of a dead engine. Throws std::system_error with the path: another engine
    /// listens there, or the socket cannot be created.
    AdminServer(std::string path, Answer answer);
    ~AdminServer();
    AdminServer(const AdminServer&) = delete;
    AdminServer& operator=(const AdminServer&) = delete;

    /// Waits up to `patience` for a client and answers its requests. A client that is silent for a second is
    /// disconnected.
    void poll(std::chrono::milliseconds patience);

private:
    void serve(int client);

    std::string path_;
    Answer answer_;
    core::Descriptor listener_;
};

/// Sends one line to the engine at `path` and returns its answer. Throws std::system_error that names the path.
[[nodiscard]] std::string ask_engine(const std::string& path, std::string_view request);

}  // namespace millpond::fixd
