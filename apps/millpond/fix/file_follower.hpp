#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include <millpond/core/descriptor.hpp>

namespace millpond::app {

/// Follows a growing file as `tail -F` does: through rotation and truncation, and before it exists. If it is renamed as
/// core::RotatedFile renames, to PATH.1, PATH.2, ..., files that were created and renamed between two calls are read
/// too, including compressed ones (PATH.N.zst).
///
/// Threads: one.
/// Source:  stat(2); POSIX tail's -f, and -F of GNU coreutils.
class FileFollower {
public:
    enum class Event : std::uint8_t {
        missing,    ///< The file does not exist yet.
        replaced,   ///< The path is another file now. The following bytes are from its start.
        skipped,    ///< A file between the last one and the next was removed, or cannot be read.
        truncated,  ///< The file was truncated. The following bytes are from its beginning.
    };

    explicit FileFollower(std::string path) : path_(std::move(path)) {}

    /// Reports appended bytes and events of the file since the last call, in order. Returns false if there are none.
    /// Throws std::system_error for a file that cannot be read, std::runtime_error for one that is not a regular file.
    bool poll(const std::function<void(std::string_view)>& bytes, const std::function<void(Event)>& event);

private:
    /// An open file and its position in the sequence of renamed files.
    struct Opened {
        core::Descriptor file{};
        dev_t device{0};
        ino_t inode{0};
        std::uint64_t renamed_before{0};  // highest number of the files renamed before
    };
    using Bytes = std::function<void(std::string_view)>;
    using Events = std::function<void(Event)>;

    [[nodiscard]] bool open(const Events& event);
    [[nodiscard]] std::optional<Opened> open_newest(const Events& event);
    void adopt(Opened opened) noexcept;
    [[nodiscard]] bool is_another(std::uint64_t number) const;
    void read_between(std::uint64_t last, const Bytes& bytes, const Events& event) const;
    [[nodiscard]] bool read_renamed(std::uint64_t number, const Bytes& bytes) const;
    [[nodiscard]] bool read_on(const Bytes& bytes);

    std::string path_;
    core::Descriptor file_;
    dev_t device_{0};
    ino_t inode_{0};
    off_t read_{0};                    // bytes read of the file
    std::uint64_t renamed_before_{0};  // highest number of the files that were renamed before this one
    bool missing_{false};
};

}  // namespace millpond::app
