#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <millpond/core/whole_file.hpp>

/// Files in which a daemon keeps what a restart must not lose. A file has blocks with checksums and is replaced as a
/// whole; one that is damaged is refused as a whole. All numbers are little-endian:
/// ```
///  0  "mpstate\n"
///  8  kind, padded with zeros to 8 bytes
/// 16  u32 version, u32 0
/// 24  blocks: u32 length, u32 CRC-32C of the content, content; then u32 0, u32 number of blocks
/// ```
namespace millpond::service {

struct StateFileKind {
    std::string_view name;  ///< At most 8 bytes.
    std::uint32_t version;
};

/// Builds the content of a block.
///
/// Memory: as much as the largest block; keeps it for the next block.
class BlockBuilder {
public:
    void clear() noexcept { bytes_.clear(); }
    template <class Int>
    void integer(Int value) {
        for (std::size_t i = 0; i < sizeof value; ++i) {
            bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
        }
    }
    /// text: at most 65,535 bytes.
    void text(std::string_view text) {
        integer(static_cast<std::uint16_t>(text.size()));
        bytes_ += text;
    }
    [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
};

/// Reads a block. Throws std::runtime_error if it ends too early.
class BlockParser {
public:
    explicit BlockParser(std::string_view block) noexcept : rest_(block) {}
    template <class Int>
    [[nodiscard]] Int integer() {
        std::uint64_t value = 0;
        const auto bytes = raw(sizeof(Int));
        for (std::size_t i = 0; i < sizeof(Int); ++i) {
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
        }
        return static_cast<Int>(value);
    }
    [[nodiscard]] std::string_view text() { return raw(integer<std::uint16_t>()); }
    [[nodiscard]] std::string_view raw(std::size_t bytes);
    [[nodiscard]] bool is_at_end() const noexcept { return rest_.empty(); }

private:
    std::string_view rest_;
};

/// Writes a state file, which replaces the one at the path when commit() has returned.
///
/// Threads: one.
class StateFileWriter {
public:
    /// mode: permissions, whatever the umask. Throws std::system_error with the path, like the other functions.
    StateFileWriter(const std::filesystem::path& path, StateFileKind kind, mode_t mode);
    /// Adds a block. content: not empty, and below 4 GiB.
    void block(std::string_view content);
    /// Returns when the file is on the disk.
    void commit();

private:
    core::WholeFile file_;
    std::filesystem::path path_;
    mode_t mode_;
    std::uint32_t blocks_{0};
};

/// The blocks of a state file.
struct StateFile {
    std::string text;
    std::vector<std::string_view> blocks;  ///< Views of `text`.

    StateFile() = default;
    StateFile(StateFile&&) = delete;

    /// Reads the file. False if it does not exist. Throws std::runtime_error with the reason, without the path, if it
    /// cannot be read, is damaged, or has another kind or version.
    [[nodiscard]] bool read(const std::filesystem::path& path, StateFileKind kind);
};

}  // namespace millpond::service
