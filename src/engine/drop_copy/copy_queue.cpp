#include "src/engine/drop_copy/copy_queue.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace millpond::engine {
namespace {

constexpr std::uint64_t kMagic = 0x31'53'45'49'50'4F'43'4DULL;             // "MCOPIES1"
constexpr std::size_t kFrontBytes = 4096 - queue::RecordRing::kHeadBytes;  // the records start on a page boundary

std::uint64_t magic_of(const memory::Region& region) noexcept {
    std::uint64_t magic = 0;
    if (region.size() >= kFrontBytes) std::memcpy(&magic, region.data(), sizeof magic);
    return magic;
}

/// Whether neither the magic number nor the positions of the ring were written.
bool is_unwritten(const memory::Region& region) noexcept {
    const auto bytes = region.bytes();
    const auto head = bytes.first(std::min(bytes.size(), kFrontBytes + queue::RecordRing::kHeadBytes));
    return std::ranges::all_of(head, [](std::byte byte) { return byte == std::byte{}; });
}

}  // namespace

CopyQueue::CopyQueue(std::size_t bytes) : ring_(std::make_unique<queue::RecordRing>(bytes)) {}

CopyQueue::CopyQueue(memory::Region region)
    : region_(std::move(region)), ring_(std::make_unique<queue::RecordRing>(region_.bytes().subspan(kFrontBytes))) {}

CopyQueue::CopyQueue(const std::filesystem::path& file, std::size_t bytes, std::uint32_t file_mode)
    : CopyQueue(memory::Region::file(file, kFrontBytes + queue::RecordRing::kHeadBytes + bytes,
                                     {.prefault = true, .exclusive = true, .mode = file_mode})) {
    std::memcpy(region_.data(), &kMagic, sizeof kMagic);
}

std::expected<std::unique_ptr<CopyQueue>, std::string> CopyQueue::left_in(const std::filesystem::path& file) {
    try {
        auto region = memory::Region::open_file(file, memory::Access::writable, {.prefault = true, .own = true});
        if (!region.try_lock_exclusive()) return nullptr;
        const auto magic = magic_of(region);
        if (is_unwritten(region)) {
            std::error_code stays;
            std::filesystem::remove(file, stays);  // its process died while creating it
            return nullptr;
        }
        if (magic != kMagic) return std::unexpected("'" + file.string() + "' is no queue of copies");
        auto left = std::unique_ptr<CopyQueue>{new CopyQueue{std::move(region)}};
        left->may_be_there_ = true;
        return left;
    } catch (const memory::RegionError& error) {
        return std::unexpected(error.what());
    } catch (const std::invalid_argument& error) {  // the size is not that of a ring
        return std::unexpected("'" + file.string() + "': " + error.what());
    }
}

CopyQueue::~CopyQueue() {
    if (region_.size() == 0 || (!discarded_ && ring_->records() != 0)) return;
    std::error_code stays;
    std::filesystem::remove(region_.path(), stays);
}

std::filesystem::path CopyQueue::numbered(const std::filesystem::path& file, std::size_t number) {
    auto path = file;
    path += "." + std::to_string(number);
    return path;
}

std::vector<std::size_t> CopyQueue::numbers(const std::filesystem::path& file) {
    std::vector<std::size_t> numbers;
    const auto prefix = file.filename().string() + ".";
    const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path{"."};
    std::error_code none;  // there is no such folder
    for (const auto& entry : std::filesystem::directory_iterator{folder, none}) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with(prefix)) continue;
        std::size_t number = 0;
        const auto* const end = name.data() + name.size();
        const auto read = std::from_chars(name.data() + prefix.size(), end, number);
        if (read.ec == std::errc{} && read.ptr == end) numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

}  // namespace millpond::engine
