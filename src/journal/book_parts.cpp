#include <millpond/journal/book_parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace millpond::journal {

std::optional<BookPart> book_part(const RecordView& view) noexcept {
    BookPart part;
    const auto bytes = view.payload.size_bytes();
    if (view.kind != RecordKind::book || bytes < sizeof(BookRecord<1>) || bytes > sizeof part) return std::nullopt;
    std::memcpy(static_cast<void*>(&part), view.payload.data(), bytes);
    const auto cells = std::max<std::size_t>(part.head.cells, 1);
    if (cells > kMaxBookCells || bytes != sizeof(BookHead) + cells * sizeof(BookCell)) return std::nullopt;
    const bool is_head = part.head.flags < 2 * kBookBegins && part.head.asks >> part.head.cells == 0;
    return is_head && part.head.reserved == 0 ? std::optional{part} : std::nullopt;
}

}  // namespace millpond::journal
