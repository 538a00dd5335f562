#include "apps/millpond/command_line/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include <millpond/core/clock.hpp>

#include "apps/millpond/command_line/to_stderr.hpp"

namespace millpond::app {
namespace {

constexpr std::int64_t kOnTerminalEvery = 200'000'000;
constexpr std::int64_t kPlainEvery = 5'000'000'000;

}  // namespace

Progress::Progress(std::string what, std::string unit, std::uint64_t total)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      begun_ns_(core::monotonic_nanos()),
      due_ns_(begun_ns_ + (on_terminal_ ? kOnTerminalEvery : kPlainEvery)) {}

Progress::~Progress() {
    if (shown_ && on_terminal_) to_stderr("\n");
}

void Progress::at(std::uint64_t done) {
    const auto now = core::monotonic_nanos();
    if (now < due_ns_) return;
    due_ns_ = now + (on_terminal_ ? kOnTerminalEvery : kPlainEvery);
    shown_ = true;
    const auto seconds = static_cast<double>(now - begun_ns_) / 1e9;
    const auto rate = static_cast<double>(done) / seconds;
    to_stderr("{}{}: {} {}", on_terminal_ ? "\r" : "", what_, done, unit_);
    if (total_ != 0) to_stderr(" of {}", std::max(total_, done));
    to_stderr(", {:.0f} a second", rate);
    if (total_ > done && rate > 0) to_stderr(", {:.0f} s left", static_cast<double>(total_ - done) / rate);
    to_stderr("{}", on_terminal_ ? "   " : "\n");
}

}  // namespace millpond::app
