#include "pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <mutex>

namespace millpond::python {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kMaxKept = std::size_t{64} << 20;
constexpr std::size_t kMaxBlocks = 32;

/// So that arrays of nearly the same size have blocks of the same size.
std::size_t block_bytes(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
    const auto step = std::max(kHugePage, std::bit_floor(bytes) / 4);
    return (bytes + step - 1) / step * step;
}

void* map(std::size_t bytes) {
    const auto all = bytes + kHugePage;
    auto* const first =
        ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (first == MAP_FAILED) throw std::bad_alloc();
    auto* const begin = static_cast<std::byte*>(first);
    const auto before = (kHugePage - reinterpret_cast<std::uintptr_t>(first) % kHugePage) % kHugePage;
    if (before != 0) ::munmap(begin, before);
    if (before != kHugePage) ::munmap(begin + before + bytes, kHugePage - before);
    return begin + before;
}

struct Block {
    void* pages;
    std::size_t bytes;
};

class Kept {
public:
    /// Null when there is none of this size, or another thread is here.
    void* pop(std::size_t bytes) noexcept {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock) return nullptr;
        for (std::size_t i = count_; i-- > 0;) {
            if (blocks_[i].bytes != bytes) continue;
            auto* const pages = blocks_[i].pages;
            std::copy(&blocks_[i + 1], blocks_.data() + count_, &blocks_[i]);
            --count_;
            bytes_ -= bytes;
            return pages;
        }
        return nullptr;
    }
    /// False when the block was not kept. The oldest blocks are freed for it.
    bool keep(const Block& block) noexcept {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock || block.bytes > kMaxKept) return false;
        std::size_t gone = 0;
        for (; count_ - gone == kMaxBlocks || bytes_ + block.bytes > kMaxKept; ++gone) {
            ::munmap(blocks_[gone].pages, blocks_[gone].bytes);
            bytes_ -= blocks_[gone].bytes;
        }
        std::copy(&blocks_[gone], blocks_.data() + count_, blocks_.data());
        count_ -= gone;
        blocks_[count_++] = block;
        bytes_ += block.bytes;
        return true;
    }

private:
    // Only ever tried: a child after fork may find it locked for ever, and does without what is kept.
    std::mutex mutex_;
    std::array<Block, kMaxBlocks + 1> blocks_{};
    std::size_t count_{0};
    std::size_t bytes_{0};
};

Kept kept;

}  // namespace

void* acquire_pages(std::size_t bytes) {
    const auto size = block_bytes(bytes);
    auto* const pages = kept.pop(size);
    return pages != nullptr ? pages : map(size);
}

void release_pages(void* pages, std::size_t bytes) noexcept {
    const Block block{pages, block_bytes(bytes)};
    if (!kept.keep(block)) ::munmap(block.pages, block.bytes);
}

}  // namespace millpond::python
