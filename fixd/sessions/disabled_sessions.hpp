#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "service/log.hpp"

namespace millpond::fixd {

/// Sessions that an operator disabled, in a file with a name on each line, so that a restart keeps them disabled.
///
/// Threads: any.
class DisabledSessions {
public:
    /// file: if empty, a restart enables all. Throws std::runtime_error if it cannot be read.
    DisabledSessions(std::string file, std::uint32_t file_mode, service::Log& log);

    [[nodiscard]] bool has(std::string_view session) const;
    /// Disables or enables a session. If the file cannot be written, logs an error; the change holds until a restart.
    void set(std::string_view session, bool disabled);
    [[nodiscard]] std::vector<std::string> names() const;

private:
    void write() const;

    std::string file_;
    std::uint32_t file_mode_;
    service::Log* log_;
    std::mutex file_lock_;     // held during writes; `has` on I/O threads must not wait for the disk
    mutable std::mutex lock_;  // protects names_; locked after file_lock_
    std::set<std::string, std::less<>> names_;
};

}  // namespace millpond::fixd
