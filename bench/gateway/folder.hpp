#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace millpond::bench {

/// A temporary folder, removed with this object.
class Folder {
public:
    Folder() : path_(std::filesystem::temp_directory_path() / ("millpond-bench." + std::to_string(getpid()))) {
        std::filesystem::create_directory(path_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string operator/(const char* name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

}  // namespace millpond::bench
