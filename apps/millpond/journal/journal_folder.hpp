#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/files/unpacked_file.hpp>
#include <millpond/journal/catalog.hpp>

namespace millpond::app {

/// A path that is not a journal: exit code kNoJournal.
class NoJournal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The path of a journal's folder or of a segment; of a compressed segment, that of an unpacked copy, because journals
/// are mapped. The destructor removes the copy.
class UnpackedJournal {
public:
    /// Throws like files::UnpackedFile.
    explicit UnpackedJournal(const std::string& path);
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Damage of the compressed file; empty if there is none.
    [[nodiscard]] std::string damage() const { return copy_ ? copy_->damage() : std::string{}; }

private:
    std::optional<files::UnpackedFile> copy_;
    std::string path_;
};

/// Returns the segments of a journal's folder, or the single segment if `folder` is its file; empty for a new journal.
/// Throws NoJournal if `folder` is not a journal, std::runtime_error if it does not exist.
[[nodiscard]] std::vector<journal::SegmentInfo> segments_of(const std::string& folder);

/// Throws UsageError if writing `file` would overwrite a file of the journal, or add one to its folder. folder: also a
/// single file that is read.
void refuse_own_file(const std::string& folder, const std::string& file);

}  // namespace millpond::app
