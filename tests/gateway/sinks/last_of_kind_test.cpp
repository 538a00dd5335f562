#include "gateway/sinks/last_of_kind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace millpond::gateway {
namespace {

using ::testing::ElementsAre;

class LastOfKindTest : public ::testing::Test {
protected:
    template <class Event>
    void read(feed::InstrumentId instrument, std::uint16_t flags = 0) {
        Event event{};
        if constexpr (requires { event.instrument; }) event.instrument = instrument;
        if constexpr (requires { event.flags; }) event.flags = flags;
        last_.on(event, ++number_, pass());
    }
    /// "o1" for an order with number 1, "l2!" for a level with number 2 and the mark.
    [[nodiscard]] auto pass() {
        return [this]<class Event>(const Event& event, std::uint64_t number) {
            passed_.push_back((std::is_same_v<Event, feed::Order> ? "o" : "l") + std::to_string(number) +
                              ((event.flags & feed::kLast) != 0 ? "!" : ""));
        };
    }

    LastOfKind last_;
    std::uint64_t number_{0};
    std::vector<std::string> passed_;
};

TEST_F(LastOfKindTest, TheLastOrderAndTheLastLevelOfAGroupAreMarkedWhereverItEnds) {
    read<feed::Order>(0);
    read<feed::Order>(0);
    read<feed::Level>(0);
    read<feed::Level>(0);
    EXPECT_THAT(passed_, ElementsAre("o1", "o2!", "l3"));
    EXPECT_EQ(last_.held(), 4U);
    read<feed::Trade>(0);
    read<feed::Quote>(0, feed::kLast);
    EXPECT_EQ(last_.held(), std::nullopt);
    read<feed::Level>(0);
    read<feed::Level>(0, feed::kLast);
    read<feed::Order>(1);
    read<feed::Quote>(1, feed::kLast);
    EXPECT_THAT(passed_, ElementsAre("o1", "o2!", "l3", "l4!", "l7", "l8!", "o9!"));
}

TEST_F(LastOfKindTest, WithoutLevelsTheFirstLevelShowsTheLastOrder) {
    read<feed::Order>(0);
    read<feed::Order>(0);
    last_.end_of_kind(0, pass());
    EXPECT_EQ(last_.held(), std::nullopt);
    last_.end_of_kind(0, pass());
    read<feed::Order>(0);
    last_.end_of_kind(1, pass());
    EXPECT_THAT(passed_, ElementsAre("o1", "o2!", "o3"));
}

TEST_F(LastOfKindTest, AGroupThatDoesNotEndHasNoMark) {
    read<feed::Level>(0);
    read<feed::Gap>(0);
    read<feed::Level>(0);
    read<feed::Clear>(0);
    read<feed::Level>(0);
    read<feed::Quote>(1, feed::kLast);
    read<feed::Order>(0);
    read<feed::Level>(1, feed::kLast);
    read<feed::Level>(0);
    last_.cut(pass());
    EXPECT_THAT(passed_, ElementsAre("l1", "l3", "l5", "o7", "l8!", "l9"));
    read<feed::Level>(0);
    last_.reset();
    read<feed::Quote>(0, feed::kLast);
    EXPECT_EQ(passed_.size(), 6U);
}

}  // namespace
}  // namespace millpond::gateway
