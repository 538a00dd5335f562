#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::app {

/// Reads a file that grows, as `tail -F` does: through its rotation and truncation, and from the moment at which it
/// appears.
///
/// Threads: one.
/// Source:  stat(2); POSIX tail's -f, and -F of GNU coreutils.
class FileFollower {
public:
    enum class Event : std::uint8_t {
        missing,    ///< There is no such file; it is waited for.
        replaced,   ///< Another file has its name. What follows is the new one's, from its beginning.
        truncated,  ///< It became shorter. What follows begins at its beginning again.
    };

    explicit FileFollower(std::string path) : path_(std::move(path)) {}

    /// Hands over what was appended since the last call, and what happened to the file in between, in order. False when
    /// there was nothing. Throws std::system_error for a file that cannot be read, std::runtime_error for what is no
    /// regular file.
    bool poll(const std::function<void(std::string_view)>& bytes, const std::function<void(Event)>& event);

private:
    [[nodiscard]] bool open(const std::function<void(Event)>& event);
    [[nodiscard]] bool read_on(const std::function<void(std::string_view)>& bytes);

    std::string path_;
    core::Descriptor file_;
    dev_t device_{0};
    ino_t inode_{0};
    off_t read_{0};  // bytes of the file
    bool missing_{false};
};

}  // namespace millpond::app
