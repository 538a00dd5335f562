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

/// The segments of a journal's folder, or the one whose file it is; none of a journal that was just made. Throws
/// NoJournal where nothing there is a journal's, std::runtime_error where nothing is there.
[[nodiscard]] std::vector<journal::SegmentInfo> segments_of(const std::string& folder);

/// Throws UsageError when writing `file` would overwrite a file of the journal, under whatever name, or add one.
void refuse_own_file(const std::string& folder, const std::string& file);

}  // namespace millpond::app
