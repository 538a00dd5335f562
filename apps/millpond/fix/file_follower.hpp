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

/// Reads a file that grows, as `tail -F` does: through its rotation and truncation, and from the moment at which it
/// appears. Where it is renamed as core::RotatedFile renames, to PATH.1, PATH.2, ..., the files that came and went
/// between two calls are read too, compressed ones (PATH.N.zst) included.
///
/// Threads: one.
/// Source:  stat(2); POSIX tail's -f, and -F of GNU coreutils.
class FileFollower {
public:
    enum class Event : std::uint8_t {
        missing,    ///< There is no such file; it is waited for.
        replaced,   ///< Another file has its name. What follows is the new one's, from its beginning.
        skipped,    ///< A file between the last one and the next was removed, or cannot be read.
        truncated,  ///< It became shorter. What follows begins at its beginning again.
    };

    explicit FileFollower(std::string path) : path_(std::move(path)) {}

    /// Hands over what was appended since the last call, and what happened to the file in between, in order. False when
    /// there was nothing. Throws std::system_error for a file that cannot be read, std::runtime_error for what is no
    /// regular file.
    bool poll(const std::function<void(std::string_view)>& bytes, const std::function<void(Event)>& event);

private:
    /// A file that was opened, and where in the sequence of renamed ones it stands.
    struct Opened {
        core::Descriptor file{};
        dev_t device{0};
        ino_t inode{0};
        std::uint64_t renamed_before{0};  // highest number of those
    };
    using Bytes = std::function<void(std::string_view)>;
    using Events = std::function<void(Event)>;

    [[nodiscard]] bool open(const Events& event);
    [[nodiscard]] std::optional<Opened> open_newest(const Events& event);
    void take(Opened opened) noexcept;
    [[nodiscard]] bool is_another(std::uint64_t number) const;
    void read_between(std::uint64_t last, const Bytes& bytes, const Events& event) const;
    [[nodiscard]] bool read_renamed(std::uint64_t number, const Bytes& bytes) const;
    [[nodiscard]] bool read_on(const Bytes& bytes);

    std::string path_;
    core::Descriptor file_;
    dev_t device_{0};
    ino_t inode_{0};
    off_t read_{0};                    // bytes of the file
    std::uint64_t renamed_before_{0};  // highest number of the files that were renamed before this one
    bool missing_{false};
};

}  // namespace millpond::app
