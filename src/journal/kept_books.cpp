#include <millpond/journal/kept_books.hpp>

#include <millpond/market/board_layout.hpp>

namespace millpond::journal {
namespace {

constexpr std::uint32_t kMaxOrders = 1U << 20U;  // of a book
constexpr std::uint32_t kMaxLevels = 65'536;     // of a side

}  // namespace

KeptBooks::KeptBooks(const market::Books::DepthOf& depth_of)
    : depth_of_(depth_of),
      levels_({.max_instruments = market::kMaxInstruments, .levels = kMaxLevels},
              [depth_of](std::uint16_t channel) { return market::ChannelDepth{.depth = depth_of(channel).depth}; }),
      orders_({.max_instruments = market::kMaxInstruments, .orders = kMaxOrders, .levels = kMaxLevels},
              [depth_of](std::uint16_t channel) { return market::ChannelDepth{.orders = depth_of(channel).orders}; }) {}

void KeptBooks::reset() noexcept {
    levels_.reset();
    orders_.reset();
    end_channel_ = 0;
}

}  // namespace millpond::journal
