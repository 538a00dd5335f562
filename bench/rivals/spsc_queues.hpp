#pragma once

#include <cstddef>

#include <boost/lockfree/spsc_queue.hpp>

#if __has_include(<readerwriterqueue/readerwriterqueue.h>)
#include <readerwriterqueue/readerwriterqueue.h>
#define MILLPOND_BENCH_READERWRITERQUEUE 1
#endif

/// Widely used queues from one thread to one other, as links: send(message), and receive(message), which returns false
/// if there is no message. The caller never sends more than kCapacity messages ahead.
namespace millpond::bench {

template <class Message, std::size_t kCapacity>
class BoostSpscLink {
public:
    void send(const Message& message) { (void)queue_.push(message); }
    bool receive(Message& into) { return queue_.pop(into); }

private:
    boost::lockfree::spsc_queue<Message, boost::lockfree::capacity<kCapacity>> queue_;
};

#ifdef MILLPOND_BENCH_READERWRITERQUEUE
template <class Message, std::size_t kCapacity>
class ReaderWriterQueueLink {
public:
    void send(const Message& message) { (void)queue_.try_enqueue(message); }
    bool receive(Message& into) { return queue_.try_dequeue(into); }

private:
    moodycamel::ReaderWriterQueue<Message> queue_{kCapacity};
};
#endif

}  // namespace millpond::bench
