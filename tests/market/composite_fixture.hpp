#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include <millpond/feed/event.hpp>

namespace millpond::test {

constexpr std::uint16_t kCompositeChannel = 9;

/// A ring: numbers of events, and what a reader keeps of those of the composite.
struct CompositeRing {
    struct Seen {
        feed::Quote quote{};
        std::uint64_t number{0};  // 0: none
        feed::BestVenues venues{};
    };
    std::uint64_t newest{0};
    std::uint64_t gapped{0};
    std::uint64_t published{0};  // events of the composite
    std::map<feed::InstrumentId, Seen> seen;

    std::uint64_t operator()(const feed::Quote& quote) {
        seen[quote.instrument].quote = quote;
        ++published;
        return seen[quote.instrument].number = ++newest;
    }
    std::uint64_t operator()(const feed::BestVenues& venues) {
        seen[venues.instrument].venues = venues;
        ++published;
        return ++newest;
    }
    std::uint64_t operator()(const feed::Level&) {
        ADD_FAILURE() << "a composite without depth publishes a level";
        return ++newest;
    }
    std::uint64_t operator()(const feed::Gap& gap) {
        EXPECT_EQ(gap.channel, kCompositeChannel);
        EXPECT_EQ(gap.reason, feed::GapReason::venue);
        ++published;
        return gapped = ++newest;
    }
    /// The quote as readers see it: after a Gap it is incomplete.
    [[nodiscard]] feed::Quote quote(feed::InstrumentId id) {
        auto quote = seen[id].quote;
        if (seen[id].number < gapped) quote.flags |= feed::kIncomplete;
        return quote;
    }
};

/// Instruments 0, 1, 2, ... are the composite's; 10 x venue + i is that of symbol i at a venue, 1, 2, ...
constexpr feed::InstrumentId kVenueStep = 10;

}  // namespace millpond::test
