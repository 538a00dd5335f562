// Measured:     from the 28 bytes of a bbo28 message, in cache, to its fields in memory. Not measured: looking the
// symbol up, making a Quote, counting: bbo28_decoder_bench asks for the whole.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include <millpond/core/endian.hpp>
#include <millpond/feed/bbo28_layout.hpp>

#include "bench/feed/input.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kMessages = 4096;
const auto kInput = bench::bbo28_datagrams(bench::wandering_quotes(kMessages));

template <class Parse>
bench::Finding run(Parse&& parse) {
    std::uint64_t answer = 0;
    const auto nanos = bench::typical_nanos_each(bench::scaled(500), kMessages, [&] {
        std::uint64_t sum = 0;
        for (const auto& bytes : kInput) {
            auto message = parse(bytes.data());
            bench::keep(message);
            sum += message.checksum();
        }
        answer += sum;
    });
    return {.value = nanos, .answer = answer};
}

// The bare minimum: a load for each field.
struct FixedOffsets {
    std::uint32_t spread, ask_size, ask_price, bid_size, bid_price;
    std::uint64_t symbol;

    explicit FixedOffsets(const std::byte* bytes) {
        std::memcpy(this, bytes, 20);
        std::memcpy(&symbol, bytes + 20, sizeof symbol);
        for (auto* field : {&spread, &ask_size, &ask_price, &bid_size, &bid_price}) *field = core::swap_bytes(*field);
        symbol = core::swap_bytes(symbol);
    }
    [[nodiscard]] std::uint64_t checksum() const { return spread + 3ULL * bid_price + (symbol >> 56); }
};

// The parser of Bbo28Decoder.
struct Viewed {
    std::uint32_t spread, ask_size, ask_price, bid_size, bid_price;
    std::uint64_t symbol;

    explicit Viewed(const std::byte* bytes) : Viewed(feed::Bbo28View(bytes)) {}
    explicit Viewed(const feed::Bbo28View& view)
        : spread(view.spread()),
          ask_size(view.ask_size()),
          ask_price(view.ask_price()),
          bid_size(view.bid_size()),
          bid_price(view.bid_price()),
          symbol(view.symbol()) {}
    [[nodiscard]] std::uint64_t checksum() const { return spread + 3ULL * bid_price + (symbol >> 56); }
};

// The usual way to write such a parser.
struct DoublesAndString {
    std::string symbol;
    double spread, ask_price, bid_price;
    std::uint32_t ask_size, bid_size;

    explicit DoublesAndString(const std::byte* bytes)
        : symbol(reinterpret_cast<const char*>(bytes + 20), 8),
          spread(core::load_be<std::uint32_t>(bytes) / 10'000.0),
          ask_price(core::load_be<std::uint32_t>(bytes + 8) / 10'000.0),
          bid_price(core::load_be<std::uint32_t>(bytes + 16) / 10'000.0),
          ask_size(core::load_be<std::uint32_t>(bytes + 4)),
          bid_size(core::load_be<std::uint32_t>(bytes + 12)) {
        symbol.erase(symbol.find_last_not_of(' ') + 1);
    }
    [[nodiscard]] std::uint64_t checksum() const {
        const auto whole = [](double price) { return static_cast<std::uint64_t>(std::llround(price * 10'000.0)); };
        return whole(spread) + 3 * whole(bid_price) + static_cast<unsigned char>(symbol[0]);
    }
};

template <class Message>
bench::Finding parse_into() {
    return run([](const std::byte* bytes) { return Message(bytes); });
}

}  // namespace

int main() {
    bench::compare({.question = "What does parsing the 28 bytes of a bbo28 message cost?",
                    .unit = "ns/message",
                    .goals = {{.contender = "Bbo28View", .at_most = 3.0},
                              {.contender = "Bbo28View", .to = "limit: fixed offsets", .at_most = 1.2}},
                    .measured = "from the bytes in cache to their fields in memory, and a checksum of them",
                    .not_measured = "looking the symbol up, making a Quote, counting: bbo28_decoder_bench asks for it"},
                   {{"limit: fixed offsets", parse_into<FixedOffsets>},
                    {"Bbo28View", parse_into<Viewed>},
                    {"doubles and std::string", parse_into<DoublesAndString>}});
}
