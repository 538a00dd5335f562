#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

/// Runs programs and checks their output and exit codes.
namespace millpond::app {

/// Timeout of a test for an action of a program.
inline constexpr std::int64_t kPatienceNs = 60'000'000'000;

struct Outcome {
    int exit_code{-1};  ///< 128 + signal if a signal ended it.
    std::string out;
    std::string err;
};

/// A run of a program, with its output in pipes. The destructor kills a process that still runs.
///
/// A thread reads the pipes all the time: a program whose output waits for a reader would stop, and with it what other
/// programs expect from it.
class Program {
public:
    explicit Program(const std::vector<std::string>& arguments);
    /// Runs another program, by its path or found in PATH.
    Program(const std::string& program, const std::vector<std::string>& arguments);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void signal(int number) const;

    /// Waits until standard output or error contains `text` `times` times; false if the program ends first or after a
    /// minute.
    [[nodiscard]] bool prints(const std::string& text, std::size_t times = 1);

    /// Output so far: standard output, then standard error.
    [[nodiscard]] std::string output() const;

    /// Text between `mark` and the next blank, comma or line end in the output so far; empty if there is no `mark`.
    [[nodiscard]] std::string word_after(const std::string& mark) const;

    /// Waits for the end, kills the process after `patience`, and returns its output and exit code.
    Outcome wait(std::chrono::seconds patience = std::chrono::seconds{60});

private:
    /// Reads the pipes to their ends.
    void read(const std::stop_token& stop, int out, int err);

    pid_t pid_{-1};
    bool ended_{false};
    mutable std::mutex lock_;
    std::condition_variable has_read_;
    Outcome outcome_;
    bool at_end_{false};
    std::jthread reader_;
};

Outcome run(const std::vector<std::string>& arguments);

/// Runs millpond without permission for SCHED_FIFO: without the limit that allows it, and without CAP_SYS_NICE.
Outcome run_without_realtime(const std::vector<std::string>& arguments);

}  // namespace millpond::app
