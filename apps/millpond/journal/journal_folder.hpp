#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/journal/catalog.hpp>

namespace millpond::app {

/// A path does not lead to a journal: exit code kNoJournal.
class NoJournal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The segments of a journal's folder, or the single segment if `path` is its file; empty for a new journal. Throws
/// NoJournal if `path` is not a journal, std::runtime_error if it does not exist.
[[nodiscard]] std::vector<journal::SegmentInfo> segments_of(const std::string& folder);

/// Throws UsageError when writing `file` would overwrite a file of the journal, under whatever name, or add one.
void refuse_own_file(const std::string& folder, const std::string& file);

}  // namespace millpond::app
