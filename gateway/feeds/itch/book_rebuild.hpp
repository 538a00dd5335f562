#pragma once

#include <string_view>

#include <millpond/feed/itch_decoder.hpp>

#include "gateway/feeds/itch/glimpse.hpp"
#include "gateway/feeds/itch/history.hpp"
#include "gateway/receive/book_rebuild.hpp"

namespace millpond::gateway::itch {

/// Rebuilds from GLIMPSE snapshots, captures, files of ITCH messages and a MoldUDP64 server.
struct RebuildRules {
    using Decoder = feed::ItchDecoder;
    using Snapshots = GlimpseReader;
    using Files = HistoryReader;
    static constexpr bool kRequestsAll = true;
    static constexpr std::string_view kSnapshots = "glimpse_snapshots";
    static constexpr std::string_view kSnapshotsHelp = "Snapshots that were read from the GLIMPSE server.";
    static constexpr std::string_view kFailures = "glimpse_failures";
    static constexpr std::string_view kSkipped = "glimpse_skipped";
};

using BookRebuild = gateway::BookRebuild<RebuildRules>;

}  // namespace millpond::gateway::itch

extern template class millpond::gateway::BookRebuild<millpond::gateway::itch::RebuildRules>;
