#include <millpond/fix/file_store.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "store_upgrade.hpp"

namespace millpond::fix {
namespace {

/// Waits until the disk has the pages that these bytes lie in.
std::error_code sync_bytes(const void* begin, std::size_t bytes) noexcept {
    static const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto before = reinterpret_cast<std::uintptr_t>(begin) % page_bytes;
    // msync wants a pointer that it does not write through.
    auto* const page = const_cast<std::byte*>(static_cast<const std::byte*>(begin) - before);
    if (msync(page, before + bytes, MS_SYNC) != 0) {
        return {errno, std::system_category()};
    }
    return {};
}

FileStore::Options checked(FileStore::Options options) {
    if (options.segments == 0 || options.segments > FileStore::kMostSegments) {
        throw std::invalid_argument("a message store of " + std::to_string(options.segments) + " segments; from 1 to " +
                                    std::to_string(FileStore::kMostSegments));
    }
    return options;
}

}  // namespace

std::filesystem::path FileStore::segment_path(const std::filesystem::path& path, std::size_t number) {
    return number == 0 ? path : std::filesystem::path{path.string() + "." + std::to_string(number)};
}

FileStore::FileStore(const std::filesystem::path& path, std::int64_t utc_ns, const Options& options)
    : path_(path),
      options_(checked(options)),
      segment_bytes_(StoreSegment::checked_bytes(options.data_bytes / options.segments)),
      created_utc_ns_(utc_ns) {
    upgrade_store(path, options_);
    while (segments() < kMostSegments && add_link(false)) recovered_ = true;
    try {
        while (segments() < std::min<std::size_t>(options.segments, 2)) add_link(true);
    } catch (...) {
        remove_new_files();
        throw;
    }
    recover();
}

void FileStore::remove_new_files() noexcept {
    if (recovered_) return;
    std::error_code ignored;
    for (std::size_t i = 0; i < segments(); ++i) {
        if (links_[i].is_new) std::filesystem::remove(segment_path(path_, i), ignored);
    }
}

StoreIdentity FileStore::identity_of(const StoreHeader& header) {
    return StoreIdentity::of_text({header.identity, header.identity_bytes});
}

/// The segment is this session's from now on. Throws when it is another's.
void FileStore::bind(StoreHeader& header, const std::filesystem::path& file) const {
    if (options_.identity.empty()) return;
    if (header.identity_bytes == 0) {
        const auto text = options_.identity.text();
        std::memcpy(header.identity, text.data(), text.size());
        std::atomic_ref{header.identity_bytes}.store(static_cast<std::uint32_t>(text.size()),
                                                     std::memory_order_release);
        return;
    }
    const auto owner = identity_of(header);
    if (owner != options_.identity) {
        throw std::invalid_argument(file.string() + " is the message store of the session " + owner.name() +
                                    ", not of " + options_.identity.name());
    }
}

bool FileStore::add_link(bool make) {
    const auto number = segments();
    const auto file = segment_path(path_, number);
    const bool exists = std::filesystem::exists(file);
    if (!make && !exists) return false;
    Link link;
    link.is_new = !exists;
    link.region = memory::Region::file(
        file, memory_bytes(segment_bytes_),
        {.prefault = options_.prefault, .exclusive = number == 0, .own = true, .mode = options_.file_mode});
    if (const auto segment = StoreSegment::open(link.region.bytes())) {
        if (segment->data.size() != segment_bytes_) {
            throw std::invalid_argument(file.string() + " is a segment of " + std::to_string(segment->data.size()) +
                                        " bytes");
        }
        link.segment = *segment;
    } else {
        const auto& header = *reinterpret_cast<const StoreHeader*>(link.region.data());
        if (header.magic == kStoreMagic && header.version != kStoreVersion) {
            throw std::invalid_argument(file.string() + " is a message store of layout version " +
                                        std::to_string(header.version) + "; this build reads " +
                                        std::to_string(kStoreVersion));
        }
        // A file that begins with anything but zeros belongs to another program.
        const auto magic = link.region.bytes().first(sizeof(StoreHeader::magic));
        if (std::ranges::any_of(magic, [](std::byte b) { return b != std::byte{0}; })) {
            throw std::invalid_argument(file.string() + " is no message store of this layout");
        }
        link.segment = StoreSegment::create(link.region.bytes(), segment_bytes_, created_utc_ns_);
    }
    bind(*link.segment.header, file);
    links_[number] = std::move(link);
    ready_.store(number + 1, std::memory_order_release);  // sync "segment ready": turn
    return true;
}

void FileStore::recover() {
    std::uint64_t newest = 0;
    for (std::size_t i = 0; i < segments(); ++i) {
        auto& link = links_[i];
        link.extent = link.generation() == 0 ? StoreSegment::Extent{} : link.segment.sealed_extent();
        if (link.generation() > newest) {
            newest = link.generation();
            current_link_ = i;
        }
    }
    auto& link = links_[current_link_];
    auto& header = *link.segment.header;
    link.extent = link.segment.recover();
    if (newest == 0) header.generation.store(1, std::memory_order_release);
    auto next = header.next_sender.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < segments(); ++i) next = std::max(next, links_[i].extent.next);
    enter(current_link_,
          {.end = link.extent.end, .oldest = link.extent.messages != 0 ? link.extent.first : next, .next = next});
    set_written_to(next - 1);
    count_all(0);
}

/// The link's messages go on from `start`.
void FileStore::enter(std::size_t number, const Start& start) noexcept {
    auto& extent = links_[number].extent;
    if (extent.messages == 0) {
        extent = {.first = start.oldest, .next = start.oldest, .begin = start.end, .end = start.end};
    }
    current_link_ = number;
    stored_before_ = tallies().stored.read();
    use(links_[number].segment, start);
}

void FileStore::refresh() noexcept { recover(); }

std::size_t FileStore::capacity_bytes() const noexcept { return segments() * segment_bytes_; }

void FileStore::count_all(std::uint64_t overwritten) noexcept {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < segments(); ++i) {
        if (i != current_link_) bytes += links_[i].extent.end - links_[i].extent.begin;
    }
    count_elsewhere(bytes, overwritten);
}

MessageStore::Turn FileStore::turn() noexcept {
    const auto ready = segments();  // sync "segment ready": add_link
    if (ready == 1) return Turn::wrap;
    const auto used = std::span{links_}.first(ready);
    auto& next = *std::ranges::min_element(used, {}, &Link::generation);
    if (next.extent.messages != 0 && next.extent.next > written_to() + 1) return Turn::refused;

    auto& left = links_[current_link_];
    const auto& from = *left.segment.header;
    const auto number = next_sender();
    left.extent.next = number;
    left.extent.end = written_end();
    left.extent.messages += tallies().stored.read() - stored_before_;
    left.segment.seal(left.extent);

    const auto overwritten = next.extent.messages;
    auto& header = *next.segment.header;
    const auto begin = next.segment.give_up();
    header.creation_utc_ns = from.creation_utc_ns;
    header.epoch = from.epoch;
    header.next_sender.store(number, std::memory_order_relaxed);
    header.next_target.store(from.next_target.load(std::memory_order_relaxed), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    header.generation.store(left.generation() + 1, std::memory_order_release);  // sync "segment current": generation

    next.extent = {};
    enter(static_cast<std::size_t>(&next - used.data()), {.end = begin, .oldest = number, .next = number});
    count_all(overwritten);
    return Turn::moved;
}

std::optional<std::string_view> FileStore::retrieve_elsewhere(std::uint64_t sequence) const noexcept {
    for (std::size_t i = 0; i < segments(); ++i) {
        const auto& link = links_[i];
        if (i == current_link_ || sequence < link.extent.first || sequence >= link.extent.next) continue;
        if (const auto message = link.segment.retrieve(sequence)) return message;
    }
    return std::nullopt;
}

std::uint64_t FileStore::next_kept_elsewhere(std::uint64_t sequence) const noexcept {
    auto lowest = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < segments(); ++i) {
        const auto& link = links_[i];
        if (i == current_link_ || sequence >= link.extent.next || link.extent.first >= lowest) continue;
        const auto kept = link.segment.next_kept(std::max(sequence, link.extent.first));
        if (kept < link.extent.next) lowest = std::min(lowest, kept);
    }
    return lowest;
}

void FileStore::forget_elsewhere(std::uint64_t sequence) noexcept {
    for (std::size_t i = 0; i < segments(); ++i) {
        auto& link = links_[i];
        if (i == current_link_ || link.extent.messages == 0) continue;
        link.extent.next = std::min(link.extent.next, sequence);
        if (link.extent.next <= link.extent.first) link.extent = {};
        link.segment.seal(link.extent);
    }
    auto& own = links_[current_link_].extent;
    own.first = std::min(own.first, sequence);
    count_all(0);
}

std::error_code FileStore::maintain(std::int64_t monotonic_ns) noexcept {
    if (options_.durability == Durability::interval && monotonic_ns - synced_ns_ >= options_.interval_ns) {
        synced_ns_ = monotonic_ns;
        if (const auto error = sync()) return error;
    }
    const auto used = std::span{links_}.first(segments());
    const bool one_is_fresh = std::ranges::any_of(used, [](const Link& link) { return link.generation() == 0; });
    if (one_is_fresh || used.size() >= options_.segments) return {};
    try {
        add_link(true);
    } catch (const std::system_error& error) {
        return error.code();
    } catch (const std::exception&) {  // a file of that name exists, or there is no memory for its name
        return std::make_error_code(std::errc::file_exists);
    }
    return {};
}

std::error_code FileStore::sync() noexcept {
    auto newest = synced_generation_;
    for (std::size_t i = 0; i < segments(); ++i) {
        const auto generation = links_[i].generation();
        if (generation < synced_generation_ || generation == 0) continue;
        const auto& region = links_[i].region;
        if (const auto error = sync_bytes(region.data(), region.size())) return error;
        newest = std::max(newest, generation);
    }
    synced_generation_ = newest;
    return {};
}

std::error_code FileStore::sync_newest() noexcept {
    const auto& segment = current();
    if (const auto* record = segment.find(next_sender() - 1)) {
        // With the end mark behind it. The index is rebuilt from the records.
        const auto bytes = StoreSegment::record_bytes(std::uint64_t{record->offset} + record->length);
        const auto left =
            static_cast<std::size_t>(segment.data.data() + segment.data.size() - reinterpret_cast<const char*>(record));
        if (const auto error = sync_bytes(record, std::min(bytes + sizeof *record, left))) return error;
    }
    return sync_bytes(segment.header, kStoreHeaderBytes);
}

}  // namespace millpond::fix
