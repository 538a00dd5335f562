// Counted:     reading FIX messages from a stream, writing them, keeping them in a store.
// Not counted: construction, the first messages of a type, sending.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <millpond/fix/frame.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/writer.hpp>

#include "bench/callgrind/cases.hpp"
#include "bench/fix/input.hpp"

namespace {

using namespace millpond;

/// Uses AVX2 if the processor has it: the recorded counts are from such a machine, and valgrind does not run AVX-512.
fix::Parser::Options options() {
    fix::Parser::Options chosen;
    const bool avx2 = fix::detail::supported(fix::detail::InstructionSet::avx2);
    chosen.instruction_set = avx2 ? fix::detail::InstructionSet::avx2 : fix::detail::InstructionSet::scalar;
    return chosen;
}

std::uint64_t read_all(fix::Parser& parser, const bench::FixStream& stream) {
    std::uint64_t sum = 0;
    auto rest = stream.bytes();
    while (const auto frame = fix::next_frame(rest)) {
        const auto message = parser.parse(*frame);
        if (!message) return 0;
        sum += message->unsigned_integer(34).value_or(0) + message->fields().size();
        rest = rest.subspan(frame->bytes.size());
    }
    return sum;
}

std::uint64_t write_all() {
    std::array<char, 512> buffer;
    std::uint64_t bytes = 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(bench::kFixMessages); ++i) {
        fix::Writer writer{buffer, "FIX.4.4"};
        writer.add<35>('D').add<34>(100'000 + i).add<49>("BUYSIDE");
        writer.add_timestamp<52>(1'704'164'645'000'000'000 + i, fix::TimePrecision::millis).add<56>("SELLSIDE");
        writer.add<11>("ORD1").add<38>(1000 + i).add<44>(fix::Decimal{10'025 + i, 2}).add<55>("MSFT");
        writer.add_timestamp<60>(1'704'164'645'000'000'000 + i, fix::TimePrecision::millis);
        bytes += writer.finish().value_or("").size();
    }
    return bytes;
}

std::uint64_t keep_all(fix::MemoryStore& store, const std::vector<std::string>& messages) {
    std::uint64_t kept = 0;
    for (const auto& message : messages) {
        const auto number = store.next_sender();
        if (store.store(message)) ++kept;
        store.mark_written(number);
    }
    return kept;
}

}  // namespace

int main() {
    const auto orders = bench::fix_orders();
    const bench::FixStream usual{orders.usual};
    const bench::FixStream any_order{orders.any_order};
    const bench::FixStream market_data{bench::fix_market_data().usual};
    fix::Parser usual_parser{options()};
    fix::Parser any_order_parser{options()};
    fix::Parser market_data_parser{options()};
    fix::MemoryStore store{0, fix::ByteCount{std::size_t{1} << 20U}};
    return bench::count_cases({
        {"parse an order", bench::kFixMessages, [&] { return read_all(usual_parser, usual); }},
        {"parse an order, any order of fields", bench::kFixMessages,
         [&] { return read_all(any_order_parser, any_order); }},
        {"parse market data", bench::kFixMessages, [&] { return read_all(market_data_parser, market_data); }},
        {"write an order", bench::kFixMessages, [] { return write_all(); }},
        {"store an order", bench::kFixMessages, [&] { return keep_all(store, orders.usual); }},
    });
}
