#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <millpond/feed/itch_decoder.hpp>

namespace millpond::feed {

template <EventHandler Handler>
void ItchDecoder::decode_messages(std::span<const std::span<const std::byte>> messages, std::uint64_t first,
                                  const Arrival& arrival, Handler& handler) {
    prefetch_orders(messages.first(std::min(kAhead, messages.size())));
    while (!messages.empty()) {
        const auto now = messages.first(std::min(kAhead, messages.size()));
        messages = messages.subspan(now.size());
        prefetch_orders(messages.first(std::min(kAhead, messages.size())));
        decode_prefetched(now, first, arrival, handler);
        first += now.size();
    }
}

template <class Handler>
void ItchDecoder::decode_prefetched(std::span<const std::span<const std::byte>> messages, std::uint64_t first,
                                    const Arrival& arrival, Handler& handler) {
    prefetch_levels(messages);
    for (const auto message : messages) decode_message(message, first++, arrival, handler);
}

template <class Handler>
void ItchDecoder::apply_ahead(std::span<const std::byte> datagram, std::size_t place, const MoldUdp64Packet& packet,
                              std::uint64_t first, const Arrival& arrival, Handler& handler) {
    std::array<std::span<const std::byte>, kAhead> messages;
    while (first < packet.messages) {
        const auto count = std::min<std::size_t>(kAhead, packet.messages - first);
        for (auto& message : std::span{messages}.first(count)) message = next_block(datagram, place);
        decode_prefetched(std::span{messages}.first(count), packet.sequence + first, arrival, handler);
        first += count;
    }
}

inline void ItchDecoder::prefetch(std::span<const std::byte> datagram) const noexcept {
    if (has_many_orders()) static_cast<void>(read_ahead(datagram));
}

inline MoldUdp64Packet ItchDecoder::read_ahead(std::span<const std::byte> datagram) const noexcept {
    return MoldUdp64Packet::read(datagram, [this](std::span<const std::byte> message) { prefetch_order(message); });
}

inline void ItchDecoder::prefetch_order(std::span<const std::byte> message) const noexcept {
    constexpr auto kOrderAt = itch_layout::order_added::kOrderAt;
    if (message.size() < kOrderAt + sizeof(std::uint64_t)) return;
    order_books_.prefetch(core::load_be<std::uint64_t>(message.data() + kOrderAt));
    const auto book = books_.find(locate_of(message.data()));
    if (book == ItchBooks::kNone) return;
    order_books_.prefetch_book(book);
    books_.prefetch(book);
}

inline void ItchDecoder::prefetch_orders(std::span<const std::span<const std::byte>> messages) const noexcept {
    for (const auto message : messages) prefetch_order(message);
}

/// The book has the place of its levels; the message or its order determines which of them will change.
inline void ItchDecoder::prefetch_levels(std::span<const std::span<const std::byte>> messages) noexcept {
    namespace at = itch_layout::order_added;
    std::array<OrderBooks::LevelAhead, kAhead> levels;
    std::size_t count = 0;
    for (const auto message : messages) {
        if (message.size() < at::kOrderAt + sizeof(std::uint64_t)) continue;
        const auto* const bytes = message.data();
        const char type = static_cast<char>(bytes[0]);
        if (message.size() >= at::kBytes && (type == 'A' || type == 'F')) {
            const auto book = books_.find(locate_of(bytes));
            if (book == ItchBooks::kNone) continue;
            levels[count] = order_books_.prefetch_keys(book, static_cast<char>(bytes[at::kSideAt]) == 'B',
                                                       core::load_be<std::uint32_t>(bytes + at::kPriceAt));
        } else if (const auto* const order = order_books_.find(core::load_be<std::uint64_t>(bytes + at::kOrderAt))) {
            levels[count] = order_books_.prefetch_keys(order->book, order->is_bid, order->price);
        }
        if (levels[count].side != nullptr) ++count;
    }
    for (const auto& level : std::span{levels}.first(count)) order_books_.prefetch_shares(level);
}

}  // namespace millpond::feed
