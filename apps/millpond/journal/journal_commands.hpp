#pragma once

#include "apps/millpond/command_line/command.hpp"

/// The subcommands of `millpond journal`; `ls` is declared with the group.
namespace millpond::app {

Command journal_cat_command(Arguments& journal);
Command journal_export_command(Arguments& journal);
Command journal_verify_command(Arguments& journal);

/// Exit codes of the journal commands in addition to 0 (success), 1 (failure) and 2 (usage error).
inline constexpr int kJournalDamaged = 3;  ///< Records or whole segments are damaged.
inline constexpr int kJournalGap = 4;      ///< Records are missing or repeated, but none is damaged.
inline constexpr int kNoJournal = 5;       ///< The folder is not a journal.

}  // namespace millpond::app
