#include <millpond/memory/region.hpp>

#include <linux/mempolicy.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <stdexcept>

#include <millpond/core/exceptions.hpp>
#include <millpond/memory/residency.hpp>

#include "control_group.hpp"
#include "kernel_pages.hpp"
#include "named_object.hpp"

namespace millpond::memory {
namespace {

void refuse_nothing(std::size_t bytes) {
    if (bytes == 0) MILLPOND_THROW(std::invalid_argument("region: asked for 0 bytes, the minimum is 1"));
}

struct Mapping {
    std::byte* data;
    std::size_t size;
    std::byte* whole;
    std::size_t whole_size;
};

/// Returns data == nullptr if there are not enough free huge pages.
Mapping map_reserved_huge(std::size_t bytes) {
    const auto size = round_up(bytes, kHugePageBytes);
    void* at =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
    if (at == MAP_FAILED) return {};
    auto* data = static_cast<std::byte*>(at);
    return {data, size, data, size};
}

/// Maps base pages, aligned and advised for transparent huge pages. The inaccessible pages around them catch overruns
/// and keep the kernel from merging two Regions in its reports.
Mapping map_base(std::size_t bytes, bool transparent) {
    const auto page = base_page_bytes();
    const auto unit = transparent ? kHugePageBytes : page;
    const auto size = round_up(bytes, unit);
    const auto whole_size = size + unit + 2 * page;
    void* at = mmap(nullptr, whole_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) fail(errno, "region: no space for " + size_text(size) + " in the address space");
    auto* whole = static_cast<std::byte*>(at);
    const auto first = round_up(reinterpret_cast<std::size_t>(whole) + page, unit);
    auto* data = whole + (first - reinterpret_cast<std::size_t>(whole));
    if (mprotect(data, size, PROT_READ | PROT_WRITE) != 0) {
        const int error = errno;
        munmap(whole, whole_size);
        fail(error, "region: asked for " + size_text(size) +
                        ", more than the kernel may promise; ask for less or see vm.overcommit_memory");
    }
    madvise(data, size,
            transparent ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // A kernel without them refuses, which the report shows.
    return {data, size, whole, whole_size};
}

/// Source: mbind(2). A direct system call, so that libnuma is not needed.
void bind_to_node(std::byte* data, std::size_t size, int node) {
    std::string online;
    if (node < 0 || !node_is_online(node, online)) {
        MILLPOND_THROW(
            std::invalid_argument("numa_node: asked for node " + std::to_string(node) + ", online are " + online));
    }
    constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
    std::array<unsigned long, 16> mask{};
    const auto bit = static_cast<std::size_t>(node);
    if (bit >= mask.size() * kBits)
        fail(EINVAL, "numa_node: at most " + std::to_string(mask.size() * kBits) + " nodes");
    mask[bit / kBits] |= 1UL << (bit % kBits);
    if (syscall(SYS_mbind, data, size, MPOL_BIND, mask.data(), mask.size() * kBits + 1, MPOL_MF_MOVE) != 0) {
        fail(errno, "numa_node: the kernel refused to bind " + size_text(size) + " to node " + std::to_string(node) +
                        "; containers need CAP_SYS_NICE for it");
    }
}

void lock_pages(std::byte* data, std::size_t size) {
    // A direct system call: the sanitizers replace mlock by a function that does nothing and reports success.
    if (syscall(SYS_mlock, data, size) == 0) return;
    const int error = errno;
    struct rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    fail(error, "lock: asked for " + size_text(size) + ", the limit of this process is " +
                    (limit.rlim_cur == RLIM_INFINITY ? "unlimited" : size_text(limit.rlim_cur)) +
                    "; raise memlock (ulimit -l, LimitMEMLOCK=) or grant CAP_IPC_LOCK");
}

}  // namespace

Region Region::anonymous(std::size_t bytes, const RegionOptions& options) {
    refuse_nothing(bytes);
    Mapping mapping{};
    Region region;
    region.page_bytes_ = kHugePageBytes;
    if (may_use_reserved(options.huge_pages)) mapping = map_reserved_huge(bytes);
    if (mapping.data == nullptr) {
        if (options.huge_pages == HugePages::require) {
            fail(ENOMEM, huge_page_shortage(bytes) + "; raise vm.nr_hugepages or use prefer");
        }
        mapping = map_base(bytes, options.huge_pages != HugePages::none && bytes >= kHugePageBytes);
        region.page_bytes_ = base_page_bytes();
    }
    region.data_ = mapping.data;
    region.size_ = mapping.size;
    region.mapping_ = mapping.whole;
    region.mapping_size_ = mapping.whole_size;
    region.created_ = true;
    region.settle(options);
    return region;
}

Region Region::shared(std::string_view name, std::size_t bytes, const RegionOptions& options) {
    refuse_nothing(bytes);
    OwnerLock lock;
    if (options.exclusive) lock = OwnerLock::acquire(name);
    auto object = make_shared_object(name, bytes, options, Ownership::by_lock_file);
    auto region = of_object(object, Access::writable, options);
    region.removed_.insert(region.removed_.begin(), lock.removed().begin(), lock.removed().end());
    region.lock_ = std::move(lock);
    return region;
}

Region Region::shared(const OwnerLock& lock, std::size_t bytes, const RegionOptions& options) {
    refuse_nothing(bytes);
    auto exclusive = options;
    exclusive.exclusive = true;
    auto object = make_shared_object(lock.name(), bytes, exclusive, Ownership::by_mark);
    return of_object(object, Access::writable, exclusive);
}

Region Region::open_shared(std::string_view name, Access access, const RegionOptions& options) {
    OwnerLock lock;
    if (options.exclusive) lock = OwnerLock::acquire(name);
    auto object = open_shared_object(name, access, options);
    auto region = of_object(object, access, options);
    region.lock_ = std::move(lock);
    return region;
}

Region Region::file(const std::filesystem::path& path, std::size_t bytes, const RegionOptions& options) {
    refuse_nothing(bytes);
    if (options.numa_node != kAnyNode)
        MILLPOND_THROW(std::invalid_argument("numa_node: the kernel places the pages of a file"));
    auto object = make_file_object(path.string(), bytes, options);
    return of_object(object, Access::writable, options);
}

Region Region::open_file(const std::filesystem::path& path, Access access, const RegionOptions& options) {
    if (options.numa_node != kAnyNode)
        MILLPOND_THROW(std::invalid_argument("numa_node: the kernel places the pages of a file"));
    auto object = open_file_object(path.string(), access, options);
    return of_object(object, access, options);
}

bool Region::unlink_shared(std::string_view name) { return unlink_shared_object(name); }

Region Region::of_object(OpenObject& object, Access access, const RegionOptions& options) {
    const int protection = access == Access::writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = mmap(nullptr, object.bytes, protection, MAP_SHARED, object.descriptor.get(), 0);
    if (at == MAP_FAILED) {
        const int error = errno;
        if (object.created) unlink(object.path.c_str());
        fail(error, object.path + ": cannot map " + size_text(object.bytes));
    }
    Region region;
    region.data_ = static_cast<std::byte*>(at);
    region.size_ = object.bytes;
    region.mapping_ = region.data_;
    region.mapping_size_ = region.size_;
    region.page_bytes_ = object.page_bytes;
    region.descriptor_ = std::move(object.descriptor);
    region.access_ = access;
    region.created_ = object.created;
    region.path_ = std::move(object.path);
    region.name_ = std::move(object.name);
    region.removed_ = std::move(object.removed);
    if (options.huge_pages != HugePages::none && region.page_bytes_ == base_page_bytes()) {
        madvise(region.data_, region.size_, MADV_HUGEPAGE);  // If the kernel refuses, the report shows it.
    }
    MILLPOND_TRY { region.settle(options); }
    MILLPOND_CATCH(...) {
        if (region.created_) unlink(region.path_.c_str());  // nothing is left behind
        MILLPOND_RETHROW;
    }
    return region;
}

void Region::settle(const RegionOptions& options) {
    requested_pages_ = options.huge_pages;
    if (options.numa_node != kAnyNode) bind_to_node(data_, size_, options.numa_node);
    // A node may have fewer huge pages than the machine: make bound pages present now, where a shortage is an error
    // code.
    const bool bound_huge = options.numa_node != kAnyNode && page_bytes_ == kHugePageBytes;
    // Objects were allocated at creation; reserved huge pages do not count in the group.
    const bool fresh = !descriptor_ && page_bytes_ != kHugePageBytes;
    if (fresh && (options.prefault || options.lock)) require_memory_in_control_group(size_);
    if (options.prefault || bound_huge) make_present(bytes(), writable());
    if (options.lock) lock_pages(data_, size_);
}

Region::~Region() {
    if (mapping_ != nullptr) munmap(mapping_, mapping_size_);
}

void Region::swap(Region& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapping_, other.mapping_);
    std::swap(mapping_size_, other.mapping_size_);
    std::swap(page_bytes_, other.page_bytes_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(requested_pages_, other.requested_pages_);
    std::swap(access_, other.access_);
    std::swap(created_, other.created_);
    removed_.swap(other.removed_);
    path_.swap(other.path_);
    name_.swap(other.name_);
    std::swap(lock_, other.lock_);
}

bool Region::try_lock_exclusive() noexcept {
    MILLPOND_TRY {
        if (!descriptor_ || !writable()) return false;
        if (name_.empty()) return try_lock_descriptor(descriptor_.get());
        if (lock_) return true;
        auto lock = OwnerLock::try_acquire(name_);
        if (!lock || !name_is_current()) return false;
        if (!try_lock_descriptor(descriptor_.get()) && owned_elsewhere()) return false;
        lock_ = std::move(lock);
        return true;
    }
    MILLPOND_CATCH(const std::exception&) { return false; }
}

bool Region::owned_elsewhere() const noexcept {
    return descriptor_ && descriptor_is_locked_elsewhere(descriptor_.get());
}

bool Region::name_is_current() const noexcept { return descriptor_ && leads_to(path_, descriptor_.get()); }

RegionReport Region::report() const {
    RegionReport report;
    if (data_ == nullptr) return report;
    const auto facts = read_mapping(data_, size_);
    report.mapped_bytes = size_;
    report.page_bytes = facts.page_bytes != 0 ? facts.page_bytes : page_bytes_;
    report.huge_bytes = facts.huge_bytes;
    report.resident_bytes = facts.resident_bytes;
    report.locked_bytes = facts.locked_bytes;
    report.numa_node = facts.node;
    const bool may_lack = requested_pages_ == HugePages::prefer || requested_pages_ == HugePages::transparent;
    if (may_lack && page_bytes_ != kHugePageBytes && facts.huge_bytes < facts.resident_bytes) {
        report.shortfall = requested_pages_ == HugePages::prefer ? huge_page_shortage(size_) + "; transparent ones ("
                                                                 : "huge pages: transparent ones (";
        report.shortfall += transparent_choice(descriptor_ ? "shmem_enabled" : "enabled") + ") hold " +
                            size_text(facts.huge_bytes) + " of " + size_text(facts.resident_bytes) + " in use";
    }
    return report;
}

}  // namespace millpond::memory
