#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/files/detail/byte_stream.hpp>

namespace millpond::files {

/// Whether the file begins like gzip or zstd. Throws std::system_error that names the path.
[[nodiscard]] bool is_packed(const std::string& path);

/// Decompresses a .gz or .zst file into a temporary file, for readers that map a file. The file is in a folder that
/// only this user can enter. The destructor removes both, and so does step() if it throws; a killed process leaves
/// them. Pages of zeros use no disk space, except on tmpfs, where a mapping that reads them allocates them.
///
/// Threads: one. Memory: two MiB, and the decompressor's memory.
class UnpackedFile {
public:
    /// folder: where the temporary folder is created. max_bytes: contents beyond this count as damage. Throws
    /// std::system_error that names both.
    UnpackedFile(const std::string& path, const std::filesystem::path& folder, std::uint64_t max_bytes);
    ~UnpackedFile();
    UnpackedFile(const UnpackedFile&) = delete;
    UnpackedFile& operator=(const UnpackedFile&) = delete;

    /// Unpacks about a MiB. Returns false once all contents are unpacked, or at damage. Throws std::system_error for a
    /// failed read or write, and again if it is called again. The text has the packed file; for a write also the folder
    /// and the byte, and what to do if the folder is full.
    [[nodiscard]] bool step();

    /// Path of the temporary file: the packed file's name without its last extension.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return unpacked_; }
    /// Reason why the contents end early, and at which byte of the packed file; otherwise empty.
    [[nodiscard]] const std::string& damage() const noexcept { return damage_; }
    /// Packed bytes read so far.
    [[nodiscard]] std::uint64_t packed_offset() const noexcept { return stream_.packed_offset(); }

private:
    void write(std::span<const std::byte> bytes);
    void finish();
    void allocate(std::uint64_t bytes);
    void remove() noexcept;
    [[noreturn]] void fail(const std::string& what);
    [[noreturn]] void fail_to_write(std::uint64_t at);

    std::string packed_;
    std::uint64_t max_bytes_;
    detail::ByteStream stream_;
    std::filesystem::path parent_;
    std::filesystem::path folder_;
    std::filesystem::path unpacked_;
    core::Descriptor file_;
    int error_{0};
    std::string failure_;
    std::string damage_;
};

}  // namespace millpond::files
