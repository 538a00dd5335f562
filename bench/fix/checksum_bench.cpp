// Measured:     the sum of the bytes of a NewOrderSingle in cache, as CheckSum needs it; 256 messages one after the
//               other.
// Not measured: finding the fields, which the parser does in the same pass (parse_order_bench).
#include <cstdint>
#include <string>
#include <vector>

#include <millpond/fix/parser.hpp>

#include "bench/fix/input.hpp"
#include "bench/fix/one_pass.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace {

using namespace millpond;

constexpr std::size_t kPasses = 1'000;
constexpr std::size_t kTrailerBytes = 7;

/// The messages, each followed by readable bytes for whole vectors.
std::vector<std::string> padded_orders(std::size_t& size) {
    auto orders = bench::fix_orders().usual;
    size = orders.front().size() - kTrailerBytes;
    for (auto& order : orders) order.append(64, '\0');
    return orders;
}

template <class Sum>
bench::Finding sums(Sum&& sum_of) {
    std::size_t size = 0;
    const auto orders = padded_orders(size);
    std::uint64_t answer = 0;
    const auto nanos = bench::typical_nanos_each(bench::scaled(kPasses), orders.size(), [&] {
        std::uint64_t all = 0;
        for (const auto& order : orders) {
            auto sum = static_cast<std::uint64_t>(sum_of(order.data(), size)) % 256;
            bench::keep(sum);
            all += sum;
        }
        answer = all;
    });
    return {.value = nanos, .answer = answer};
}

std::uint64_t byte_by_byte(const char* bytes, std::size_t size) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
        sum += static_cast<unsigned char>(bytes[i]);
        bench::keep(sum);  // keeps the compiler from vectorizing the loop
    }
    return sum;
}

}  // namespace

int main() {
    using fix::detail::InstructionSet;
    const std::string limit = bench::kOnePassName;
    const std::string ours = "sum, chosen at run time";
    std::vector<bench::Contender> contenders{
        {limit,
         [] { return sums([](const char* bytes, std::size_t size) { return bench::one_pass(bytes, size).sum; }); }},
        {ours, [] { return sums(fix::detail::sum_function(fix::detail::best_supported())); }}};
    if (fix::detail::best_supported() >= InstructionSet::avx512) {
        contenders.push_back({"sum, AVX2", [] { return sums(fix::detail::sum_function(InstructionSet::avx2)); }});
    }
    contenders.push_back({"byte by byte", [] { return sums(byte_by_byte); }});
    bench::compare(
        {.question = "What does the checksum of a NewOrderSingle of 186 bytes cost?",
         .unit = "ns/message",
         .goals = {{.contender = ours, .to = limit, .at_most = 1.0}},
         .measured = "the sum of the bytes in front of CheckSum modulo 256; the limit finds delimiters and '=' too",
         .not_measured = "finding the fields"},
        contenders);
}
