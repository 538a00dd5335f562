#include <millpond/files/detail/fragments.hpp>

#include <algorithm>
#include <iterator>
#include <span>

namespace millpond::files::detail {
namespace {

constexpr std::size_t kMaxBytes = 65'535;
constexpr std::int64_t kTimeoutNs = 30'000'000'000;

}  // namespace

std::optional<net::IpPacket> Fragments::add(const net::IpPacket& fragment, std::uint32_t interface,
                                            std::int64_t utc_ns) {
    const auto is_old = [utc_ns](const Waiting& each) { return utc_ns - each.utc_ns > kTimeoutNs; };
    incomplete_ += waiting_.remove_if(is_old);
    joined_.remove_if(is_old);
    auto waiting = find(waiting_, fragment, interface);
    if (waiting == waiting_.end()) {
        if (is_late_copy(fragment, interface)) return std::nullopt;
        waiting = begin(fragment, interface, utc_ns);
    }
    switch (join(*waiting, fragment)) {
        case Added::waits:
        case Added::repeated: return std::nullopt;
        case Added::contradicts:
            ++incomplete_;
            waiting_.erase(waiting);
            return std::nullopt;
        case Added::complete: break;
    }
    if (joined_.size() == kMaxDatagrams) joined_.pop_back();
    waiting->utc_ns = utc_ns;
    joined_.splice(joined_.begin(), waiting_, waiting);
    auto whole = waiting->packet;
    whole.length = waiting->bytes.size();
    whole.payload = waiting->bytes;
    return whole;
}

Fragments::Datagrams::iterator Fragments::find(Datagrams& datagrams, const net::IpPacket& fragment,
                                               std::uint32_t interface) {
    return std::ranges::find_if(datagrams, [&](const Waiting& each) {
        return each.packet.id == fragment.id && each.interface == interface && each.packet.source == fragment.source &&
               each.packet.destination == fragment.destination && each.packet.protocol == fragment.protocol;
    });
}

/// Adds the datagram of a fragment.
Fragments::Datagrams::iterator Fragments::begin(const net::IpPacket& fragment, std::uint32_t interface,
                                                std::int64_t utc_ns) {
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

/// Whether a joined datagram has the fragment. One that differs is of a new datagram: numbers are used again.
bool Fragments::is_late_copy(const net::IpPacket& fragment, std::uint32_t interface) {
    const auto joined = find(joined_, fragment, interface);
    if (joined == joined_.end()) return false;
    const auto end = fragment.offset + fragment.payload.size();
    const auto& bytes = joined->bytes;
    if (end > bytes.size() || fragment.more != (end < bytes.size())) return false;
    return std::ranges::equal(fragment.payload, std::span{bytes}.subspan(fragment.offset, fragment.payload.size()));
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
