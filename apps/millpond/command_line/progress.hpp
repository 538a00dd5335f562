#pragma once

#include <cstdint>
#include <string>

namespace millpond::app {

/// Progress on standard error: a line that is overwritten on a terminal, else one every five seconds.
///
/// Threads: one.
class Progress {
public:
    /// what: name of the activity, such as "verify". total: number of units, such as "records"; 0 if unknown.
    Progress(std::string what, std::string unit, std::uint64_t total);
    /// Ends the line on a terminal.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Reports progress if an update is due.
    void at(std::uint64_t done);

private:
    std::string what_;
    std::string unit_;
    std::uint64_t total_;
    bool on_terminal_;
    bool shown_{false};
    std::int64_t begun_ns_;
    std::int64_t due_ns_;
};

}  // namespace millpond::app
