#include "apps/millpond/book/book_follower.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace millpond::app {
namespace {

market::Book::Options options_of(market::ChannelDepth depth) {
    constexpr std::uint32_t kAll = 65'536;
    if (depth.orders) return {.depth = kAll, .levels = kAll, .orders = 1U << 20U};
    if (depth.depth == feed::kFullDepth) return {.depth = kAll, .levels = kAll};
    return market::Book::options_of_levels(depth.depth);
}

feed::Clear clear_of(bool is_complete) {
    feed::Clear clear;
    if (!is_complete) clear.flags = feed::kIncomplete;
    return clear;
}

}  // namespace

void BookFollower::note(feed::InstrumentId id, const market::Instrument& instrument) {
    if (id >= is_noted_.size()) is_noted_.resize(id + std::size_t{1});
    if (is_noted_[id]) return;
    is_noted_[id] = true;
    symbols_.emplace(instrument.symbol.view());
    if (instrument.symbol.view() != symbol_) return;
    if (wanted_ != feed::kNoInstrument) {
        throw std::runtime_error(fmt::format("'{}' is an instrument of two venues, {} and {}", symbol_,
                                             instrument_->venue.view(), instrument.venue.view()));
    }
    wanted_ = id;
    instrument_ = instrument;
}

void BookFollower::make_book(market::ChannelDepth depth) {
    if (book_ && made_of_ == depth) return;
    book_.emplace(options_of(depth));
    made_of_ = depth;
    restart();
}

market::Book::Faults BookFollower::faults() const noexcept {
    return book_ ? book_->faults() - before_ : market::Book::Faults{};
}

void BookFollower::restart() {
    const auto channel = is_complete_.find(*channel_);
    forget_faults();
    book_->apply(clear_of(channel != is_complete_.end() && channel->second));
}

void BookFollower::begin_epoch() {
    is_noted_.clear();
    wanted_ = feed::kNoInstrument;
    channel_.reset();
    is_complete_.clear();
    has_ended_ = false;
    cleared_.reset();
    if (!book_) return;
    forget_faults();
    book_->apply(clear_of(false));
}

bool BookFollower::claim(std::uint16_t channel) {
    if (!is_of_channel(channel)) {
        throw std::runtime_error(
            fmt::format("channels {} and {} both send books of '{}'", *channel_, channel, symbol_));
    }
    return !std::exchange(channel_, channel);
}

void BookFollower::apply(const feed::Order& order) {
    const bool is_first = claim(order.channel);
    make_book();
    if (is_first) restart();
    if (order.action == feed::OrderAction::clear) forget_faults();
    book_->apply(order);
    cleared_.reset();
}

void BookFollower::apply(const feed::Level& level) {
    const auto depth = depth_of_ ? depth_of_(level.channel) : market::ChannelDepth{.orders = true};
    if (!depth.is_on()) has_unknown_depth_ = true;
    if (!depth.orders && depth.depth != 0) {
        const bool is_first = claim(level.channel);
        make_book({.depth = depth.depth});
        if (is_first) restart();
        if (level.side == feed::Side::none) forget_faults();
        cleared_.reset();
    }
    if (book_ && channel_ == level.channel) book_->apply(level);
}

void BookFollower::apply(const feed::Clear& clear) {
    if (clear.instrument == feed::kNoInstrument) is_complete_[clear.channel] = (clear.flags & feed::kIncomplete) == 0;
    if (channel_ != clear.channel) return;
    cleared_ = clear;
    if (!book_) return;
    forget_faults();
    book_->apply(clear);
}

void BookFollower::apply(const feed::Gap& gap) {
    is_complete_[gap.channel] = false;
    if (book_ && channel_ == gap.channel) book_->apply(gap);
}

void BookFollower::apply(const feed::Status& status) {
    const bool is_end = status.instrument == feed::kNoInstrument && status.state == feed::TradingState::end_of_messages;
    if (is_end && is_of_channel(status.channel)) has_ended_ = true;
}

void BookFollower::on(const queue::MissedRange& missed) {
    for (auto& [channel, is_complete] : is_complete_) is_complete = false;
    if (book_) book_->apply(missed);
}

}  // namespace millpond::app
