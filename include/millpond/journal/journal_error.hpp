#pragma once

#include <stdexcept>

namespace millpond::journal {

/// A file or folder is not the expected journal. The text has the file and the unexpected contents.
class JournalError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace millpond::journal
