#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/memory/residency.hpp>

#include "file_store_link.hpp"

// Opening: existing files, the session that they belong to, and the sizes of new files.
namespace millpond::fix {
namespace {

constexpr std::size_t kMaxEqualSegments = 64;
constexpr std::size_t kMaxUsualBytes =
    std::size_t{16} << 20U;  // maximum size of a growing store's segments, unless resident_bytes needs more
constexpr std::size_t kSegmentsOfGrowing = 512;  // number of segments of full size in a growing store
constexpr std::size_t kMinSegmentsOfGrowing = 4;

FileStore::Options checked(FileStore::Options options) {
    if (options.segments > kMaxEqualSegments) {
        throw std::invalid_argument("a message store of " + std::to_string(options.segments) + " segments; at most " +
                                    std::to_string(kMaxEqualSegments));
    }
    return options;
}

/// Size of a growing store's first segment.
std::size_t first_bytes(const FileStore::Options& options, std::size_t max) {
    return StoreSegment::checked_bytes(std::min(std::max(FileStore::kFirstBytes, options.min_bytes), max));
}

[[noreturn]] void refuse_as_cut_off(const std::filesystem::path& file, std::uintmax_t bytes) {
    throw std::invalid_argument(file.string() + " has " + std::to_string(bytes) +
                                " bytes and is no whole message store: put a copy in its place, or remove all files of "
                                "the store, and both numbers begin at 1");
}

[[noreturn]] void refuse_without(const std::filesystem::path& file, std::string_view what) {
    throw std::invalid_argument(file.string() + " is missing, the file of the message store with " + std::string{what} +
                                ": put it back, or remove all files of the store, and both numbers begin at 1");
}

/// Maps the file, which is `bytes` long unless it is new.
memory::Region region_of(const std::filesystem::path& file, std::size_t bytes, const memory::RegionOptions& options) {
    try {
        return memory::Region::file(file, bytes, options);
    } catch (const memory::RegionError& error) {
        if (error.code() != std::errc::file_exists) throw;
        refuse_as_cut_off(file, bytes);  // less than a page
    }
}

/// Whether the first file has lost its contents. While a process creates it, there are no other files.
bool is_emptied(const std::filesystem::path& path, const std::vector<std::size_t>& numbers) {
    std::error_code none;
    const auto bytes = [&](std::size_t number) {
        return std::filesystem::file_size(FileStore::segment_path(path, number), none);
    };
    return numbers.size() > 1 && numbers.front() == 0 && bytes(0) == 0 &&
           std::ranges::any_of(numbers, [&](std::size_t number) { return bytes(number) != 0; });
}

}  // namespace

std::filesystem::path FileStore::segment_path(const std::filesystem::path& path, std::size_t number) {
    return number == 0 ? path : std::filesystem::path{path.string() + "." + std::to_string(number)};
}

std::vector<std::size_t> FileStore::segment_numbers(const std::filesystem::path& path) {
    std::vector<std::size_t> numbers;
    const auto prefix = path.filename().string() + ".";
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
    std::error_code none;  // there is no such folder
    if (std::filesystem::exists(path, none)) numbers.push_back(0);
    for (const auto& entry : std::filesystem::directory_iterator{folder, none}) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with(prefix) || name.size() == prefix.size() || name[prefix.size()] == '0') continue;
        std::size_t number = 0;
        const auto* const end = name.data() + name.size();
        const auto read = std::from_chars(name.data() + prefix.size(), end, number);
        if (read.ec == std::errc{} && read.ptr == end && number < kMaxSegments) numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

std::size_t FileStore::segment_bytes(const Options& options) {
    if (options.segments != 0) return StoreSegment::checked_bytes(options.data_bytes / checked(options).segments);
    const auto part = options.data_bytes / kMinSegmentsOfGrowing;
    return StoreSegment::checked_bytes(std::max(
        {std::min(part, kMaxUsualBytes), std::min(part, options.min_bytes), options.data_bytes / kSegmentsOfGrowing}));
}

FileStore::FileStore(const std::filesystem::path& path, std::int64_t utc_ns, const Options& options)
    : path_(path), options_(options), max_bytes_(segment_bytes(options)), created_utc_ns_(utc_ns), utc_ns_(utc_ns) {
    chain_.reserve(kMaxSegments + 1);
    recovered_ = std::filesystem::exists(path);
    try {
        open_all();
    } catch (...) {
        remove_new_files();
        throw;
    }
}

FileStore::~FileStore() = default;

void FileStore::remove_new_files() noexcept {
    if (recovered_) return;
    std::error_code ignored;
    // The first file last: without it the others are not a store.
    for (auto link = links_.rbegin(); link != links_.rend(); ++link) {
        if ((*link)->is_new) std::filesystem::remove(segment_path(path_, (*link)->number), ignored);
    }
}

StoreIdentity FileStore::identity_of(const StoreHeader& header) {
    return StoreIdentity::of_text({header.identity, header.identity_bytes});
}

/// Claims the segment for this session. Throws if it belongs to another session.
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

/// Opens the file with this number, or creates it with new_bytes of messages. Returns null, and removes the file, if a
/// process died before it was a segment; the first file is completed instead.
std::unique_ptr<FileStore::Link> FileStore::open_link(std::size_t number, std::size_t new_bytes) const {
    const auto file = segment_path(path_, number);
    std::error_code none;
    const auto there = std::filesystem::file_size(file, none);
    const bool exists = !none;
    if (exists && there == 0 && number != 0) {
        std::filesystem::remove(file);
        return nullptr;
    }
    const bool has_size = exists && there != 0;
    auto link = std::make_unique<Link>();
    link->number = number;
    link->is_new = !exists;
    link->region = region_of(file, has_size ? there : memory_bytes(new_bytes),
                             {.prefault = options_.prefault && !has_size,
                              .exclusive = number == 0,
                              .own = true,
                              .mode = options_.file_mode});
    const auto memory = link->region.bytes();
    if (const auto segment = StoreSegment::open(memory)) {
        link->segment = *segment;
    } else {
        const auto& header = *reinterpret_cast<const StoreHeader*>(memory.data());
        if (const auto why = StoreSegment::other_layout(memory, file.string()); !why.empty()) {
            throw std::invalid_argument(why);
        }
        if (header.magic == kStoreMagic) refuse_as_cut_off(file, memory.size());
        // A file that begins with other bytes than zeros belongs to another program.
        const auto magic = memory.first(sizeof(StoreHeader::magic));
        if (std::ranges::any_of(magic, [](std::byte b) { return b != std::byte{0}; })) {
            throw std::invalid_argument(file.string() + " is not a message store of this layout");
        }
        if (has_size && number != 0) {
            std::filesystem::remove(file);
            return nullptr;
        }
        if (memory_bytes(new_bytes) > memory.size()) {
            throw std::invalid_argument(file.string() + " is an empty file of " + std::to_string(memory.size()) +
                                        " bytes; a new store needs " + std::to_string(memory_bytes(new_bytes)) +
                                        ": remove it");
        }
        link->segment = StoreSegment::create(memory, new_bytes, created_utc_ns_);
    }
    bind(*link->segment.header, file);
    return link;
}

/// Throws if the file with the newest messages and both numbers is missing.
void FileStore::check_newest_is_there() const {
    const auto is_missing = [&](std::size_t number) {
        const auto link = std::ranges::find(links_, number, [](const auto& one) { return one->number; });
        return link == links_.end() || (*link)->is_new;
    };
    // The first file is created first, and is never removed.
    if (chain_.empty() && links_.size() > 1 && is_missing(0)) refuse_without(path_, "all messages and both numbers");
    std::uint64_t newest = 0;
    for (const auto* link : chain_) newest = std::max(newest, link->generation());
    std::optional<std::size_t> missing;
    for (const auto& link : links_) {
        const auto& header = *link->segment.header;
        // An existing file may have lost its generation in a power failure.
        if (header.newest_generation <= newest || !is_missing(header.newest_number)) continue;
        newest = header.newest_generation;
        missing = header.newest_number;
    }
    if (missing) refuse_without(segment_path(path_, *missing), "the newest messages and both numbers");
}

void FileStore::open_all() {
    const bool grows = options_.segments == 0;
    const auto smallest = grows ? first_bytes(options_, max_bytes_) : max_bytes_;
    const auto numbers = segment_numbers(path_);
    if (is_emptied(path_, numbers)) refuse_as_cut_off(path_, 0);
    // The first file has the lock: open the others only after it is held.
    links_.push_back(open_link(0, smallest));
    for (const auto number : segment_numbers(path_)) {
        if (number == 0) continue;
        if (auto link = open_link(number, smallest)) links_.push_back(std::move(link));
    }
    first_ = links_.front().get();
    for (const auto& link : links_) {
        if (link->generation() != 0) chain_.push_back(link.get());
    }
    check_newest_is_there();
    if (chain_.empty()) {
        links_.front()->segment.header->generation.store(1, std::memory_order_release);
        chain_.push_back(links_.front().get());
    }
    recover_chain();
    for (auto* link : chain_) {
        // Segments of earlier versions have no such time: their age counts from now.
        auto& left_at = link->segment.header->sealed_utc_ns;
        if (left_at.load(std::memory_order_relaxed) == 0) left_at.store(created_utc_ns_, std::memory_order_relaxed);
    }
    for (const auto& link : links_) {
        if (link->generation() != 0) continue;
        if (is_ring() || fresh_.load(std::memory_order_relaxed) != nullptr || link->bytes() < options_.min_bytes) {
            link->role.store(Link::Role::given_up, std::memory_order_relaxed);
        } else {
            offer(*link);
        }
    }
    trim();
    remove_given_up();
    next_bytes_ = grows ? std::clamp(2 * last().bytes(), smallest, max_bytes_) : max_bytes_;
    unmap_old(true);
    if (options_.prefault) {
        for (const auto& link : links_) {
            if (link->is_unmapped || link->region.created()) continue;
            const bool is_left = link->role.load(std::memory_order_relaxed) == Link::Role::left;
            memory::make_present(link->region.bytes(), !is_left);
        }
    }
    if (is_ring()) return;
    const bool is_usable = last().bytes() >= options_.min_bytes;
    if (fresh_.load(std::memory_order_relaxed) == nullptr) {
        try {
            prepare();
        } catch (const std::system_error&) {
            // An existing store continues with its contents.
            if (!recovered_ || !is_usable) throw;
            count_failure();
        }
    }
    if (!is_usable && turn() != Turn::moved) {
        throw std::invalid_argument(path_.string() + ": no segment is large enough for the messages of this session");
    }
}

}  // namespace millpond::fix
