#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include <millpond/feed/event.hpp>
#include <millpond/market/ring_reader.hpp>

#include "tests/apps/feed_lines.hpp"

namespace millpond::app {

using Board = std::map<std::string, std::array<std::byte, sizeof(feed::Quote)>>;

/// The board's quotes by symbol, without receive times and instrument ids.
inline Board board_of(Lines& lines) {
    EXPECT_TRUE(lines.settle());
    auto& reader = lines.reader();
    Board board;
    for (feed::InstrumentId id = 0; id < reader.board().instruments(); ++id) {
        auto record = reader.board().quote(id);
        if (record.state != market::RecordState::whole) continue;
        record.event.instrument = 0;
        record.event.receive_utc_ns = 0;
        record.event.receive_ticks = 0;
        const auto* name = reader.instrument(id);
        board[std::string{name->symbol.view()}] = std::bit_cast<Board::mapped_type>(record.event);
    }
    return board;
}

inline std::uint64_t incomplete_in(market::RingReader& reader) {
    std::uint64_t count = 0;
    for (feed::InstrumentId id = 0; id < reader.board().instruments(); ++id) {
        const auto record = reader.board().quote(id);
        count += record.state == market::RecordState::whole && (record.event.flags & feed::kIncomplete) != 0 ? 1U : 0U;
    }
    return count;
}
inline std::uint64_t incomplete_in(Lines& lines) {
    EXPECT_TRUE(lines.settle());
    return incomplete_in(lines.reader());
}

}  // namespace millpond::app
