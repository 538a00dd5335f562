#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include <millpond/core/descriptor.hpp>
#include <millpond/net/detail/byte_stream.hpp>

namespace millpond::net {

/// Whether the file begins as gzip or zstd does. Throws std::system_error that names the path.
[[nodiscard]] bool is_packed(const std::string& path);

/// The contents of a .gz or .zst file in a temporary file, for readers that map a file. It is in a folder that only
/// this user can enter, and both are removed with this object, or when step() throws; a process that is killed leaves
/// them. Pages of zeros take no space, except on tmpfs, which allocates pages that a mapping reads.
///
/// Threads: one. Memory: two MiB, and what decompressing takes.
class UnpackedFile {
public:
    /// folder: where the temporary folder is created. most_bytes: contents beyond this count as damage. Throws
    /// std::system_error that names both.
    UnpackedFile(const std::string& path, const std::filesystem::path& folder, std::uint64_t most_bytes);
    ~UnpackedFile();
    UnpackedFile(const UnpackedFile&) = delete;
    UnpackedFile& operator=(const UnpackedFile&) = delete;

    /// Unpacks about a MiB. False once all is there that could be unpacked. Throws std::system_error for a read or a
    /// write that failed, and does so again if it is called again. The text has the packed file; for a write also the
    /// folder and the byte, and what to do if the folder is full.
    [[nodiscard]] bool step();

    /// Has the name of the packed file without its last extension.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return unpacked_; }
    /// Why the contents end early, and at which byte of the packed file; else empty.
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
    std::uint64_t most_bytes_;
    detail::ByteStream stream_;
    std::filesystem::path parent_;
    std::filesystem::path folder_;
    std::filesystem::path unpacked_;
    core::Descriptor file_;
    int error_{0};
    std::string failure_;
    std::string damage_;
};

}  // namespace millpond::net
