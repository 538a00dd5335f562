#pragma once

#include <string_view>

#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_deep_plus.hpp>

#include "gateway/feeds/iex/snap_reader.hpp"
#include "gateway/receive/book_rebuild.hpp"

namespace millpond::gateway::iex {

/// Rebuilds from DEEP SNAP or DEEP+ SNAP snapshots; messages between a snapshot and the feed are requested from the gap
/// fill server.
template <class FeedDecoder>
struct SnapRules {
    using Decoder = FeedDecoder;
    using Snapshots = SnapReader;
    using Files = NoFiles;
    static constexpr bool kRequestsAll = false;
    static constexpr std::string_view kSnapshots = "snap_snapshots";
    static constexpr std::string_view kSnapshotsHelp = "Snapshots that were read from the SNAP server.";
    static constexpr std::string_view kFailures = "snap_failures";
    static constexpr std::string_view kSkipped = "snap_skipped";
};

template <class FeedDecoder>
using SnapRebuild = gateway::BookRebuild<SnapRules<FeedDecoder>>;

}  // namespace millpond::gateway::iex

extern template class millpond::gateway::BookRebuild<millpond::gateway::iex::SnapRules<millpond::feed::IexDeepDecoder>>;
extern template class millpond::gateway::BookRebuild<
    millpond::gateway::iex::SnapRules<millpond::feed::IexDeepPlusDecoder>>;
