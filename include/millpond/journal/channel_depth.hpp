#pragma once

#include <filesystem>
#include <vector>

#include <millpond/journal/layout.hpp>
#include <millpond/market/quote_board.hpp>

namespace millpond::journal {

/// What the channel sends. A depth that no feed can have counts as 0.
[[nodiscard]] market::ChannelDepth depth_of(const ChannelRecord& channel) noexcept;

/// Returns the depth of each channel in each readable segment of the journal. Throws std::filesystem::filesystem_error.
[[nodiscard]] std::vector<market::ChannelDepth> recorded_depths(const std::filesystem::path& folder);

}  // namespace millpond::journal
