#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace millpond::gateway::iex {

/// Counts the snapshot requests of a day in a file, which all processes that use it share, so that restarts do not
/// exceed what IEX allows. Days are those of UTC, which begin outside of IEX's hours.
///
/// Threads: one; several processes may use the file.
class SnapQuota {
public:
    /// path: of the file, whose folder is created with it.
    explicit SnapQuota(std::string path) : path_(std::move(path)) {}

    /// Counts a request that is about to be sent at this time. Returns the number of the day's requests, with this one.
    /// Throws std::runtime_error if all of the day's requests are used up, or if the file has something else in it;
    /// std::system_error that names the file if it cannot be written.
    std::uint64_t count(std::int64_t now_utc_ns);

private:
    std::string path_;
};

}  // namespace millpond::gateway::iex
