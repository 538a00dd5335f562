#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/core/descriptor.hpp>
#include <millpond/memory/region_options.hpp>

namespace millpond::memory {

struct OpenObject;

/// A range of mapped memory that knows how it was obtained. All long-lived memory is in one.
///
/// Threads: one thread makes, moves and destroys it; its bytes belong to their users. `report` may run on any.
/// Memory:  the bytes requested, rounded up to pages. An anonymous Region has inaccessible pages around it.
///          Shared ones and files are allocated before they are mapped: a full disk is an error, never a SIGBUS.
///          After fork a child has its own copy of an anonymous Region and the same bytes of the others; it also keeps
///          the owner lock held until it ends or calls exec.
/// Source:  mmap(2), madvise(2), mbind(2), proc_pid_smaps(5); "Open file description locks" in fcntl(2).
class Region {
public:
    /// Holds nothing: size() is 0.
    Region() noexcept = default;

    /// Zeroed memory of this process. Throws RegionError, std::invalid_argument when `bytes` is 0.
    [[nodiscard]] static Region anonymous(std::size_t bytes, const RegionOptions& options = {});

    /// Memory that other processes open by name: /dev/shm/NAME, or a file on hugetlbfs when huge pages were asked for
    /// and a mount is there. `name` has one leading slash or none, and no other.
    /// An object that exists is used as it is when its size is the one asked for, else the call throws and changes
    /// nothing. With options.exclusive an object that another process or another user owns is refused. Symbolic links
    /// are not followed.
    [[nodiscard]] static Region shared(std::string_view name, std::size_t bytes, const RegionOptions& options = {});

    /// An object that exists, whole. Throws RegionError with ENOENT when there is none, EAGAIN while its creator has
    /// not given it its size yet.
    [[nodiscard]] static Region open_shared(std::string_view name, Access access = Access::read_only,
                                            const RegionOptions& options = {});

    /// As `shared`, on the file `path`.
    [[nodiscard]] static Region file(const std::filesystem::path& path, std::size_t bytes,
                                     const RegionOptions& options = {});

    /// As `open_shared`, on the file `path`.
    [[nodiscard]] static Region open_file(const std::filesystem::path& path, Access access = Access::read_only,
                                          const RegionOptions& options = {});

    /// Takes the name away; Regions that have the object open keep it. False when there was none.
    static bool unlink_shared(std::string_view name);

    Region(Region&& other) noexcept { swap(other); }
    Region& operator=(Region&& other) noexcept {
        Region(std::move(other)).swap(*this);
        return *this;
    }
    /// Unmaps, and lets the owner lock go. The name stays.
    ~Region();

    /// The first byte, at the start of a page. Writing through it into a Region opened read_only faults.
    [[nodiscard]] std::byte* data() noexcept { return data_; }
    [[nodiscard]] const std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_, size_}; }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

    /// Size of the mapping's pages. Only `report` shows transparent huge pages.
    [[nodiscard]] std::size_t page_bytes() const noexcept { return page_bytes_; }

    [[nodiscard]] bool writable() const noexcept { return access_ == Access::writable; }

    /// True when this call gave the object its size, so that all bytes were zero. Exact only with options.exclusive.
    [[nodiscard]] bool created() const noexcept { return created_; }

    /// Path of the object in the file system; empty for an anonymous Region.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Takes the owner lock of a writable shared or file Region: one holder at a time in the whole machine, and the
    /// kernel takes it back when the holder dies. True when this Region holds it afterwards.
    [[nodiscard]] bool try_lock_exclusive() noexcept;

    /// Whether another holds the owner lock at this moment.
    [[nodiscard]] bool owned_elsewhere() const noexcept;

    /// False once the name leads to another object or to none: the object was replaced or unlinked.
    [[nodiscard]] bool name_is_current() const noexcept;

    /// Asks the kernel. Reads /proc: milliseconds, not for a hot path.
    [[nodiscard]] RegionReport report() const;

private:
    void swap(Region& other) noexcept;
    static Region of_object(OpenObject& object, Access access, const RegionOptions& options);
    void settle(const RegionOptions& options);

    std::byte* data_{nullptr};
    std::size_t size_{0};
    std::byte* mapping_{nullptr};  // What munmap takes: the bytes and the unreachable pages around them.
    std::size_t mapping_size_{0};
    std::size_t page_bytes_{0};
    core::Descriptor descriptor_;
    HugePages wish_{HugePages::none};
    Access access_{Access::writable};
    bool created_{false};
    std::string path_;
};

}  // namespace millpond::memory
