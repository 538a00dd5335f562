#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <unistd.h>

#include <millpond/feed/event.hpp>
#include <millpond/feed/quote_json.hpp>
#include <millpond/market/ring_writer.hpp>

#include "tests/gateway/sinks/events.hpp"

namespace millpond::gateway {

/// A ring name that no other process uses at the same time.
inline std::string ring_name(std::string_view what) {
    return "test-" + std::string{what} + "-" + std::to_string(getpid());
}

/// The n-th quote of a TestRing as JSON.
inline std::string json_of(std::uint64_t n) {
    std::array<char, feed::kMaxJsonBytes> buffer;
    const auto id = static_cast<feed::InstrumentId>(n % 2);
    return std::string{feed::quote_json(buffer, quote_of(id, static_cast<feed::Price>(n)),
                                        feed::JsonSymbol{feed::Symbol{id == 0 ? "AAPL" : "MSFT"}}, n)};
}

/// A ring with two named instruments, AAPL and MSFT.
struct TestRing {
    explicit TestRing(std::string_view what, std::uint64_t capacity = 1'024, std::uint32_t depth = 0)
        : name(ring_name(what)),
          writer({.name = name,
                  .capacity = capacity,
                  .max_instruments = 16,
                  .max_channels = 4,
                  .depth = depth,
                  .memory = {.prefault = true, .mode = 0600}}) {
        writer.name(0, feed::Venue{"X"}, feed::Symbol{"AAPL"});
        writer.name(1, feed::Venue{"X"}, feed::Symbol{"MSFT"});
    }

    /// Publishes quotes of both instruments in turn; the n-th quote has the bid n.
    void publish_quotes(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            ++quotes;
            writer.publish(quote_of(static_cast<feed::InstrumentId>(quotes % 2), static_cast<feed::Price>(quotes)));
        }
    }

    std::string name;
    market::RingWriter writer;
    std::uint64_t quotes{0};
};

}  // namespace millpond::gateway
