#include <millpond/feed/iex_gap_fill.hpp>

#include "fuzz/fuzz_target.hpp"

/// A request that is read has the length that its header says, and ranges that increase.
MILLPOND_FUZZ_TARGET {
    namespace feed = millpond::feed;
    const auto request = feed::IexGapFillRequest::read(input);
    if (!request) return;
    const auto keep = [](bool kept, const char* promise) { feed::require_kept(kept ? "" : promise); };
    keep(feed::IexGapFillRequest::length(input) == input.size(), "its length is the header's");
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < request->size(); ++i) {
        const auto [first, last] = request->range(i);
        keep(before < first && first <= last, "ranges increase");
        before = last;
    }
}
