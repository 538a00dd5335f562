#include <millpond/core/exceptions.hpp>
#include <millpond/memory/detail/thread_slots.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace millpond::memory::detail {

// Inline and visible, so that the loader keeps one of each even if several shared libraries contain this file: two
// registries would give the same number to two pools.
inline namespace [[gnu::visibility("default")]] thread_registry {

struct PoolEntry {
    void* pool{nullptr};
    PoolSlot::GiveBack give_back{nullptr};
    const void* begin{nullptr};
    const void* end{nullptr};
    const char* name{nullptr};
};

struct ThreadTable {
    SlotTable slots{};
    ThreadTable* next{nullptr};
};

// Trivially destroyed, so that threads and pools that outlive main can still use them.
inline constinit std::mutex registry_mutex;
inline constinit std::array<PoolEntry, kMaxPools> pools{};
inline constinit ThreadTable* threads = nullptr;
inline constinit std::atomic<unsigned> unnamed_pools{0};

inline constinit thread_local bool thread_has_ended = false;

/// A thread's table; its destructor runs when the thread ends and gives the caches back.
class ThreadCaches {
public:
    ThreadCaches() {
        const std::lock_guard lock(registry_mutex);
        table_->next = threads;
        threads = table_.get();
        thread_slots = &table_->slots;
    }
    ThreadCaches(const ThreadCaches&) = delete;
    ThreadCaches& operator=(const ThreadCaches&) = delete;
    ~ThreadCaches() {
        const std::lock_guard lock(registry_mutex);
        thread_slots = &kNoSlots;
        thread_has_ended = true;
        for (std::size_t i = 0; i < kMaxPools; ++i) {
            if (table_->slots[i] != nullptr) pools[i].give_back(pools[i].pool, table_->slots[i]);
        }
        auto** link = &threads;
        while (*link != table_.get()) link = &(*link)->next;
        *link = table_->next;
    }

    void set(std::size_t number, void* cache) noexcept { table_->slots[number] = cache; }

private:
    std::unique_ptr<ThreadTable> table_{std::make_unique<ThreadTable>()};
};

inline ThreadCaches& caches_of_this_thread() {
    thread_local ThreadCaches caches;
    return caches;
}

}  // namespace thread_registry

PoolSlot::PoolSlot(void* pool, GiveBack give_back, const void* begin, const void* end, const char* name) {
    const std::lock_guard lock(registry_mutex);
    const auto free = std::ranges::find(pools, nullptr, &PoolEntry::pool);
    if (free == pools.end()) {
        MILLPOND_THROW(std::length_error("pool '" + std::string(name) + "': " + std::to_string(kMaxPools) +
                                         " pools are alive, more are not possible"));
    }
    *free = {pool, give_back, begin, end, name};
    number_ = static_cast<std::size_t>(free - pools.begin());
}

PoolSlot::~PoolSlot() {
    const std::lock_guard lock(registry_mutex);
    for (auto* thread = threads; thread != nullptr; thread = thread->next) thread->slots[number_] = nullptr;
    pools[number_] = {};
}

bool PoolSlot::thread_may_keep() { return !thread_has_ended; }

void PoolSlot::remember(void* cache) { caches_of_this_thread().set(number_, cache); }

const char* PoolSlot::owner_of(const void* pointer) noexcept {
    // Called at program exit: a thread that holds the lock may wait for this one.
    const std::unique_lock lock(registry_mutex, std::try_to_lock);
    if (!lock.owns_lock()) return nullptr;
    for (const auto& entry : pools) {
        if (entry.pool != nullptr && !std::less<>{}(pointer, entry.begin) && std::less<>{}(pointer, entry.end)) {
            return entry.name;
        }
    }
    return nullptr;
}

std::string next_pool_name() {
    return "pool-" + std::to_string(unnamed_pools.fetch_add(1, std::memory_order_relaxed) + 1);
}

void misuse(const char* pool, const char* what, const void* block, const char* file, unsigned line) noexcept {
    const char* const owner = PoolSlot::owner_of(block);
    const bool placed = *file != '\0';
    std::array<char, 16> number{};
    if (placed) std::snprintf(number.data(), number.size(), ":%u", line);
    std::array<char, 512> text{};
    const int length =
        std::snprintf(text.data(), text.size(), "millpond: pool '%s': %s: %p, a block of %s%s%s%s%s\n", pool, what,
                      block, owner != nullptr ? "pool '" : "no pool", owner != nullptr ? owner : "",
                      owner != nullptr ? "'" : "", placed ? ", acquired at " : "", placed ? file : "");
    const auto end = std::min(static_cast<std::size_t>(length), text.size() - 1);
    // The line number comes last, so that a long path is cut and not the number.
    const auto digits = std::char_traits<char>::length(number.data());
    const auto at = std::min(placed ? end - 1 : end, text.size() - digits - 2);
    if (placed) std::snprintf(text.data() + at, text.size() - at, "%s\n", number.data());
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), placed ? at + digits + 1 : end);
    std::terminate();
}

}  // namespace millpond::memory::detail
