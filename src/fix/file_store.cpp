#include <millpond/fix/file_store.hpp>

#include <cerrno>
#include <stdexcept>
#include <string>

#include <sys/mman.h>

namespace millpond::fix {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLeastBytes = 4096;

std::size_t rounded(std::size_t data_bytes) {
    if (data_bytes < kLeastBytes) {
        throw std::invalid_argument("a message store of " + std::to_string(data_bytes) + " bytes; the least is " +
                                    std::to_string(kLeastBytes));
    }
    return data_bytes / kAlignment * kAlignment;
}

}  // namespace

FileStore::FileStore(const std::filesystem::path& path, std::int64_t utc_ns, const Options& options)
    : region_(memory::Region::file(path, memory_bytes(rounded(options.data_bytes)),
                                   {.prefault = options.prefault, .exclusive = true})),
      durability_(options.durability),
      interval_ns_(options.interval_ns),
      synced_utc_ns_(utc_ns) {
    recovered_ = attach(region_.bytes());
    if (recovered_) {
        if (capacity_bytes() != rounded(options.data_bytes)) {
            throw std::invalid_argument(path.string() + " is a store of " + std::to_string(capacity_bytes()) +
                                        " bytes");
        }
        return;
    }
    // A file that holds anything else than zeros is somebody's.
    for (std::size_t i = 0; i < sizeof(StoreHeader::magic); ++i) {
        if (region_.bytes()[i] != std::byte{0}) throw std::invalid_argument(path.string() + " is no message store");
    }
    create(region_.bytes(), rounded(options.data_bytes), utc_ns);
}

std::error_code FileStore::sync() noexcept {
    if (msync(region_.data(), region_.size(), MS_SYNC) != 0) return {errno, std::system_category()};
    return {};
}

std::error_code FileStore::sync_if_due(std::int64_t utc_ns) noexcept {
    if (durability_ != Durability::interval || utc_ns - synced_utc_ns_ < interval_ns_) return {};
    synced_utc_ns_ = utc_ns;
    return sync();
}

}  // namespace millpond::fix
