#pragma once

#include <stdexcept>

namespace millpond::files {

/// A file does not have the expected format. what() contains the file, the offset and the value found there.
class FileFormatError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace millpond::files
