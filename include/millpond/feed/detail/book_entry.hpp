#pragma once

#include <cstdint>

#include <millpond/core/cache_line.hpp>
#include <millpond/feed/detail/instrument_state.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/order_books.hpp>

namespace millpond::feed {

/// An instrument that has a book, with what was published of it last.
struct alignas(core::kCacheLine) BookEntry {
    InstrumentId instrument{kNoInstrument};
    std::uint16_t locate{0};  ///< ITCH: stock locate.
    std::uint16_t flags{0};   ///< Flags of the last published quote.
    InstrumentState trading{};
    bool published{false};
    bool is_unsorted{false};        ///< The numbers of its orders have not counted up.
    std::uint32_t snapshot{0};      ///< Number of the newest snapshot of the book in its events; 0 if none.
    std::uint64_t stock{0};         ///< The name's eight characters, as in messages.
    OrderBooks::Top top{};          ///< The last published best bid and offer.
    std::uint64_t newest_order{0};  ///< Highest number of its orders.
};
static_assert(sizeof(BookEntry) == core::kCacheLine);

}  // namespace millpond::feed
