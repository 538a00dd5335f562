#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

namespace millpond::test {

/// A file in the test's own folder, removed with this object.
class ScratchFile {
public:
    ScratchFile(const std::string& name, std::string_view bytes) : path_(::testing::TempDir() + name) {
        std::ofstream{path_, std::ios::binary} << bytes;
    }
    ~ScratchFile() { std::filesystem::remove(path_); }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// A name that is unique among test processes.
[[nodiscard]] inline std::string scratch_name(const std::string& suffix) {
    return "millpond_" + std::to_string(getpid()) + "_" + suffix;
}

}  // namespace millpond::test
