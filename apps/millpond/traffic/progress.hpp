#pragma once

#include <cstdint>
#include <string>

namespace millpond::app {

/// How far long work is, on standard error: a line that is written over on a terminal, else one every five seconds.
///
/// Threads: one.
class Progress {
public:
    /// what: "verify", say. total: in `unit`s, "records" say; 0 where it is not known.
    Progress(std::string what, std::string unit, std::uint64_t total);
    /// Ends the line on a terminal.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Cheap when nothing is due.
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
