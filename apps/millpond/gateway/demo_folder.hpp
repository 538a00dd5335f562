#pragma once

#include <filesystem>

#include <millpond/core/descriptor.hpp>

namespace millpond::app {

/// A new folder of this process in the temporary folder. The destructor removes it with its contents. The constructor
/// removes folders of this user's killed demos.
class DemoFolder {
public:
    /// Throws std::system_error.
    DemoFolder();
    ~DemoFolder();
    DemoFolder(const DemoFolder&) = delete;
    DemoFolder& operator=(const DemoFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
    core::Descriptor lock_;  // a locked file in the folder; the kernel releases the lock when the process ends
};

}  // namespace millpond::app
