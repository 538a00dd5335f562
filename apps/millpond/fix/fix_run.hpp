#pragma once

#include <atomic>
#include <functional>

#include "fixd/fix_engine.hpp"

namespace millpond::app {

/// Runs the engine until `done` says so or a signal comes: says where it listens, watches it, and logs its sessions out
/// at the end.
void run_engine(fixd::FixEngine& engine, service::Log& log, const std::function<bool()>& done = {});

}  // namespace millpond::app
