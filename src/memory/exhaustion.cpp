#include <millpond/memory/exhaustion.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace millpond::memory::detail {

ExhaustionPath::ExhaustionPath(Exhaustion exhaustion, const char* pool, std::size_t block_bytes, std::size_t alignment)
    : exhaustion_(std::move(exhaustion)), pool_(pool), block_bytes_(block_bytes), alignment_(alignment) {
    if (exhaustion_.policy == WhenExhausted::call_handler && !exhaustion_.handler) {
        throw std::invalid_argument("pool '" + std::string(pool) + "': call_handler without a handler");
    }
    if (exhaustion_.policy == WhenExhausted::use_resource && exhaustion_.resource == nullptr) {
        throw std::invalid_argument("pool '" + std::string(pool) + "': use_resource without a resource");
    }
}

void ExhaustionPath::count() {
    const std::lock_guard lock(mutex_);
    ++stats_.times;
}

void* ExhaustionPath::lend() {
    const std::lock_guard lock(mutex_);
    void* const block = exhaustion_.resource->allocate(block_bytes_, alignment_);
    try {
        lent_.insert(block);
    } catch (...) {
        exhaustion_.resource->deallocate(block, block_bytes_, alignment_);
        throw;
    }
    ++stats_.from_resource;
    return block;
}

bool ExhaustionPath::release(void* block) noexcept {
    const std::lock_guard lock(mutex_);
    if (lent_.erase(block) == 0) return false;
    exhaustion_.resource->deallocate(block, block_bytes_, alignment_);
    return true;
}

ExhaustionStats ExhaustionPath::stats() const {
    const std::lock_guard lock(mutex_);
    auto stats = stats_;
    stats.in_use = lent_.size();
    return stats;
}

}  // namespace millpond::memory::detail
