#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <millpond/feed/itch_decoder.hpp>

namespace millpond::feed {

inline std::optional<ItchFault> ItchDecoder::fault_since(const Faults& before) const noexcept {
    const auto now = faults();
    if (now.unknown_order != before.unknown_order) return ItchFault::unknown_order;
    if (now.inconsistent != before.inconsistent) return ItchFault::inconsistent;
    if (now.refused != before.refused) return ItchFault::refused;
    if (now.invalid != before.invalid) return ItchFault::invalid;
    return std::nullopt;
}

template <class Handler>
void ItchDecoder::lose(core::Tally& counter, const Context& context, Handler& handler) {
    counter.add();
    // Quotes published while the books were incomplete are already marked.
    if (!std::exchange(complete_, false)) return;
    const auto number = context.sequence;
    emit(counters_, handler, make_gap(context.arrival, number, number, GapReason::rejected));
}

template <class Handler>
void ItchDecoder::reject(std::uint16_t book, Bytes message, const Context& context, Handler& handler) {
    counters_.rejected.add();
    order_books_.mark_incomplete(book);
    publish_top(book, message, context, handler);
}

}  // namespace millpond::feed
