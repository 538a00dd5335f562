// Measured:     from the bytes of a bbo28 datagram, in cache, to a Quote that a handler has added up; the symbol looked
// up. Not measured: receiving, publishing, a symbol's first datagram.
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/instrument_table.hpp>

#include "bench/feed/input.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

// Too many for a branch predictor to learn the order of their symbols.
constexpr std::size_t kDatagrams = 16'384;
const auto kInput = bench::bbo28_datagrams(bench::wandering_quotes(kDatagrams));

// Runs `decode(datagram, sum)` over the input repeatedly.
template <class Decode>
bench::Finding run(Decode&& decode) {
    bench::Sum sum;
    const auto nanos = bench::typical_nanos_each(bench::scaled(120), kDatagrams, [&] {
        bench::Sum pass;
        for (const auto& datagram : kInput) decode(datagram, pass);
        sum.value += pass.value;
        bench::keep(sum);
    });
    return {.value = nanos, .answer = sum.value};
}

// The bare minimum: five loads at fixed offsets and a perfect hash of exactly these symbols, without checks.
class FixedOffsets {
public:
    FixedOffsets() {
        std::mt19937_64 random(1);
        while (!try_multiplier(random() | 1U)) {
        }
    }

    void operator()(const bench::Bbo28Bytes& datagram, bench::Sum& sum) const {
        const auto* const bytes = datagram.data();
        feed::Quote quote;
        quote.instrument = ids_[place(core::load_be<std::uint64_t>(bytes + 20))];
        quote.ask_size = core::load_be<std::uint32_t>(bytes + 4);
        quote.ask_price = feed::price_from<feed::kBbo28Scale>(core::load_be<std::uint32_t>(bytes + 8));
        quote.bid_size = core::load_be<std::uint32_t>(bytes + 12);
        quote.bid_price = feed::price_from<feed::kBbo28Scale>(core::load_be<std::uint32_t>(bytes + 16));
        sum.on(quote);
    }

private:
    static constexpr unsigned kBits = 14;

    [[nodiscard]] std::size_t place(std::uint64_t key) const { return (key * multiplier_) >> (64 - kBits); }

    bool try_multiplier(std::uint64_t multiplier) {
        constexpr std::uint16_t kFree = 0xFFFF;
        multiplier_ = multiplier;
        ids_.fill(kFree);
        for (std::size_t i = 0; i < bench::kInstruments; ++i) {  // the first datagrams name each instrument once
            auto& id = ids_[place(core::load_be<std::uint64_t>(kInput[i].data() + 20))];
            if (id != kFree) return false;
            id = static_cast<std::uint16_t>(i);
        }
        return true;
    }

    std::uint64_t multiplier_{0};
    std::array<std::uint16_t, std::size_t{1} << kBits> ids_;
};

// The usual way to write such a parser: a struct of doubles and a string, and a map from names to numbers.
class DoublesAndStrings {
public:
    void operator()(const bench::Bbo28Bytes& datagram, bench::Sum& sum) {
        struct Parsed {
            std::string symbol;
            double bid_price, ask_price;
            std::uint32_t bid_size, ask_size;
        };
        const auto price = [&](std::size_t at) {
            return core::load_be<std::uint32_t>(datagram.data() + at) / 10'000.0;
        };
        Parsed parsed{.symbol{reinterpret_cast<const char*>(datagram.data() + 20), 8},
                      .bid_price = price(16),
                      .ask_price = price(8),
                      .bid_size = core::load_be<std::uint32_t>(datagram.data() + 12),
                      .ask_size = core::load_be<std::uint32_t>(datagram.data() + 4)};
        parsed.symbol.erase(parsed.symbol.find_last_not_of(' ') + 1);
        const auto id = ids_.try_emplace(parsed.symbol, ids_.size()).first->second;
        feed::Quote quote;
        quote.instrument = static_cast<feed::InstrumentId>(id);
        quote.bid_price = std::llround(parsed.bid_price * 1e9);
        quote.ask_price = std::llround(parsed.ask_price * 1e9);
        quote.bid_size = parsed.bid_size;
        quote.ask_size = parsed.ask_size;
        sum.on(quote);
    }

private:
    std::unordered_map<std::string, std::size_t> ids_;
};

}  // namespace

int main() {
    feed::InstrumentTable instruments(bench::kInstruments);
    feed::Bbo28Decoder decoder(instruments, {});
    const FixedOffsets fixed_offsets;
    DoublesAndStrings doubles_and_strings;
    bench::compare(
        {.question = "What does decoding a bbo28 datagram cost?",
         .unit = "ns/datagram",
         .goals = {{.contender = "Bbo28Decoder", .at_most = 3.0}},
         .measured = "from the bytes in cache to a Quote that a handler has added up; the symbol looked up",
         .not_measured = "receiving, publishing, a symbol's first datagram; bbo28_parse_bench has the parse alone"},
        {{"limit: fixed offsets", [&] { return run(fixed_offsets); }},
         {"Bbo28Decoder",
          [&] { return run([&](const auto& bytes, auto& sum) { (void)decoder.decode(bytes, {}, sum); }); }},
         {"doubles and std::string", [&] { return run(doubles_and_strings); }}});
}
