#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>

#include <millpond/core/cache_line.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/broadcast_layout.hpp>
#include <millpond/queue/broadcast_reader.hpp>
#include <millpond/queue/broadcast_writer.hpp>
#include <millpond/queue/spsc_ring.hpp>

#include "bench/rivals/cursor_ring.hpp"

/// One-way links between two threads with a common interface: send(message), and receive(message), which returns false
/// if there is no message. Messages have 112 bytes; SpscRing supports any size, and the single line, one of the two
/// bare limits, has 8 bytes.
namespace millpond::bench {

using Message = std::array<std::uint64_t, queue::kBroadcastPayloadWords>;

inline constexpr std::size_t kLinkCapacity = 4096;

/// The bare limit of one word in one cache line.
class LineLink {
public:
    void send(const Message& message) noexcept {
        word_.store(message[0], std::memory_order_release);  // sync "word set": the load in receive
    }
    bool receive(Message& into) noexcept {
        const auto word = word_.load(std::memory_order_acquire);  // sync "word set": the store in send
        if (word == seen_) return false;
        into[0] = seen_ = word;
        return true;
    }

private:
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> word_{0};
    alignas(core::kFalseSharingRange) std::uint64_t seen_{0};
};

/// The bare limit of one entry: its words, then the word that marks them as complete. A second send before the first is
/// received may tear it.
class EntryLink {
public:
    void send(const Message& message) noexcept {
        for (std::size_t i = 1; i < message.size(); ++i) words_[i].store(message[i], std::memory_order_relaxed);
        words_[0].store(message[0], std::memory_order_release);  // sync "words set": the load in receive
    }
    bool receive(Message& into) noexcept {
        const auto word = words_[0].load(std::memory_order_acquire);  // sync "words set": the last store in send
        if (word == seen_) return false;
        into[0] = seen_ = word;
        for (std::size_t i = 1; i < into.size(); ++i) into[i] = words_[i].load(std::memory_order_relaxed);
        return true;
    }

private:
    alignas(core::kFalseSharingRange) std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Message>> words_{};
    alignas(core::kFalseSharingRange) std::uint64_t seen_{0};
};

class BroadcastLink {
public:
    void send(const Message& message) noexcept { writer_.publish(1, message); }
    bool receive(Message& into) noexcept {
        queue::BroadcastHead head;
        return reader_.try_peek(head) == queue::ReadOutcome::message && reader_.try_consume(into);
    }

private:
    memory::Region region_{memory::Region::anonymous(queue::broadcast_bytes(kLinkCapacity), {.prefault = true})};
    queue::BroadcastWriter writer_{queue::BroadcastWriter::create(region_.bytes(), kLinkCapacity, 1, 1)};
    alignas(core::kFalseSharingRange) queue::BroadcastReader reader_{region_.bytes(), 1};
};

template <class Sent = Message>
class SpscLink {
public:
    void send(const Sent& message) noexcept { (void)ring_.try_push(message); }
    bool receive(Sent& into) noexcept { return ring_.try_pop(into); }

private:
    queue::SpscRing<Sent> ring_{kLinkCapacity};
};

class CursorLink {
public:
    void send(const Message& message) noexcept { ring_.publish(message); }
    bool receive(Message& into) noexcept { return reader_.try_read(into); }

private:
    using Ring = CursorRing<queue::kBroadcastPayloadWords>;
    Ring ring_{kLinkCapacity};
    alignas(core::kFalseSharingRange) Ring::Reader reader_{ring_};
};

}  // namespace millpond::bench
