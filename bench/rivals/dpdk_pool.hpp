#pragma once

#ifdef MILLPOND_RIVAL_DPDK

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

#include <rte_config.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

namespace millpond::bench {

/// DPDK's rte_mempool with a cache of 512 per thread, on ordinary memory.
class DpdkBlocks {
public:
    DpdkBlocks(std::size_t bytes, std::size_t capacity) {
        start();
        static std::atomic<unsigned> number{0};
        const auto name = "blocks" + std::to_string(number.fetch_add(1));
        pool_ =
            rte_mempool_create(name.c_str(), static_cast<unsigned>(capacity) + 4 * kCache, static_cast<unsigned>(bytes),
                               kCache, 0, nullptr, nullptr, nullptr, nullptr, SOCKET_ID_ANY, 0);
        if (pool_ == nullptr) throw std::runtime_error(std::string("rte_mempool_create: ") + rte_strerror(rte_errno));
    }
    DpdkBlocks(const DpdkBlocks&) = delete;
    DpdkBlocks& operator=(const DpdkBlocks&) = delete;
    ~DpdkBlocks() { rte_mempool_free(pool_); }

    void* acquire() {
        void* block = nullptr;
        return rte_mempool_get(pool_, &block) == 0 ? block : nullptr;
    }
    void release(void* block) { rte_mempool_put(pool_, block); }
    bool acquire_batch(std::span<void*> blocks) {
        return rte_mempool_get_bulk(pool_, blocks.data(), static_cast<unsigned>(blocks.size())) == 0;
    }
    void release_batch(std::span<void* const> blocks) {
        rte_mempool_put_bulk(pool_, blocks.data(), static_cast<unsigned>(blocks.size()));
    }

    /// Registers the calling thread, which gets a cache, during its lifetime.
    static void enter_thread() {
        struct Stay {
            Stay() { rte_thread_register(); }
            ~Stay() { rte_thread_unregister(); }
        };
        if (rte_lcore_id() == LCORE_ID_ANY) static_cast<void>(thread_stays<Stay>());
    }

private:
    static constexpr unsigned kCache = 512;

    template <class Stay>
    static Stay& thread_stays() {
        thread_local Stay stay;
        return stay;
    }

    /// Initialises DPDK once per program, and restores the processors of the thread.
    static void start() {
        static const bool kStarted = [] {
            cpu_set_t allowed;
            sched_getaffinity(0, sizeof allowed, &allowed);
            std::array<std::string, 9> words{"bench", "--no-huge",      "--no-shconf",       "--no-pci",  "-m",
                                             "256",   "--no-telemetry", "--log-level=error", "--lcores=0"};
            std::array<char*, 9> arguments{};
            for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
            if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) {
                throw std::runtime_error(std::string("rte_eal_init: ") + rte_strerror(rte_errno));
            }
            sched_setaffinity(0, sizeof allowed, &allowed);
            return true;
        }();
        static_cast<void>(kStarted);
    }

    rte_mempool* pool_;
};

}  // namespace millpond::bench

#endif
