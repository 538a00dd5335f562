#include "tests/apps/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/scratch_file.hpp"

extern char** environ;

namespace millpond::app {
namespace {

/// Reads the available bytes; at the end closes the pipe and sets it to -1.
std::string drain(int& pipe) {
    std::array<char, 4096> buffer;
    const auto got = ::read(pipe, buffer.data(), buffer.size());
    if (got > 0) return {buffer.data(), static_cast<std::size_t>(got)};
    if (got == 0 || errno != EINTR) close(std::exchange(pipe, -1));
    return {};
}

/// Default state folder of the programs: a folder of this process instead of the user's home.
class StateFolder {
public:
    StateFolder() {
        setenv("XDG_STATE_HOME", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): before the first program
        unsetenv("STATE_DIRECTORY");                 // NOLINT(concurrency-mt-unsafe): before the first program
    }
    ~StateFolder() {
        std::error_code failed;
        std::filesystem::remove_all(path_, failed);
    }
    StateFolder(const StateFolder&) = delete;
    StateFolder& operator=(const StateFolder&) = delete;

private:
    const std::string path_ = ::testing::TempDir() + test::scratch_name("state_home");
};

std::size_t occurrences(const std::string& in, const std::string& text) {
    std::size_t count = 0;
    for (auto at = in.find(text); at != std::string::npos; at = in.find(text, at + text.size())) ++count;
    return count;
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments) : Program(MILLPOND_PROGRAM, arguments) {}

Program::Program(const std::string& program, const std::vector<std::string>& arguments) {
    static const StateFolder state;
    std::vector<char*> argv;
    std::string name = program;
    argv.push_back(name.data());
    auto copies = arguments;
    for (auto& argument : copies) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    const int failed = posix_spawnp(&pid_, name.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    close(err[1]);
    reader_ = std::jthread{[this, out = out[0], err = err[0]](const std::stop_token& stop) { read(stop, out, err); }};
    if (failed != 0) throw std::runtime_error("cannot start " + name);
}

Program::~Program() {
    if (!ended_) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
}

void Program::signal(int number) const { kill(pid_, number); }

void Program::read(const std::stop_token& stop, int out, int err) {
    constexpr int kStopAfterMs = 100;
    while ((out >= 0 || err >= 0) && !stop.stop_requested()) {
        std::array<pollfd, 2> waiting{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
        if (poll(waiting.data(), waiting.size(), kStopAfterMs) <= 0) continue;
        const auto out_text = waiting[0].revents != 0 ? drain(out) : std::string{};
        const auto err_text = waiting[1].revents != 0 ? drain(err) : std::string{};
        const std::lock_guard guard{lock_};
        outcome_.out += out_text;
        outcome_.err += err_text;
        has_read_.notify_all();
    }
    for (const int pipe : {out, err}) {
        if (pipe >= 0) close(pipe);
    }
    const std::lock_guard guard{lock_};
    at_end_ = true;
    has_read_.notify_all();
}

std::string Program::output() const {
    const std::lock_guard guard{lock_};
    return outcome_.out + outcome_.err;
}

bool Program::prints(const std::string& text, std::size_t times) {
    const auto found = [&] {
        return std::max(occurrences(outcome_.out, text), occurrences(outcome_.err, text)) >= times;
    };
    std::unique_lock lock{lock_};
    has_read_.wait_for(lock, std::chrono::nanoseconds{kPatienceNs}, [&] { return found() || at_end_; });
    return found();
}

std::string Program::word_after(const std::string& mark) const {
    const auto text = output();
    const auto at = text.find(mark);
    if (at == std::string::npos) return {};
    const auto begin = at + mark.size();
    return text.substr(begin, text.find_first_of(" ,\n", begin) - begin);
}

Outcome Program::wait(std::chrono::seconds patience) {
    std::unique_lock lock{lock_};
    const auto is_over = [this] { return at_end_; };
    if (!has_read_.wait_for(lock, patience, is_over)) {
        kill(pid_, SIGKILL);
        has_read_.wait(lock, is_over);
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    outcome_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome_;
}

Outcome run(const std::vector<std::string>& arguments) { return Program{arguments}.wait(); }

Outcome run_without_realtime(const std::vector<std::string>& arguments) {
    rlimit before{};
    if (getrlimit(RLIMIT_RTPRIO, &before) != 0) throw std::runtime_error("getrlimit");
    auto none = before;
    none.rlim_cur = 0;
    if (setrlimit(RLIMIT_RTPRIO, &none) != 0) throw std::runtime_error("setrlimit");
    Outcome outcome;
    // Programs cannot have a capability that the thread which starts them has dropped from its bounding set. A thread
    // that may not drop it does not have it either.
    std::thread{[&] {
        static_cast<void>(prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0));
        outcome = run(arguments);
    }}.join();
    setrlimit(RLIMIT_RTPRIO, &before);
    return outcome;
}

}  // namespace millpond::app
