#pragma once

#include "apps/millpond/top/tail_options.hpp"

namespace millpond::app {

/// Prints the selected events of a journal, then those of its ring, until a signal or the requested number of events,
/// and the account at the end. Returns the exit code. Throws UsageError, and what CatchUpReader throws.
int tail_journal(const TailOptions& options);

}  // namespace millpond::app
