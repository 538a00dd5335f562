#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/moldudp64_encoder.hpp>
#include <millpond/memory/region_resource.hpp>

#include "bench/feed/itch_input.hpp"
#include "bench/harness/compare.hpp"

/// A day's flow of orders in parts, for contenders that keep their books from one round to the next: a day of ten
/// million messages need not be in memory at once, and books are not filled again in each round.
namespace millpond::bench {

/// Datagrams of three messages.
class Datagrams {
public:
    void clear() noexcept {
        bytes_.clear();
        ends_.assign(1, 0);
    }
    void add(std::span<const std::byte> datagram) {
        bytes_.insert(bytes_.end(), datagram.begin(), datagram.end());
        ends_.push_back(bytes_.size());
    }
    [[nodiscard]] std::size_t size() const noexcept { return ends_.size() - 1; }
    [[nodiscard]] std::span<const std::byte> operator[](std::size_t index) const noexcept {
        return std::span{bytes_}.subspan(ends_[index], ends_[index + 1] - ends_[index]);
    }

private:
    std::vector<std::byte> bytes_;
    std::vector<std::size_t> ends_ = std::vector<std::size_t>(1);
};

/// Shape of a day of that many instruments: 520,000 live orders or more, or 16 each of 64 instruments, in cache.
[[nodiscard]] constexpr OrderShape day_shape(std::size_t books) {
    constexpr std::size_t kLive = 520'000;
    const auto each = books <= kBooks ? 16 : kLive / books;
    return {.books = books, .live_each = each, .fill_first = true, .most_each = 2 * each};
}

/// A day's messages; all contenders of a round get the same ones.
class DayInRounds {
public:
    DayInRounds(const OrderShape& shape, std::size_t messages_each)
        : shape_(shape), each_(messages_each / kItchMessagesEach * kItchMessagesEach), flow_(shape) {}

    /// Passes on the datagrams that name the instruments and fill the books.
    template <class Take>
    void fill(Take&& take) const {
        OrderFlow flow{shape_};
        feed::MoldUdp64Encoder encoder{kSession};
        Datagrams part;
        for (auto left = shape_.warm(); left != 0;) {
            const auto messages = std::min(left, kFillEach);
            make(flow, encoder, messages, part);
            for (std::size_t i = 0; i < part.size(); ++i) take(part[i]);
            left -= messages;
        }
    }
    /// The datagrams of a round: the newest one or the next one. Valid until the next call.
    const Datagrams& round(std::size_t number) {
        if (made_ == 0) make(flow_, encoder_, shape_.warm(), part_);
        if (number != made_) {
            if (number != made_ + 1) throw std::logic_error("the rounds of a day come one after the other");
            make(flow_, encoder_, each_, part_);
            ++made_;
        }
        return part_;
    }
    [[nodiscard]] std::size_t messages() const noexcept { return each_; }
    [[nodiscard]] const OrderShape& shape() const noexcept { return shape_; }

private:
    static constexpr const char* kSession = "BENCH";
    static constexpr std::size_t kFillEach = 30'000;

    static void make(OrderFlow& flow, feed::MoldUdp64Encoder& encoder, std::size_t messages, Datagrams& into) {
        std::array<std::byte, 256> buffer;
        into.clear();
        for (std::size_t i = 0; i < messages; i += kItchMessagesEach) {
            encoder.begin(buffer);
            for (std::size_t j = 0; j < kItchMessagesEach; ++j) {
                if (!encoder.add(flow.next())) throw std::logic_error("a datagram is too small for its messages");
            }
            into.add(encoder.finish());
        }
    }

    OrderShape shape_;
    std::size_t each_;
    OrderFlow flow_;
    feed::MoldUdp64Encoder encoder_{kSession};
    Datagrams part_;
    std::size_t made_{0};
};

/// Decoder of a day with twice the capacity for its live orders, on huge pages like the gateway's.
struct DayDecoder {
    DayDecoder(const OrderShape& shape, std::uint32_t depth, bool orders)
        : instruments(shape.books),
          decoder(instruments,
                  {.order_books = {.books = shape.books,
                                   .orders = std::bit_ceil(2 * shape.books * shape.live_each),
                                   .level_chunks = shape.books * 4},
                   .depth = depth,
                   .orders = orders},
                  &memory) {}

    memory::RegionResource memory{{.huge_pages = memory::HugePages::transparent}};
    feed::InstrumentTable instruments;
    feed::ItchDecoder decoder;
};

/// Throws std::logic_error unless `shown` are the best levels of the decoder's book, `depth` of them or all.
/// shown: range of levels with price, size and orders, the best one first.
template <class Levels>
void check_levels(const feed::OrderBooks& books, std::uint16_t book, bool is_bid, std::size_t depth, Levels&& shown) {
    std::size_t place = 0;
    for (const auto& level : shown) {
        const auto expected = books.level_at(book, is_bid, place++);
        if (level.price != feed::price_from<10'000>(expected.price) || level.size != expected.shares ||
            level.orders != expected.orders)
            throw std::logic_error("level " + std::to_string(place) + " of book " + std::to_string(book) + " is wrong");
    }
    if (place != std::min(depth, books.levels(book, is_bid)))
        throw std::logic_error("book " + std::to_string(book) + " shows " + std::to_string(place) + " levels");
}

}  // namespace millpond::bench
