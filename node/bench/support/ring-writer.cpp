// The writing side of bench/shared-memory.mjs: a market ring of one instrument, to which it publishes quotes.
//   ring-writer NAME COUNT RATE
// RATE: quotes per second, 0 for the maximum. receive_ticks of each quote is the monotonic clock. Starts at a byte on
// stdin, and removes the ring at the next one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <span>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <millpond/feed/event.hpp>
#include <millpond/market/board_layout.hpp>
#include <millpond/market/quote_board.hpp>
#include <millpond/market/ring_name.hpp>
#include <millpond/queue/broadcast_writer.hpp>

namespace {

using namespace millpond;

constexpr std::uint64_t kCapacity = 65'536;
constexpr std::uint32_t kSlots = 16;

std::uint64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

bool wait_for_byte() {
    char byte = 0;
    return read(STDIN_FILENO, &byte, 1) == 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const auto name = market::ring_object_name(argv[1]);
    const auto count = std::strtoull(argv[2], nullptr, 10);
    const auto rate = std::strtoull(argv[3], nullptr, 10);
    const auto bytes = market::board_offset(kCapacity) + market::board_bytes(kSlots, 1);
    const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0 || posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) return 1;
    void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (pages == MAP_FAILED) return 1;
    const std::span memory{static_cast<std::byte*>(pages), bytes};
    // The board first: a reader that finds the ring finds it complete.
    auto board = market::QuoteBoardWriter::create(memory.subspan(market::board_offset(kCapacity)), kSlots, 1);
    board.name(0, {feed::Venue{"TEST"}, feed::Symbol{"AAPL"}});
    auto ring = queue::BroadcastWriter::create(memory, kCapacity, market::kMarketContent, now_ns());

    if (!wait_for_byte()) return 1;
    const auto start = now_ns();
    feed::Quote quote;
    quote.instrument = 0;
    quote.ask_size = 1;
    for (std::uint64_t n = 0; n < count; ++n) {
        if (rate != 0) {
            while (now_ns() < start + n * 1'000'000'000U / rate) {
            }
        }
        quote.bid_size = n + 1;
        quote.receive_ticks = now_ns();
        board.store(quote, ring.next());
        ring.publish(static_cast<std::uint32_t>(feed::EventKind::quote), quote);
    }
    (void)wait_for_byte();
    shm_unlink(name.c_str());
    return 0;
}
