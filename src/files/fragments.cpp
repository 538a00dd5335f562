#include <millpond/files/detail/fragments.hpp>

#include <algorithm>

namespace millpond::files::detail {
namespace {

constexpr std::size_t kMaxBytes = 65'535;
constexpr std::int64_t kTimeoutNs = 30'000'000'000;

}  // namespace

std::optional<net::IpPacket> Fragments::add(const net::IpPacket& fragment, std::uint32_t interface,
                                            std::int64_t utc_ns) {
    const auto waiting = find(fragment, interface, utc_ns);
    switch (join(*waiting, fragment)) {
        case Added::waits:
        case Added::repeated: return std::nullopt;
        case Added::contradicts:
            ++incomplete_;
            waiting_.erase(waiting);
            return std::nullopt;
        case Added::complete: break;
    }
    auto whole = waiting->packet;
    complete_ = std::move(waiting->bytes);
    waiting_.erase(waiting);
    whole.length = complete_.size();
    whole.payload = complete_;
    return whole;
}

/// Returns the datagram of the fragment, a new one if necessary. Drops the ones that have waited too long.
std::list<Fragments::Waiting>::iterator Fragments::find(const net::IpPacket& fragment, std::uint32_t interface,
                                                        std::int64_t utc_ns) {
    incomplete_ += waiting_.remove_if([&](const Waiting& each) { return utc_ns - each.utc_ns > kTimeoutNs; });
    const auto found = std::ranges::find_if(waiting_, [&](const Waiting& each) {
        return each.packet.id == fragment.id && each.interface == interface && each.packet.source == fragment.source &&
               each.packet.destination == fragment.destination && each.packet.protocol == fragment.protocol;
    });
    if (found != waiting_.end()) return found;
    if (waiting_.size() == kMaxDatagrams) {
        ++incomplete_;
        waiting_.pop_front();
    }
    auto& added = waiting_.emplace_back();
    added.packet = {.source = fragment.source,
                    .destination = fragment.destination,
                    .protocol = fragment.protocol,
                    .id = fragment.id};
    added.interface = interface;
    added.utc_ns = utc_ns;
    return std::prev(waiting_.end());
}

Fragments::Added Fragments::join(Waiting& waiting, const net::IpPacket& fragment) {
    const Range added{fragment.offset, fragment.offset + fragment.payload.size()};
    auto& ranges = waiting.ranges;
    // A last fragment says how long the datagram is; it is the same each time, and nothing lies beyond it.
    const bool too_long = added.second > kMaxBytes || (waiting.length && added.second > *waiting.length);
    const bool other_end = !fragment.more && ((waiting.length && *waiting.length != added.second) ||
                                              (!ranges.empty() && ranges.back().second > added.second));
    if (too_long || other_end) return Added::contradicts;
    const auto bytes = fragment.payload;
    const auto after = std::ranges::lower_bound(ranges, added.first, {}, &Range::second);
    if (after != ranges.end() && after->first < added.second && after->second > added.first) {
        const bool repeated = after->first <= added.first && after->second >= added.second &&
                              std::ranges::equal(bytes, std::span{waiting.bytes}.subspan(added.first, bytes.size()));
        return repeated ? Added::repeated : Added::contradicts;
    }
    const auto next = after == ranges.end() ? after : after->second == added.first ? std::next(after) : after;
    if (next != ranges.end() && next->first < added.second) return Added::contradicts;
    waiting.bytes.resize(std::max(waiting.bytes.size(), added.second));
    std::ranges::copy(bytes, waiting.bytes.begin() + static_cast<std::ptrdiff_t>(added.first));
    if (!fragment.more) waiting.length = added.second;
    ranges.insert(next, added);
    std::vector<Range> joined;
    for (const auto& range : ranges) {
        if (!joined.empty() && joined.back().second == range.first) {
            joined.back().second = range.second;
        } else {
            joined.push_back(range);
        }
    }
    ranges = std::move(joined);
    const bool complete = waiting.length && ranges.size() == 1 && ranges[0] == Range{0, *waiting.length};
    return complete ? Added::complete : Added::waits;
}

void Fragments::drop_all() noexcept {
    incomplete_ += waiting_.size();
    waiting_.clear();
}

}  // namespace millpond::files::detail
