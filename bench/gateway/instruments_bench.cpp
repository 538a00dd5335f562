// Measured:     from the bytes of a datagram, in cache, to the quote on board and ring, while the instruments grow.
// Not measured: receiving, a symbol's first datagram, readers.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/bbo28_layout.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/market/ring_writer.hpp>

#include "bench/feed/input.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/curve.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

// Few datagrams per pass, so that most passes end before the kernel runs another process.
constexpr std::size_t kPass = 5'000;
constexpr std::size_t kPasses = 60;

/// Six letters, all different.
std::string symbol_of(std::size_t instrument) {
    std::string text(6, 'A');
    for (auto& letter : text) {
        letter = static_cast<char>('A' + instrument % 26);
        instrument /= 26;
    }
    return text;
}

bench::Bbo28Bytes datagram_of(std::size_t instrument, std::uint32_t bid) {
    bench::Bbo28Bytes bytes;
    const auto symbol = symbol_of(instrument);
    feed::write_bbo28(
        bytes.data(),
        {.spread = 100, .ask_size = 300, .ask_price = bid + 100, .bid_size = 200, .bid_price = bid, .symbol = symbol});
    return bytes;
}

class Day {
public:
    Day(std::size_t instruments, bool publishes)
        : instruments_(static_cast<std::uint32_t>(instruments)),
          decoder_(instruments_, {}),
          ring_({.name = "bench-instruments-" + std::to_string(getpid()),
                 .capacity = 4'096,
                 .max_instruments = static_cast<std::uint32_t>(instruments)}),
          publishes_(publishes) {
        std::mt19937_64 random(11);
        for (std::size_t i = 0; i < bench::scaled(kPasses) * kPass; ++i) {
            const auto bid = 100'000 + static_cast<std::uint32_t>(random() % 1'000);
            datagrams_.push_back(datagram_of(random() % instruments, bid));
        }
        for (std::size_t i = 0; i < instruments; ++i) decode(datagram_of(i, 1));  // instruments get their names here
    }

    bench::Finding run() {
        answer_ = 0;
        std::size_t next = 0;
        const auto nanos = bench::typical_own_nanos_each(datagrams_.size() / kPass, kPass, [&] {
            for (const auto end = next + kPass; next < end; ++next) decode(datagrams_[next]);
        });
        return {.value = nanos, .answer = answer_};
    }

    void on(const feed::Quote& quote) noexcept {
        answer_ += static_cast<std::uint64_t>(quote.bid_price);
        if (!publishes_) return;
        for (; named_ < instruments_.size(); ++named_) {
            ring_.name(named_, instruments_.venue(named_), instruments_.symbol(named_));
        }
        if (!ring_.publish(quote)) answer_ = 0;
    }
    template <class Event>
    void on(const Event&) noexcept {}

private:
    void decode(const bench::Bbo28Bytes& bytes) { (void)decoder_.decode(bytes, {++time_, 0, 0}, *this); }

    feed::InstrumentTable instruments_;
    feed::Bbo28Decoder decoder_;
    market::RingWriter ring_;
    bool publishes_;
    feed::InstrumentId named_{0};
    std::vector<bench::Bbo28Bytes> datagrams_;
    std::int64_t time_{0};
    std::uint64_t answer_{0};
};

}  // namespace

int main() {
    const std::vector<std::size_t> counts{10, 100, 1'000, 10'000, 100'000};
    std::vector<bench::Contender> contenders;
    bench::add_line(contenders, "decoded, symbol looked up", counts,
                    [](std::size_t count) { return std::make_unique<Day>(count, false)->run(); });
    bench::add_line(contenders, "decoded, on board and ring", counts,
                    [](std::size_t count) { return std::make_unique<Day>(count, true)->run(); });
    bench::compare(
        {.question = "What does a datagram cost the gateway while the instruments grow?",
         .unit = "ns/datagram",
         .curve =
             bench::Curve{
                 .axis = "instruments",
                 .knees = {{.at = 1'000,
                            .why = "the index of symbols and the slots of the board (192 bytes each, of which a quote "
                                   "writes two lines) leave the first-level cache"},
                           {.at = 10'000,
                            .why = "board and index take megabytes: each quote of a random instrument misses the "
                                   "second-level cache and the address cache once for the index and once for the "
                                   "board; a feed whose active instruments are few stays at their number instead"}}},
         .measured = "quotes of random instruments, all of which were seen before, from bytes in cache; "
                     "the second line includes the first",
         .not_measured = "receiving, a symbol's first datagram, readers"},
        contenders);
}
