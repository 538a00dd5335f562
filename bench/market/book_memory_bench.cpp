// Measured:     memory of a live order and of an instrument, as the constructors take it for that capacity.
// Not measured: the ring's entries, time.
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/market/board_layout.hpp>
#include <millpond/market/book.hpp>

#include "bench/harness/compare.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kOrders = 520'000;
constexpr std::size_t kInstruments = 2'000;
constexpr std::uint32_t kDepth = 10;

class CountingResource : public std::pmr::memory_resource {
public:
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        bytes_ += bytes;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        bytes_ -= bytes;
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::size_t bytes_{0};
};

/// Bytes of a decoder with that capacity for orders.
std::size_t decoder_bytes(std::size_t orders, bool sends_orders) {
    CountingResource memory;
    feed::InstrumentTable instruments{kInstruments};
    const feed::ItchDecoder decoder{
        instruments,
        {.order_books = {.books = kInstruments, .orders = orders, .level_chunks = kInstruments * 4},
         .depth = kDepth,
         .orders = sends_orders},
        &memory};
    return memory.bytes();
}

/// Bytes of each of kOrders live orders, if there is room for no more; books and levels apart.
bench::Finding order(bool sends_orders) {
    const auto bytes = decoder_bytes(kOrders, sends_orders) - decoder_bytes(1, sends_orders);
    return {.value = static_cast<double>(bytes) / kOrders, .answer = 1};
}

bench::Finding book_order() {
    CountingResource memory;
    const market::Book book{{.depth = kDepth, .orders = kOrders}, &memory};
    return {.value = static_cast<double>(memory.bytes()) / kOrders, .answer = 1};
}

bench::Finding instrument(std::uint32_t depth) {
    const auto bytes = market::board_bytes(kInstruments, 1, depth) - market::board_bytes(0, 1, depth);
    return {.value = static_cast<double>(bytes) / kInstruments, .answer = 1};
}

}  // namespace

int main() {
    const std::vector<bench::Contender> contenders{
        {"live order of a decoder", [] { return order(false); }},
        {"live order of a decoder that sends orders", [] { return order(true); }},
        {"live order of a reader's book", book_order},
        {"instrument on the board, best prices", [] { return instrument(0); }},
        {"instrument on the board, depth 10", [] { return instrument(kDepth); }},
    };
    bench::compare({.question = "How much memory do books take?",
                    .unit = "bytes",
                    .goals = {{.contender = "live order of a decoder", .at_most = 100},
                              {.contender = "live order of a decoder that sends orders", .at_most = 100},
                              {.contender = "live order of a reader's book", .at_most = 100},
                              {.contender = "instrument on the board, depth 10", .at_most = 1.2 * 1'024}},
                    .measured = "memory that the constructors take for 520,000 live orders and 2,000 instruments",
                    .not_measured = "the ring's entries, time"},
                   contenders);
}
