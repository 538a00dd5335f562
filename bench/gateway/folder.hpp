#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace millpond::bench {

/// A folder of its own that goes with it.
class millpond::test::Folder {
public:
    millpond::test::Folder()
        : path_(std::filesystem::temp_directory_path() / ("millpond-bench." + std::to_string(getpid()))) {
        std::filesystem::create_directory(path_);
    }
    millpond::test::Folder(const millpond::test::Folder&) = delete;
    millpond::test::Folder& operator=(const millpond::test::Folder&) = delete;
    ~millpond::test::Folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string operator/(const char* name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

}  // namespace millpond::bench
