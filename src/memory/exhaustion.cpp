#include <millpond/core/exceptions.hpp>
#include <millpond/memory/exhaustion.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace millpond::memory::detail {

ExhaustionPath::ExhaustionPath(Exhaustion exhaustion, const char* pool, std::size_t block_bytes, std::size_t alignment)
    : exhaustion_(std::move(exhaustion)), pool_(pool), block_bytes_(block_bytes), alignment_(alignment) {
    if (exhaustion_.policy == WhenExhausted::call_handler && !exhaustion_.handler) {
        MILLPOND_THROW(std::invalid_argument("pool '" + std::string(pool) + "': call_handler without a handler"));
    }
    if (exhaustion_.policy == WhenExhausted::use_resource && exhaustion_.resource == nullptr) {
        MILLPOND_THROW(std::invalid_argument("pool '" + std::string(pool) + "': use_resource without a resource"));
    }
}

void ExhaustionPath::count() {
    const std::lock_guard lock(mutex_);
    ++stats_.times;
}

void* ExhaustionPath::allocate() {
    const std::lock_guard lock(mutex_);
    void* const block = exhaustion_.resource->allocate(block_bytes_, alignment_);
    MILLPOND_TRY { from_resource_.insert(block); }
    MILLPOND_CATCH(...) {
        exhaustion_.resource->deallocate(block, block_bytes_, alignment_);
        MILLPOND_RETHROW;
    }
    ++stats_.from_resource;
    stats_.high_water = std::max<std::uint64_t>(stats_.high_water, from_resource_.size());
    return block;
}

bool ExhaustionPath::release(void* block) noexcept {
    const std::lock_guard lock(mutex_);
    if (from_resource_.erase(block) == 0) return false;
    exhaustion_.resource->deallocate(block, block_bytes_, alignment_);
    return true;
}

bool ExhaustionPath::holds(void* block) const noexcept {
    const std::lock_guard lock(mutex_);
    return from_resource_.contains(block);
}

bool ExhaustionPath::is_idle() const noexcept {
    const std::lock_guard lock(mutex_);
    return from_resource_.empty();
}

bool ExhaustionPath::reset() noexcept {
    const std::lock_guard lock(mutex_);
    if (!from_resource_.empty()) return false;
    stats_ = {};
    return true;
}

ExhaustionStats ExhaustionPath::stats() const {
    const std::lock_guard lock(mutex_);
    auto stats = stats_;
    stats.in_use = from_resource_.size();
    return stats;
}

}  // namespace millpond::memory::detail
