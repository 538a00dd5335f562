// Measured:     what a message costs each reader of a ring while the number of readers grows, which one thread polls in
//               turn; the ring is written on another processor or on the same thread.
// Not measured: readers on processors of their own, a reader that is lapped.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <millpond/core/cache_line.hpp>
#include <millpond/memory/region.hpp>
#include <millpond/queue/broadcast_layout.hpp>
#include <millpond/queue/broadcast_reader.hpp>
#include <millpond/queue/broadcast_writer.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"
#include "bench/queue/hop_links.hpp"
#include "bench/queue/ping_pong.hpp"
#include "bench/rivals/cursor_ring.hpp"

namespace {

using namespace millpond;

constexpr std::uint64_t kTurn = 32;  // messages that a reader reads in one turn

class Broadcast {
public:
    explicit Broadcast(std::size_t readers) {
        for (std::size_t i = 0; i < readers; ++i) readers_.emplace_back(region_.bytes(), 1);
    }
    void send(const bench::Message& message) noexcept { writer_.publish(1, message); }
    bool receive(std::size_t reader, bench::Message& into) noexcept {
        queue::BroadcastHead head;
        auto& one = readers_[reader];
        return one.try_peek(head) == queue::ReadOutcome::message && one.try_consume(into);
    }

private:
    memory::Region region_{memory::Region::anonymous(queue::broadcast_bytes(bench::kLinkCapacity), {.prefault = true})};
    queue::BroadcastWriter writer_{queue::BroadcastWriter::create(region_.bytes(), bench::kLinkCapacity, 1, 1)};
    std::vector<queue::BroadcastReader> readers_;
};

class Cursor {
public:
    explicit Cursor(std::size_t readers) : readers_(readers, Ring::Reader{ring_}) {}
    void send(const bench::Message& message) noexcept { ring_.publish(message); }
    bool receive(std::size_t reader, bench::Message& into) noexcept { return readers_[reader].try_read(into); }

private:
    using Ring = bench::CursorRing<queue::kBroadcastPayloadWords>;
    Ring ring_{bench::kLinkCapacity};
    std::vector<Ring::Reader> readers_;
};

/// Reads up to kTurn messages with each reader. Returns the number that all have read.
template <class Ring>
class Readers {
public:
    Readers(Ring& ring, std::size_t count) : ring_(ring), read_(count) {}

    std::uint64_t turn() {
        auto slowest = UINT64_MAX;
        for (std::size_t i = 0; i < read_.size(); ++i) {
            for (std::uint64_t read = 0; read < kTurn && ring_.receive(i, message_); ++read) {
                answer_ += message_[0] + message_.back();
                ++read_[i];
            }
            slowest = std::min(slowest, read_[i]);
        }
        return slowest;
    }
    [[nodiscard]] std::uint64_t answer() const { return answer_; }

private:
    Ring& ring_;
    std::vector<std::uint64_t> read_;
    bench::Message message_{};
    std::uint64_t answer_{0};
};

std::uint64_t messages_for(std::size_t readers) { return bench::scaled(1'048'576) / readers; }

template <class Ring>
bench::Finding one_processor(std::size_t count) {
    bench::run_on(bench::two_cores().first);
    const auto messages = messages_for(count);
    const auto ring = std::make_unique<Ring>(count);
    Readers<Ring> readers(*ring, count);
    bench::Message message{};
    const auto nanos = bench::own_nanos_each(messages * count, [&] {
        for (std::uint64_t sent = 0; sent < messages;) {
            for (std::uint64_t i = 0; i < kTurn && sent < messages; ++i) {
                message[0] = message.back() = ++sent;
                ring->send(message);
            }
            readers.turn();
        }
    });
    return {.value = nanos, .answer = readers.answer()};
}

template <class Ring>
bench::Finding two_processors(std::size_t count) {
    const auto cores = bench::two_cores();
    const auto messages = messages_for(count);
    const auto ring = std::make_unique<Ring>(count);
    alignas(core::kFalseSharingRange) std::atomic<std::uint64_t> read{0};
    std::jthread writer([&] {
        bench::run_on(cores.first);
        bench::Message message{};
        for (std::uint64_t i = 1; i <= messages; ++i) {
            if (i % (bench::kLinkCapacity / 8) == 0) {
                // sync "read up to": the store below
                bench::spin_until(
                    [&] { return i - read.load(std::memory_order_acquire) < bench::kLinkCapacity * 7 / 8; });
            }
            message[0] = message.back() = i;
            ring->send(message);
        }
    });
    bench::run_on(cores.second);
    Readers<Ring> readers(*ring, count);
    std::uint64_t known = 0;
    const auto nanos = bench::nanos_each(messages * count, [&] {
        bench::spin_until([&] {
            const auto slowest = readers.turn();
            if (slowest != known) {
                known = slowest;
                read.store(slowest, std::memory_order_release);  // sync "read up to": the load above
            }
            return slowest == messages;
        });
    });
    return {.value = nanos, .answer = readers.answer()};
}

}  // namespace

int main() {
    const std::vector<std::size_t> counts{1, 2, 4, 8, 16, 32, 64};
    std::vector<bench::Contender> contenders;
    bench::add_line(contenders, "BroadcastRing, written on another processor", counts, two_processors<Broadcast>);
    bench::add_line(contenders, "cursor ring, written on another processor", counts, two_processors<Cursor>);
    bench::add_line(contenders, "BroadcastRing, written on the same thread", counts, one_processor<Broadcast>);
    bench::add_line(contenders, "cursor ring, written on the same thread", counts, one_processor<Cursor>);
    bench::add_line(contenders, bench::kBareLine, {1}, [](std::size_t readers) {
        return bench::bare_line(messages_for(readers) * (messages_for(readers) + 1));
    });
    bench::compare(
        {.question = "What does a message cost each reader while the readers of a ring grow?",
         .unit = "ns/message and reader",
         .curve = bench::Curve{.axis = "readers",
                               .knees = {{.at = 2,
                                          .why = "from here on most reads find the entry in this processor's cache: "
                                                 "only the first reader fetches its lines from the writer's, so that "
                                                 "the cost of a fetch is divided by the readers. That explains a half; "
                                                 "BroadcastRing falls further, and why was not examined"},
                                         {.at = 8,
                                          .why = "from here on copying 112 bytes from the cache costs more than a "
                                                 "reader's part of the fetch, and more readers save little"}}},
         .measured = "112 bytes a message; one thread polls all readers in turn, each reads up to 32 messages and "
                     "copies them; the whole time divided by messages and readers, writing included. The bare cache "
                     "line is half of a round trip to another processor",
         .not_measured = "readers on processors of their own, a reader that is lapped"},
        contenders);
}
