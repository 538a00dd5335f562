// Measured:     making the JSON line of a quote and putting it into the message buffers of 100 clients: encoded once
// and
//               copied, or encoded for each.
// Not measured: sending.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kClients = 100;
constexpr std::size_t kMessage = 65'536;
const core::TickRate kRate;

feed::Quote quote_of(std::uint64_t number) {
    feed::Quote quote;
    quote.instrument = 0;
    quote.bid_price = feed::price_from<10'000>(static_cast<std::uint32_t>(1'892'400 + number % 1'000));
    quote.ask_price = quote.bid_price + feed::price_from<10'000>(200);
    quote.bid_size = 300;
    quote.ask_size = 200 + number % 10;
    quote.receive_utc_ns = 1'580'398'200'000'000'000 + static_cast<std::int64_t>(number);
    return quote;
}

/// A client's message buffer.
struct Message {
    std::string text;
    std::size_t bytes{0};

    void add(std::string_view line) {
        if (text.size() + line.size() > kMessage) {
            bytes += text.size();
            text.clear();
        }
        text += line;
    }
};

template <bool Once>
bench::Finding encode() {
    const feed::JsonSymbol symbol{feed::Symbol{"MILLPOND"}};
    std::vector<Message> messages(kClients);
    for (auto& message : messages) message.text.reserve(kMessage);
    std::array<char, feed::kMaxJsonBytes> buffer;
    const auto count = bench::scaled(20'000);
    const auto start = core::ticks();
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto quote = quote_of(i);
        if constexpr (Once) {
            const auto line = feed::quote_json(buffer, quote, symbol, i);
            for (auto& message : messages) message.add(line);
        } else {
            for (auto& message : messages) message.add(feed::quote_json(buffer, quote, symbol, i));
        }
    }
    const auto nanos = static_cast<double>(kRate.nanos(core::ticks() - start));
    bench::Finding found{.value = nanos / static_cast<double>(count * kClients)};
    for (const auto& message : messages) found.answer += message.bytes + message.text.size();
    return found;
}

}  // namespace

int main() {
    bench::compare({.question = "What does a line cost a client, encoded once for all and once for each?",
                    .unit = "ns/line and client",
                    .measured = "making a quote's JSON line and putting it into the message buffers of 100 clients",
                    .not_measured = "sending"},
                   {{"encoded once", encode<true>}, {"encoded for each", encode<false>}});
}
