#include "service/event_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/core/json_string.hpp>

namespace millpond::service {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
/// A repeated event is logged at most once in this time, and in the next one while it continues.
constexpr std::array<std::int64_t, 3> kIntervalsNs{kSecondNs, 10 * kSecondNs, 60 * kSecondNs};
/// Events in a block of the file.
constexpr std::size_t kBlockEvents = 256;

/// Copies the text, cut before a character that does not fit. Returns the bytes copied.
std::uint8_t copy(std::string_view text, std::span<char> into) {
    std::size_t end = 0;
    while (end < text.size()) {
        const auto next = end + std::max<std::size_t>(core::utf8_bytes(text.substr(end)), 1);
        if (next > into.size()) break;
        end = next;
    }
    std::ranges::copy(text.substr(0, end), into.begin());
    return static_cast<std::uint8_t>(end);
}

}  // namespace

void EventRecord::set(const Event& event, std::int64_t utc_ns) noexcept {
    time = utc_ns;
    since = event.since;
    has_range = event.range.has_value();
    first = has_range ? event.range->first : 0;
    last = has_range ? event.range->second : 0;
    count = event.count;
    kind = event.kind;
    severity = event.severity;
    ended = event.ended;
    source_bytes_ = copy(event.source, source_);
    stage_bytes_ = copy(event.stage, stage_);
    set_text(event.text);
}

void EventRecord::set_text(std::string_view text) noexcept { text_bytes_ = copy(text, text_); }

EventLog::EventLog()
    : memory_(memory::Region::anonymous(kCapacity * sizeof(EventRecord))),
      reserved_{reinterpret_cast<EventRecord*>(memory_.data()), kReserved},
      others_{reserved_.first + kReserved, kCapacity - kReserved},
      id_(static_cast<std::uint64_t>(core::utc_nanos()) / 1'000) {
    static_assert(sizeof(EventRecord) == 320);
}

bool EventLog::is_reserved(EventKind kind) noexcept {
    return kind == EventKind::start || kind == EventKind::stop || kind == EventKind::reload;
}

void EventLog::append(const EventRecord& record) noexcept {
    auto& ring = is_reserved(record.kind) ? reserved_ : others_;
    std::construct_at(&ring.at(ring.added++), record)->number = next_++;
}

EventLog::Pending& EventLog::pending_of(const EventRecord& record, unsigned part) noexcept {
    Pending* free = nullptr;
    for (auto& one : std::span{pending_}.first(kMaxPending)) {
        if (one.logged_ns == 0 && one.waiting == 0) {
            if (free == nullptr) free = &one;
        } else if (one.record.kind == record.kind && one.part == part && one.record.source() == record.source() &&
                   one.record.stage() == record.stage()) {
            return one;
        }
    }
    if (free == nullptr) return pending_.back();
    free->part = part;
    return *free;
}

bool EventLog::is_due(const Pending& pending, core::Moment now) noexcept {
    return pending.logged_ns == 0 || now.monotonic_ns - pending.logged_ns >= kIntervalsNs[pending.level];
}

void EventLog::wait(Pending& pending, const EventRecord& record, core::Moment now) noexcept {
    pending.order = ++arrived_;
    pending.newest_ns = now.monotonic_ns;
    if (pending.waiting++ == 0) {
        pending.first_ns = now.monotonic_ns;
        pending.has_lost_range = false;
        pending.record = record;
        return;
    }
    const auto before = std::exchange(pending.record, record);
    auto& sum = pending.record;
    sum.count += before.count;
    sum.severity = std::max(before.severity, record.severity);
    sum.has_range = before.has_range && record.has_range && before.last < record.first && !pending.has_lost_range &&
                    &pending != &pending_.back();
    if (sum.has_range) sum.first = before.first;
}

void EventLog::add(const Event& event, core::Moment now) noexcept {
    EventRecord record{};
    record.set(event, now.utc_ns);
    const std::lock_guard lock{mutex_};
    if (is_reserved(record.kind)) {
        log_waiting(record.source(), now);
        return append(record);
    }
    if (record.kind == EventKind::session) {
        for (auto& one : pending_) {
            if (one.record.kind == EventKind::gap && one.record.source() == record.source()) one.has_lost_range = true;
        }
    }
    auto& pending = pending_of(record, event.part);
    wait(pending, record, now);
    if (is_due(pending, now)) log_waiting(record.source(), now);
}

void EventLog::log(Pending& pending, core::Moment now) noexcept {
    auto& record = pending.record;
    if (pending.waiting > 1) {
        std::array<char, 256> text;
        const auto end = fmt::format_to_n(text.data(), text.size(), "{}{} within {} s, the last: {}", pending.waiting,
                                          &pending == &pending_.back() ? " of several sources" : "",
                                          (pending.newest_ns - pending.first_ns) / kSecondNs + 1, record.text());
        record.set_text({text.data(), std::min(end.size, text.size())});
    }
    append(record);
    if (pending.logged_ns != 0) pending.level = std::min<unsigned>(pending.level + 1, kIntervalsNs.size() - 1);
    pending.waiting = 0;
    pending.logged_ns = std::max<std::int64_t>(now.monotonic_ns, 1);
}

void EventLog::log_waiting(std::string_view source, core::Moment now) noexcept {
    std::array<Pending*, kMaxPending + 1> found;
    std::size_t count = 0;
    for (auto& one : pending_) {
        if (one.waiting != 0 && (source.empty() || one.record.source() == source)) found[count++] = &one;
    }
    const std::span all{found.data(), count};
    std::ranges::sort(all, {}, &Pending::order);
    for (auto* const one : all) log(*one, now);
}

void EventLog::flush(core::Moment now) noexcept {
    const std::lock_guard lock{mutex_};
    for (auto& one : pending_) {
        if (one.waiting != 0 && is_due(one, now)) {
            log_waiting(one.record.source(), now);
        } else if (one.waiting == 0 && one.logged_ns != 0 && now.monotonic_ns - one.logged_ns >= kIntervalsNs.back()) {
            one = {};  // has not continued
        }
    }
}

void EventLog::flush_all(core::Moment now) noexcept {
    const std::lock_guard lock{mutex_};
    log_waiting({}, now);
}

std::vector<EventRecord> EventLog::select(const EventFilter& filter) const {
    EventRecord wanted;  // has the source as the log cuts it
    wanted.set({.source = filter.source.value_or("")}, 0);
    const auto is_wanted = [&](const EventRecord& event) {
        if (filter.after && event.number <= *filter.after) return false;
        if (!filter.kinds.empty() && std::ranges::find(filter.kinds, event.kind) == filter.kinds.end()) return false;
        if (filter.source && event.source() != wanted.source()) return false;
        return (!filter.from || event.time >= *filter.from) && (!filter.to || event.time < *filter.to);
    };
    std::vector<const EventRecord*> found;
    const std::lock_guard lock{mutex_};
    for (const auto* ring : {&reserved_, &others_}) {
        for (auto i = ring->begin(); i != ring->added; ++i) {
            if (is_wanted(ring->at(i))) found.push_back(&ring->at(i));
        }
    }
    std::ranges::sort(found, {}, &EventRecord::number);
    const auto count = std::min(found.size(), filter.limit);
    const auto first = filter.after ? 0 : found.size() - count;
    std::vector<EventRecord> events;
    events.reserve(count);
    for (const auto* event : std::span{found}.subspan(first, count)) events.push_back(*event);
    return events;
}

const EventRecord* EventLog::last() const noexcept {
    const EventRecord* last = nullptr;
    for (const auto* ring : {&reserved_, &others_}) {
        if (ring->is_empty()) continue;
        const auto& newest = ring->at(ring->added - 1);
        if (last == nullptr || newest.number > last->number) last = &newest;
    }
    return last;
}

EventLog::Numbers EventLog::numbers() const {
    const std::lock_guard lock{mutex_};
    Numbers numbers;
    if (const auto* newest = last()) numbers = {.oldest = newest->number, .newest = newest->number};
    for (const auto* ring : {&reserved_, &others_}) {
        if (!ring->is_empty()) numbers.oldest = std::min(numbers.oldest, ring->at(ring->begin()).number);
    }
    return numbers;
}

std::optional<EventRecord> EventLog::newest() const {
    const std::lock_guard lock{mutex_};
    const auto* const newest = last();
    return newest == nullptr ? std::nullopt : std::optional{*newest};
}

std::uint64_t EventLog::id() const {
    const std::lock_guard lock{mutex_};
    return id_;
}

// Blocks: the id and the count of events; then up to kBlockEvents events each.
void EventLog::save(StateFileWriter& to) const {
    const auto events = select({.limit = kCapacity});
    BlockBuilder block;
    block.integer(id());
    block.integer(std::uint64_t{events.size()});
    to.block(block.bytes());
    for (std::size_t done = 0; done < events.size(); done += kBlockEvents) {
        block.clear();
        for (const auto& event : std::span{events}.subspan(done, std::min(kBlockEvents, events.size() - done))) {
            block.integer(event.number);
            block.integer(event.time);
            block.integer(event.since);
            block.integer(event.first);
            block.integer(event.last);
            block.integer(event.count);
            block.integer(static_cast<std::uint8_t>(event.kind));
            block.integer(static_cast<std::uint8_t>(event.severity));
            block.integer(static_cast<std::uint8_t>(event.ended));
            block.integer(static_cast<std::uint8_t>(event.has_range));
            block.text(event.source());
            block.text(event.stage());
            block.text(event.text());
        }
        to.block(block.bytes());
    }
}

void EventLog::restore(const StateFile& file) {
    if (file.blocks.empty()) throw std::runtime_error("has too few blocks");
    BlockParser head{file.blocks.front()};
    const auto id = head.integer<std::uint64_t>();
    const auto count = head.integer<std::uint64_t>();
    constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 60U;
    if (count > kCapacity || file.blocks.size() != 1 + (count + kBlockEvents - 1) / kBlockEvents)
        throw std::runtime_error("has a wrong number of events");
    std::vector<EventRecord> events;
    for (std::size_t i = 1; i < file.blocks.size(); ++i) {
        BlockParser block{file.blocks[i]};
        while (!block.is_at_end()) {
            Event event;
            const auto number = block.integer<std::uint64_t>();
            const auto time = block.integer<std::int64_t>();
            event.since = block.integer<std::int64_t>();
            const auto first = block.integer<std::uint64_t>();
            const auto last = block.integer<std::uint64_t>();
            event.count = block.integer<std::uint32_t>();
            const auto kind = block.integer<std::uint8_t>();
            const auto severity = block.integer<std::uint8_t>();
            event.ended = block.integer<std::uint8_t>() != 0;
            if (block.integer<std::uint8_t>() != 0) event.range = {first, last};
            event.source = block.text();
            event.stage = block.text();
            event.text = block.text();
            if (kind >= kEventKinds.size() || severity > static_cast<std::uint8_t>(Severity::error))
                throw std::runtime_error("has an unknown kind of event");
            event.kind = static_cast<EventKind>(kind);
            event.severity = static_cast<Severity>(severity);
            events.emplace_back().set(event, time);
            events.back().number = number;
        }
    }
    if (events.size() != count) throw std::runtime_error("has a wrong number of events");
    std::uint64_t newest = 0;
    for (const auto& event : events) {
        if (event.number <= newest || event.number > kMaxNumber)
            throw std::runtime_error("has a wrong number of an event");
        newest = event.number;
    }
    const std::lock_guard lock{mutex_};
    id_ = id;
    for (const auto& event : events) {
        next_ = event.number;
        append(event);
    }
    // More events were logged than in a file that is written every few seconds if the daemon was killed.
    if (!events.empty() && events.back().kind != EventKind::stop) next_ += kCapacity;
}

}  // namespace millpond::service
