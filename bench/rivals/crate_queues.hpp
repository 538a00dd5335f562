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
/// Both threads and all of the work are the crate's: messages of 112 bytes between two processors, as the ring benches
/// send them. kind: 0 crossbeam, 1 rtrb, 2 iceoryx2. hops: nanoseconds of a hop, else millions of messages a second. A
/// value of 0: that one could not be built.
MillpondRivalAnswer millpond_rival_link(int kind, bool hops, int first_core, int second_core, std::uint64_t count);
MillpondCrossbeamQueue* millpond_crossbeam_make(std::size_t capacity);
void millpond_crossbeam_free(MillpondCrossbeamQueue* queue);
bool millpond_crossbeam_push(const MillpondCrossbeamQueue* queue, const std::uint64_t* message);
bool millpond_crossbeam_pop(const MillpondCrossbeamQueue* queue, std::uint64_t* into);
}

/// Queues of the Rust registry (bench/rivals/crates).
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
