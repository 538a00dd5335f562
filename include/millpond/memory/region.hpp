#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/descriptor.hpp>
#include <millpond/memory/owner_lock.hpp>
#include <millpond/memory/region_options.hpp>

namespace millpond::memory {

struct OpenObject;

/// Mapped memory: anonymous, shared by name, or a file. All long-lived memory is in Regions.
///
/// Threads: one thread makes, moves and destroys it; its users synchronise access to the bytes. `report` may run on
///          any.
/// Memory:  the bytes requested, rounded up to pages. An anonymous Region has inaccessible pages around it.
///          Shared memory and files are allocated before they are mapped: a full disk is an error, never a SIGBUS.
///          After fork a child has its own copy of an anonymous Region and the same bytes of the others; it also keeps
///          the owner lock held until it ends or calls exec.
/// Source:  mmap(2), madvise(2), mbind(2), proc_pid_smaps(5); "Open file description locks" in fcntl(2).
class Region {
public:
    /// An empty Region: size() is 0.
    Region() noexcept = default;

    /// Zeroed memory of this process. Throws RegionError, or std::invalid_argument if `bytes` is 0.
    [[nodiscard]] static Region anonymous(std::size_t bytes, const RegionOptions& options = {});

    /// Memory that other processes open by name: /dev/shm/NAME, or a file on hugetlbfs if huge pages are requested and
    /// a mount exists. `name` may have one leading slash, and no other. An existing object of the requested size is
    /// used unchanged; for another size the call throws and changes nothing. With options.exclusive the Region holds
    /// the object's OwnerLock, and an object that another process or another user owns is refused; root removes another
    /// user's. Symbolic links are not followed.
    [[nodiscard]] static Region shared(std::string_view name, std::size_t bytes, const RegionOptions& options = {});

    /// Like `shared` with options.exclusive, for the holder of the OwnerLock of that name, who keeps it. Also throws
    /// RegionError with EBUSY if another process has a lock on the object itself, which the holder may then replace.
    [[nodiscard]] static Region shared(const OwnerLock& lock, std::size_t bytes, const RegionOptions& options = {});

    /// Opens an existing object, whole. Throws RegionError with ENOENT if there is none, EAGAIN while its creator has
    /// not set its size yet.
    [[nodiscard]] static Region open_shared(std::string_view name, Access access = Access::read_only,
                                            const RegionOptions& options = {});

    /// Like `shared`, for the file `path`.
    [[nodiscard]] static Region file(const std::filesystem::path& path, std::size_t bytes,
                                     const RegionOptions& options = {});

    /// Like `open_shared`, for the file `path`.
    [[nodiscard]] static Region open_file(const std::filesystem::path& path, Access access = Access::read_only,
                                          const RegionOptions& options = {});

    /// Removes the name; Regions that have the object open keep it. False if there was none.
    static bool unlink_shared(std::string_view name);

    Region(Region&& other) noexcept { swap(other); }
    Region& operator=(Region&& other) noexcept {
        Region(std::move(other)).swap(*this);
        return *this;
    }
    /// Unmaps the memory and releases the owner lock. The name stays.
    ~Region();

    /// The first byte, page-aligned. Writing to a Region opened read_only faults.
    [[nodiscard]] std::byte* data() noexcept { return data_; }
    [[nodiscard]] const std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_, size_}; }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

    /// Page size of the mapping. Only `report` shows transparent huge pages.
    [[nodiscard]] std::size_t page_bytes() const noexcept { return page_bytes_; }

    [[nodiscard]] bool writable() const noexcept { return access_ == Access::writable; }

    /// Whether this Region created the object, all of whose bytes were zero. Exact only with options.exclusive.
    [[nodiscard]] bool created() const noexcept { return created_; }

    /// Path of the object in the file system; empty for an anonymous Region.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Removed objects of other users at the names of the object and of its lock, each with its path and user.
    [[nodiscard]] const std::vector<std::string>& removed() const noexcept { return removed_; }

    /// Makes this Region, which must be writable, the only owner of its object on this machine, until it ends or the
    /// process dies: of a shared object by its OwnerLock, of a file by a lock on the file, which a process that may
    /// read it can deny. Returns whether this Region is the owner afterwards.
    [[nodiscard]] bool try_lock_exclusive() noexcept;

    /// Whether another Region is the owner at this moment, by a lock on the object itself. Also false for a shared
    /// object on which another process has a read lock that is older than the owner.
    [[nodiscard]] bool owned_elsewhere() const noexcept;

    /// Whether the name still leads to this object; false once it was replaced or unlinked.
    [[nodiscard]] bool name_is_current() const noexcept;

    /// The kernel's report on the mapping. Reads /proc, which takes milliseconds.
    [[nodiscard]] RegionReport report() const;

private:
    void swap(Region& other) noexcept;
    static Region of_object(OpenObject& object, Access access, const RegionOptions& options);
    void settle(const RegionOptions& options);

    std::byte* data_{nullptr};
    std::size_t size_{0};
    std::byte* mapping_{nullptr};  // The bytes and the unreachable pages around them.
    std::size_t mapping_size_{0};
    std::size_t page_bytes_{0};
    OwnerLock lock_;  // Before the object's descriptor, so that it is released later.
    core::Descriptor descriptor_;
    HugePages requested_pages_{HugePages::none};
    Access access_{Access::writable};
    bool created_{false};
    std::string path_;
    std::string name_;  // Name of the shared object; empty for other kinds.
    std::vector<std::string> removed_;
};

}  // namespace millpond::memory
