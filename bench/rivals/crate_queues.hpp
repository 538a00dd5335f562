#pragma once

#include <cstddef>
#include <cstdint>

#ifdef MILLPOND_RIVAL_CRATES
struct MillpondCrossbeamQueue;

extern "C" {
struct MillpondRivalAnswer {
    double value;
    std::uint64_t sum;
};
/// Runs a crate's queue with messages of 112 bytes between two processors, like the ring benches; both threads are the
/// crate's. kind: 0 crossbeam, 1 rtrb, 2 iceoryx2. hops: nanoseconds per hop, else millions of messages per second.
/// Returns 0 if the queue could not be built.
MillpondRivalAnswer millpond_rival_link(int kind, bool hops, int first_core, int second_core, std::uint64_t count);
MillpondCrossbeamQueue* millpond_crossbeam_make(std::size_t capacity);
void millpond_crossbeam_free(MillpondCrossbeamQueue* queue);
bool millpond_crossbeam_push(const MillpondCrossbeamQueue* queue, const std::uint64_t* message);
bool millpond_crossbeam_pop(const MillpondCrossbeamQueue* queue, std::uint64_t* into);
}

/// Queues of Rust crates (bench/rivals/crates).
namespace millpond::bench {

/// crossbeam's ArrayQueue, called message by message.
template <class Message>
class CrossbeamQueue {
public:
    explicit CrossbeamQueue(std::size_t capacity) : queue_(millpond_crossbeam_make(capacity)) {}
    CrossbeamQueue(const CrossbeamQueue&) = delete;
    CrossbeamQueue& operator=(const CrossbeamQueue&) = delete;
    ~CrossbeamQueue() { millpond_crossbeam_free(queue_); }
    bool push(const Message& message) { return millpond_crossbeam_push(queue_, message.data()); }
    bool pop(Message& into) { return millpond_crossbeam_pop(queue_, into.data()); }

private:
    MillpondCrossbeamQueue* queue_;
};

}  // namespace millpond::bench
#endif
