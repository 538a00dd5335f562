#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "bench/feed/input.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {

/// The datagrams of a sequenced stream, which a decoder accepts only once.
struct Stream {
    std::vector<std::vector<std::byte>> datagrams;
    std::size_t warm;      ///< Number of leading datagrams that are not timed: they name the instruments.
    std::size_t messages;  ///< Number of messages in all other datagrams.
};

/// Decodes the whole stream with a new Decode in each pass: decode(datagram, sum). Returns the median over the passes,
/// per message. A Decode with kTrain prefetches the next datagram, except for the last one of each kTrain: that is the
/// pattern of a receive thread's reads.
template <class Decode>
[[nodiscard]] Finding decode_stream(const Stream& stream, std::size_t passes) {
    Sum sum;
    std::vector<double> nanos(passes);
    for (auto& pass : nanos) {
        const auto decode = std::make_unique<Decode>();
        for (std::size_t i = 0; i < stream.warm; ++i) (*decode)(stream.datagrams[i], sum);
        pass = nanos_each(stream.messages, [&] {
            for (std::size_t i = stream.warm; i < stream.datagrams.size(); ++i) {
                if constexpr (requires { Decode::kTrain; }) {
                    if (i % Decode::kTrain != 0 && i + 1 < stream.datagrams.size())
                        decode->prefetch(stream.datagrams[i + 1]);
                }
                (*decode)(stream.datagrams[i], sum);
            }
            keep(sum);
        });
    }
    return {.value = median(std::move(nanos)), .answer = sum.value};
}

}  // namespace millpond::bench
