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

#include <millpond/core/json_string.hpp>

namespace millpond::service {
namespace {

/// Events of a kind and source are logged at most once in this time.
constexpr std::int64_t kLimitNs = 1'000'000'000;
/// Events in a block of the file.
constexpr std::size_t kBlockEvents = 256;

bool is_limited(EventKind kind) {
    return kind == EventKind::gap || kind == EventKind::session || kind == EventKind::connect ||
           kind == EventKind::disconnect;
}

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

EventLog::EventLog() : memory_(memory::Region::anonymous(kCapacity * sizeof(EventRecord))) {
    static_assert(sizeof(EventRecord) == 320);
}

EventRecord& EventLog::at(std::uint64_t number) const noexcept {
    auto* const first = reinterpret_cast<EventRecord*>(const_cast<std::byte*>(memory_.data()));
    return first[number % kCapacity];
}

void EventLog::append(const EventRecord& record) noexcept {
    ++newest_;
    auto& made = *std::construct_at(&at(newest_), record);
    made.number = newest_;
    if (newest_ - oldest_ >= kCapacity) oldest_ = newest_ - kCapacity + 1;
}

EventLog::Pending* EventLog::pending_of(const Event& event) noexcept {
    Pending* free = nullptr;
    for (auto& one : pending_) {
        if (one.logged_ns == 0) {
            if (free == nullptr) free = &one;
        } else if (one.record.kind == event.kind && one.record.source() == event.source) {
            return &one;
        }
    }
    return free;
}

void EventLog::add(const Event& event, core::Moment now) noexcept {
    const std::lock_guard lock{mutex_};
    EventRecord record{};
    record.set(event, now.utc_ns);
    auto* const pending = is_limited(event.kind) ? pending_of(event) : nullptr;
    if (pending == nullptr) return append(record);
    const bool is_due = pending->logged_ns == 0 || now.monotonic_ns - pending->logged_ns >= kLimitNs;
    if (pending->waiting == 0) {
        pending->record = record;
    } else {
        const auto before = std::exchange(pending->record, record);
        auto& sum = pending->record;
        sum.count += before.count;
        sum.severity = std::max(before.severity, record.severity);
        if (before.has_range) sum.first = before.first;
        if (before.has_range && !record.has_range) sum.last = before.last;
        sum.has_range = before.has_range || record.has_range;
    }
    ++pending->waiting;
    if (is_due) log(*pending, now);
}

void EventLog::log(Pending& pending, core::Moment now) noexcept {
    auto& record = pending.record;
    if (pending.waiting > 1) {
        std::array<char, 256> text;
        const auto end = fmt::format_to_n(text.data(), text.size(), "{} within a second, the last: {}", pending.waiting,
                                          record.text());
        record.set_text({text.data(), std::min(end.size, text.size())});
    }
    append(record);
    pending.waiting = 0;
    pending.logged_ns = std::max<std::int64_t>(now.monotonic_ns, 1);
}

void EventLog::flush(core::Moment now) noexcept {
    const std::lock_guard lock{mutex_};
    for (auto& pending : pending_) {
        if (pending.logged_ns == 0 || now.monotonic_ns - pending.logged_ns < kLimitNs) continue;
        if (pending.waiting != 0) {
            log(pending, now);
        } else {
            pending.logged_ns = 0;
        }
    }
}

void EventLog::flush_all(core::Moment now) noexcept {
    const std::lock_guard lock{mutex_};
    for (auto& pending : pending_) {
        if (pending.logged_ns != 0 && pending.waiting != 0) log(pending, now);
        pending.logged_ns = 0;
    }
}

std::vector<EventRecord> EventLog::select(const EventFilter& filter) const {
    std::vector<EventRecord> found;
    const auto is_wanted = [&](const EventRecord& event) {
        if (!filter.kinds.empty() && std::ranges::find(filter.kinds, event.kind) == filter.kinds.end()) return false;
        if (filter.source && event.source() != *filter.source) return false;
        return (!filter.from || event.time >= *filter.from) && (!filter.to || event.time < *filter.to);
    };
    const std::lock_guard lock{mutex_};
    if (filter.after) {
        if (*filter.after >= newest_) return found;
        for (auto number = std::max(oldest_, *filter.after + 1); number <= newest_; ++number) {
            if (found.size() == filter.limit) break;
            if (is_wanted(at(number))) found.push_back(at(number));
        }
        return found;
    }
    for (auto number = newest_; number >= oldest_ && found.size() < filter.limit; --number) {
        if (is_wanted(at(number))) found.push_back(at(number));
    }
    std::ranges::reverse(found);
    return found;
}

EventLog::Numbers EventLog::numbers() const {
    const std::lock_guard lock{mutex_};
    return {.oldest = oldest_, .newest = newest_ < oldest_ ? 0 : newest_};
}

std::optional<EventRecord> EventLog::newest() const {
    const std::lock_guard lock{mutex_};
    if (newest_ < oldest_) return std::nullopt;
    return at(newest_);
}

// Blocks: the number of the first event and the count of events; then up to kBlockEvents events each.
void EventLog::save(StateFileWriter& to) const {
    const auto range = numbers();
    const auto count = range.newest == 0 ? 0 : range.newest - range.oldest + 1;
    BlockBuilder block;
    block.integer(range.oldest);
    block.integer(count);
    to.block(block.bytes());
    for (std::uint64_t done = 0; done < count; done += kBlockEvents) {
        block.clear();
        {
            const std::lock_guard lock{mutex_};
            for (auto i = done; i < std::min<std::uint64_t>(count, done + kBlockEvents); ++i) {
                const auto& event = at(range.oldest + i);
                block.integer(event.number);  // a greater one if the log has wrapped meanwhile
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
        }
        to.block(block.bytes());
    }
}

void EventLog::restore(const StateFile& file) {
    if (file.blocks.empty()) throw std::runtime_error("has too few blocks");
    BlockParser head{file.blocks.front()};
    const auto oldest = head.integer<std::uint64_t>();
    const auto count = head.integer<std::uint64_t>();
    constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 60U;
    if (oldest == 0 || oldest > kMaxNumber || count > kCapacity ||
        file.blocks.size() != 1 + (count + kBlockEvents - 1) / kBlockEvents)
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
    std::ranges::sort(events, {}, &EventRecord::number);
    const std::lock_guard lock{mutex_};
    // Numbers are consecutive, also if the log wrapped while it was written.
    newest_ = oldest + events.size() - 1;
    if (!events.empty()) newest_ = std::max(newest_, std::min(events.back().number, kMaxNumber));
    oldest_ = newest_ + 1 - events.size();
    auto number = oldest_;
    for (auto& event : events) {
        event.number = number;
        std::construct_at(&at(number++), event);
    }
}

}  // namespace millpond::service
