#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "service/log.hpp"

namespace millpond::fixd {

/// Which sessions an operator keeps out: a file with a name on each line, so that a restart forgets none.
///
/// Threads: any.
class DisabledSessions {
public:
    /// file: empty: they are forgotten. Throws std::runtime_error: it cannot be read.
    DisabledSessions(std::string file, std::uint32_t file_mode, service::Log& log);

    [[nodiscard]] bool has(std::string_view session) const;
    /// A file that cannot be written is an error in the log: the session is disabled all the same, until a restart.
    void set(std::string_view session, bool disabled);
    [[nodiscard]] std::vector<std::string> names() const;

private:
    void write() const;

    std::string file_;
    std::uint32_t file_mode_;
    service::Log* log_;
    std::mutex file_lock_;     // `has` is asked on I/O threads, which do not wait for the disk
    mutable std::mutex lock_;  // of the names; taken after the other
    std::set<std::string, std::less<>> names_;
};

}  // namespace millpond::fixd
