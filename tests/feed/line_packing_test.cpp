// Lines A and B that carry the same messages in different datagrams.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/core/endian.hpp>
#include <millpond/feed/decoder_target.hpp>
#include <millpond/feed/iex_encoder.hpp>
#include <millpond/feed/iex_tops.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_encoder.hpp>
#include <millpond/feed/line_arbiter.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>

#include "tests/feed/recorder.hpp"

namespace millpond::feed {
namespace {

struct Datagram {
    std::uint64_t first{0};
    std::uint64_t count{0};
    std::vector<std::byte> bytes;
};

/// A datagram of these messages; each is a quote with its number as the price.
template <class Decoder>
Datagram datagram(std::uint64_t first, std::uint64_t count) {
    std::array<std::byte, 1'472> buffer;
    std::span<const std::byte> bytes;
    if constexpr (std::is_same_v<Decoder, ItchDecoder>) {
        MoldUdp64Encoder mold{"S", first};
        ItchEncoder itch;
        itch.set_head(1, 5);
        mold.begin(buffer);
        for (auto n = first; n < first + count; ++n)
            EXPECT_TRUE(mold.add(itch.order_added(n, 'B', 1, "AAPL", static_cast<std::uint32_t>(n))));
        bytes = mold.finish();
    } else {
        IexEncoder iex{{.first_sequence = first}};
        IexMessageWriter writer;
        iex.begin(buffer);
        for (auto n = first; n < first + count; ++n)
            EXPECT_TRUE(iex.add(writer.quote("AAPL", 1, static_cast<std::int64_t>(n), 0, 0)));
        bytes = iex.finish(0);
    }
    return {first, count, {bytes.begin(), bytes.end()}};
}

/// The datagram, with another number of messages in its header.
template <class Decoder>
Datagram with_count(Datagram datagram, std::uint16_t count) {
    if constexpr (std::is_same_v<Decoder, ItchDecoder>) {
        core::store_be(datagram.bytes.data() + moldudp64_layout::kCountAt, count);
    } else {
        core::store_le(datagram.bytes.data() + iex_layout::kCountAt, count);
    }
    return datagram;
}

/// The datagram without its last byte.
Datagram cut(Datagram datagram) {
    datagram.bytes.pop_back();
    return datagram;
}

template <class Decoder>
class LinePacking : public testing::Test {
protected:
    using Line = std::vector<Datagram>;

    LinePacking() { start_again(); }
    void start_again(std::size_t held = 64) {
        decoder_.emplace(table_, typename Decoder::Options{});
        arbiter_.emplace(typename LineArbiter<Decoder>::Options{.held = held});
        seen_ = Recorder{};
        errors_ = 0;
    }

    /// All messages up to `last`, in datagrams of 1 to `most` messages.
    Line packed(std::uint64_t last, std::uint64_t most) {
        Line line;
        for (std::uint64_t first = 1; first <= last;) {
            const auto count = std::min<std::uint64_t>(1 + random_() % most, last + 1 - first);
            line.push_back(datagram<Decoder>(first, count));
            first += count;
        }
        return line;
    }
    void receive(std::size_t line, const Datagram& each) {
        DecoderTarget target{*decoder_, seen_, [&](std::span<const std::byte>, const DecodeResult& result) {
                                 if (!result.ok()) ++errors_;
                             }};
        const ExactCopy copy{each.bytes};
        arbiter_->receive(line, copy.span(), {.receive_utc_ns = 5, .receive_ticks = 1, .channel = 0}, target);
    }
    [[nodiscard]] std::vector<std::uint64_t> numbers() const {
        std::vector<std::uint64_t> numbers;
        for (const auto& quote : seen_.quotes) numbers.push_back(quote.feed_sequence);
        return numbers;
    }
    /// Every message was applied once, in order, and is counted for the line that brought it.
    void expect_all(std::uint64_t last, std::size_t errors = 0) {
        EXPECT_TRUE(seen_.gaps.empty());
        EXPECT_FALSE(arbiter_->holding());
        std::vector<std::uint64_t> all(last);
        for (std::uint64_t i = 0; i < last; ++i) all[i] = i + 1;
        EXPECT_EQ(numbers(), all);
        EXPECT_EQ(errors_, errors);
        EXPECT_EQ(used(0) + used(1), last);
    }
    [[nodiscard]] std::uint64_t used(std::size_t line) const { return arbiter_->counters(line).messages_used.read(); }

    std::mt19937 random_{39};
    InstrumentTable table_{4};
    std::optional<Decoder> decoder_;
    std::optional<LineArbiter<Decoder>> arbiter_;
    Recorder seen_;
    std::size_t errors_{0};  ///< Datagrams in which the decoder found an error.
};
using Formats = testing::Types<ItchDecoder, IexTopsDecoder>;
TYPED_TEST_SUITE(LinePacking, Formats);

TYPED_TEST(LinePacking, ADatagramThatOverlapsBringsOnlyItsNewMessages) {
    this->receive(0, datagram<TypeParam>(1, 4));
    this->receive(1, datagram<TypeParam>(3, 5));  // 5, 6 and 7 are new
    this->receive(0, datagram<TypeParam>(5, 4));  // 8 is new
    this->expect_all(8);
    EXPECT_EQ(this->used(0), 5U);
    EXPECT_EQ(this->used(1), 3U);
}

TYPED_TEST(LinePacking, ALossOnOneLineIsFilledByDatagramsOfOtherBounds) {
    this->receive(0, datagram<TypeParam>(1, 2));
    this->receive(0, datagram<TypeParam>(7, 3));  // 3 to 6 are missing
    this->receive(1, datagram<TypeParam>(1, 4));
    EXPECT_TRUE(this->arbiter_->holding());
    this->receive(1, datagram<TypeParam>(5, 4));
    this->expect_all(9);
    EXPECT_EQ(this->used(0), 3U);
    EXPECT_EQ(this->used(1), 6U);
    EXPECT_EQ(this->arbiter_->counters(1).filled.read(), 2U);
}

TYPED_TEST(LinePacking, ADamagedDatagramThatWaitsHidesNeitherItsCopyNorLaterOnes) {
    for (const std::uint16_t count : {std::uint16_t{6}, std::uint16_t{0xFFF0}}) {
        this->receive(0, datagram<TypeParam>(1, 2));
        this->receive(0, with_count<TypeParam>(datagram<TypeParam>(5, 2), count));  // 3 and 4 are missing
        this->receive(1, datagram<TypeParam>(5, 4));
        this->receive(1, datagram<TypeParam>(9, 2));
        this->receive(1, datagram<TypeParam>(3, 2));
        this->expect_all(10, 1);
        EXPECT_EQ(this->used(0), 4U);
        this->start_again();
    }
}

TYPED_TEST(LinePacking, OnlyTheWholeMessagesOfADamagedDatagramAreUsed) {
    this->receive(0, cut(datagram<TypeParam>(1, 1)));
    this->receive(0, datagram<TypeParam>(1, 1));
    this->receive(0, cut(datagram<TypeParam>(2, 3)));  // 4 is cut off
    EXPECT_EQ(this->used(0), 3U);
    this->receive(0, cut(datagram<TypeParam>(4, 1)));
    EXPECT_EQ(this->arbiter_->counters(0).used.read(), 2U);
    EXPECT_EQ(this->arbiter_->counters(0).others.read(), 2U);
    this->receive(1, datagram<TypeParam>(2, 3));
    this->expect_all(4, 3);
    EXPECT_EQ(this->used(1), 1U);
}

TYPED_TEST(LinePacking, WithoutAFreeSlotADatagramBeforeTheHeldOnesIsUsed) {
    this->start_again(2);
    this->receive(0, datagram<TypeParam>(1, 1));
    this->receive(0, datagram<TypeParam>(6, 1));
    this->receive(0, datagram<TypeParam>(8, 1));
    this->receive(1, datagram<TypeParam>(4, 2));  // only 2 and 3 are given up
    EXPECT_EQ(this->arbiter_->given_up().read(), 1U);
    EXPECT_EQ(this->arbiter_->held(), 1U);
    this->receive(1, datagram<TypeParam>(7, 1));
    ASSERT_EQ(this->seen_.gaps.size(), 1U);
    EXPECT_EQ(this->seen_.gaps[0].first, 2U);
    EXPECT_EQ(this->seen_.gaps[0].last, 3U);
    EXPECT_EQ(this->numbers(), (std::vector<std::uint64_t>{1, 4, 5, 6, 7, 8}));
    EXPECT_EQ(this->used(0) + this->used(1), 6U);
}

TYPED_TEST(LinePacking, RandomPackingsAndLossesOnEachLineLoseNothingThatOneLineHasBrought) {
    constexpr std::uint64_t kLast = 600;
    for (int round = 0; round < 30; ++round) {
        const std::array<typename TestFixture::Line, 2> lines{this->packed(kLast, 1 + this->random_() % 12),
                                                              this->packed(kLast, 1 + this->random_() % 12)};
        std::vector<bool> brought(kLast + 1);
        std::array<std::vector<bool>, 2> is_lost;
        for (const auto& each : lines[0]) {
            is_lost[0].push_back(each.first > 1 && this->random_() % 4 == 0);
            for (auto n = each.first; n < each.first + each.count; ++n) brought[n] = !is_lost[0].back();
        }
        for (const auto& each : lines[1]) {
            bool needed = false;
            for (auto n = each.first; n < each.first + each.count; ++n) needed = needed || !brought[n];
            is_lost[1].push_back(!needed && this->random_() % 2 == 0);
        }
        std::array<std::size_t, 2> at{};
        const auto number = [&](std::size_t line) {
            return at[line] < lines[line].size() ? lines[line][at[line]].first : 2 * kLast;
        };
        while (at[0] < lines[0].size() || at[1] < lines[1].size()) {
            // Neither line is more than 30 messages ahead of the other.
            const auto behind = number(0) < number(1) ? std::size_t{0} : std::size_t{1};
            const bool is_far = number(1 - behind) - number(behind) > 30;
            const auto line = is_far || this->random_() % 2 == 0 ? behind : 1 - behind;
            if (at[line] == lines[line].size()) continue;
            if (!is_lost[line][at[line]]) this->receive(line, lines[line][at[line]]);
            ++at[line];
        }
        this->expect_all(kLast);
        if (this->HasFailure()) return;
        this->start_again();
    }
}

}  // namespace
}  // namespace millpond::feed
