// Counted:     publishing a quote: its board slot, then its ring entry; reading it from the ring.
// Not counted: opening the ring, naming instruments, joining.
#include <string>

#include <unistd.h>

#include <millpond/market/ring_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/feed/input.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kQuotes = 4096;

struct Read : bench::Sum {
    using bench::Sum::on;
    void on(const queue::MissedRange&) noexcept {}
};

}  // namespace

int main() {
    const auto quotes = bench::wandering_quotes(kQuotes);
    const auto name = "callgrind." + std::to_string(getpid());
    market::RingWriter writer({.name = name, .capacity = kQuotes, .max_instruments = bench::kInstruments});
    for (std::size_t i = 0; i < bench::kInstruments; ++i) {
        writer.name(static_cast<feed::InstrumentId>(i), feed::Venue{"XNAS"}, bench::symbol_of(i));
    }
    market::RingReader reader({.name = name});
    const auto publish_all = [&] {
        std::uint64_t published = 0;
        for (const auto& quote : quotes) published += writer.publish(quote) ? 1U : 0U;
        return published;
    };
    return bench::count_cases({
        {"publish a quote on board and ring", kQuotes, publish_all},
        {"read a quote from the ring", kQuotes / 2,  // far enough behind the writer not to be lapped
         [&] {
             Read read;
             reader.poll(read, kQuotes);
             return read.value;
         },
         [&] {
             publish_all();
             reader.seek(reader.newest() - kQuotes / 2 + 1);
         }},
    });
}
