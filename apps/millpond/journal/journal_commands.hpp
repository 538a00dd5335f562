#pragma once

#include "apps/millpond/command.hpp"

/// The subcommands of `millpond journal`; `ls` stands beside the group itself.
namespace millpond::app {

Command journal_cat_command(Arguments& journal);
Command journal_export_command(Arguments& journal);
Command journal_verify_command(Arguments& journal);

/// Exit codes of the journal's commands beyond 0 (good), 1 (failed) and 2 (misused).
inline constexpr int kJournalDamaged = 3;  ///< Records or whole segments are not what was written.
inline constexpr int kJournalHole = 4;  ///< Nothing is damaged, but records are missing in the middle, or there twice.
inline constexpr int kNoJournal = 5;    ///< The folder is not a journal.

}  // namespace millpond::app
