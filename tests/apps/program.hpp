#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

/// Starts the program millpond, or another, and looks at what it says and how it ends.
namespace millpond::app {

/// How long a test waits for what a program should do soon.
inline constexpr std::int64_t kPatienceNs = 60'000'000'000;

struct Outcome {
    int exit_code{-1};  ///< 128 + signal when a signal ended it.
    std::string out;
    std::string err;
};

/// One run of a program with its output in pipes. Ends the process by SIGKILL if it still runs when this goes.
class Program {
public:
    explicit Program(const std::vector<std::string>& arguments);
    /// Another program, by its path or found in PATH.
    Program(const std::string& program, const std::vector<std::string>& arguments);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void signal(int number) const;

    /// Reads on until standard output or error holds `text` so many times; false when the program ended or a minute
    /// passed before.
    [[nodiscard]] bool says(const std::string& text, std::size_t times = 1);

    /// What was read so far: standard output, then standard error.
    [[nodiscard]] std::string said() const { return outcome_.out + outcome_.err; }

    /// What stands between `mark` and the next blank, comma or line's end in what was said so far; empty when it was
    /// not said.
    [[nodiscard]] std::string word_behind(const std::string& mark) const;

    /// Waits for the end, by SIGKILL after so long, and gives everything that was said.
    Outcome wait(std::chrono::seconds patience = std::chrono::seconds{60});

private:
    /// Takes what the pipes hold, waiting at most `timeout_ms`; false when both are at their end.
    bool read_more(int timeout_ms);

    pid_t pid_{-1};
    int out_{-1};
    int err_{-1};
    Outcome outcome_;
    bool ended_{false};
};

Outcome run(const std::vector<std::string>& arguments);

/// The same without permission for SCHED_FIFO: without the limit that allows it, and without CAP_SYS_NICE.
Outcome run_without_realtime(const std::vector<std::string>& arguments);

}  // namespace millpond::app
