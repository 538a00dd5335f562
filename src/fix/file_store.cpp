#include <millpond/fix/file_store.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include "file_store_link.hpp"

// Work of the using thread: it writes, continues in the next segment, and reads older ones.
namespace millpond::fix {
/// Finds the current segment among those of chain_ and continues after its newest record.
void FileStore::recover_chain() {
    std::ranges::sort(chain_, {}, &Link::generation);
    found_ = 0;
    chain_bytes_ = 0;
    for (auto* link : chain_) {
        chain_bytes_ += link->bytes();
        link->extent = link->segment.sealed_extent();
        link->role.store(Link::Role::left, std::memory_order_relaxed);
    }
    auto& link = last();
    link.role.store(Link::Role::current, std::memory_order_relaxed);
    link.extent = link.segment.recover();
    const auto next = std::max(link.segment.header->next_sender.load(std::memory_order_relaxed), link.extent.next);
    count_damaged(link.extent.damaged);
    // A damaged header must not prevent reuse of its segment.
    for (auto* left : chain_) {
        if (left != &link) left->extent.next = std::min(left->extent.next, next);
    }
    if (chain_.size() > 1) note_newest(*chain_[chain_.size() - 2]);
    enter(link, {.end = link.extent.end, .oldest = link.extent.messages != 0 ? link.extent.first : next, .next = next});
    set_written_to(next - 1);
    count_all(0);
    changes_.fetch_add(1, std::memory_order_release);  // sync "roles changed": maintain
}

/// Makes the link current; its messages continue from `start`.
void FileStore::enter(Link& link, const Start& start) noexcept {
    auto& extent = link.extent;
    if (extent.messages == 0) {
        extent = {.first = start.oldest, .next = start.oldest, .begin = start.end, .end = start.end};
    }
    stored_before_ = counters().stored.read();
    use(link.segment, start);
}

/// Records the newest segment in the earlier ones, so that the next process notices if its file is missing.
void FileStore::note_newest(const Link& before) noexcept {
    const auto& newest = last();
    for (auto* const header : {before.segment.header, first_->segment.header}) {
        header->newest_number = newest.number;
        header->newest_generation = newest.generation();
    }
}

void FileStore::refresh() noexcept {
    if (auto* const ready = fresh_.exchange(nullptr, std::memory_order_acquire)) {
        Link* none = nullptr;
        if (ready->generation() != 0) {
            chain_.push_back(ready);
        } else if (!fresh_.compare_exchange_strong(none, ready, std::memory_order_release)) {
            ready->role.store(Link::Role::given_up,
                              std::memory_order_release);  // another segment was prepared meanwhile
        }
    }
    recover_chain();
}

StandbyState FileStore::standby_state() const noexcept {
    const auto& header = *current().header;
    return {.role = header.role <= static_cast<std::uint64_t>(StoreRole::promoted) ? static_cast<StoreRole>(header.role)
                                                                                   : StoreRole::filling,
            .epoch = header.epoch,
            .epoch_first = header.epoch_first,
            .superseded_by = header.superseded_by,
            .replica_next = header.replica_next,
            .lineage = header.lineage,
            .copied_epoch = header.copied_epoch};
}

void FileStore::set_standby_state(const StandbyState& standby_state) noexcept {
    auto& header = *current().header;
    header.epoch_first = standby_state.epoch_first;
    header.superseded_by = standby_state.superseded_by;
    header.replica_next = standby_state.replica_next;
    header.lineage = standby_state.lineage;
    header.copied_epoch = standby_state.copied_epoch;
    header.epoch = standby_state.epoch;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    header.role = static_cast<std::uint64_t>(standby_state.role);
}

std::size_t FileStore::segments() const noexcept {
    return chain_.size() + (fresh_.load(std::memory_order_relaxed) != nullptr ? 1 : 0);
}

void FileStore::count_all(std::uint64_t overwritten) noexcept {
    std::uint64_t bytes = 0;
    for (const auto* link : chain_) {
        if (link != chain_.back()) bytes += link->extent.end - link->extent.begin;
    }
    count_elsewhere(bytes, overwritten);
}

/// The oldest of the segments that are no longer current and may be reused; null if there is none.
FileStore::Link* FileStore::oldest_reusable() const noexcept {
    for (auto* link : chain_) {
        if (link != chain_.back() && link->bytes() >= options_.min_bytes) return link;
    }
    return nullptr;
}

MessageStore::Turn FileStore::reuse(const Link* oldest) const noexcept {
    if (oldest == nullptr) return Turn::wrap;
    return oldest->extent.messages != 0 && oldest->extent.next > written_to() + 1 ? Turn::refused : Turn::moved;
}

/// The segment that messages continue in while none is prepared, as has_spare assumes. Null: not needed.
const FileStore::Link* FileStore::reserve_segment() const noexcept {
    if (fresh_.load(std::memory_order_relaxed) != nullptr) return nullptr;  // only this thread exchanges it
    const Link* newest = nullptr;
    for (const auto* link : chain_) {
        const bool is_left = link != chain_.back() && link->bytes() >= options_.min_bytes;
        if (is_left && reuse(link) == Turn::moved) newest = link;
    }
    return newest;
}

MessageStore::Turn FileStore::next_turn() const noexcept {
    if (is_ring()) return Turn::wrap;
    // Only this thread exchanges the prepared segment.
    return fresh_.load(std::memory_order_relaxed) != nullptr ? Turn::moved : reuse(oldest_reusable());
}

MessageStore::Turn FileStore::turn() noexcept {
    if (is_ring()) return Turn::wrap;
    auto* next = fresh_.exchange(nullptr, std::memory_order_acquire);  // sync "segment ready": offer
    std::uint64_t overwritten = 0;
    if (next == nullptr) {
        next = oldest_reusable();
        if (const auto turned = reuse(next); turned != Turn::moved) return turned;
        overwritten = next->extent.messages;
        std::erase(chain_, next);
        chain_bytes_ -= next->bytes();
    }
    auto& left = last();
    auto& from = *left.segment.header;
    const auto number = next_sender();
    left.extent.next = number;
    left.extent.end = written_end();
    left.extent.messages += counters().stored.read() - stored_before_;
    from.sealed_utc_ns.store(utc_ns_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    left.segment.seal(left.extent);

    auto& header = *next->segment.header;
    const auto begin = next->segment.give_up();
    header.creation_utc_ns = from.creation_utc_ns;
    header.epoch = from.epoch;
    header.role = from.role;
    header.epoch_first = from.epoch_first;
    header.superseded_by = from.superseded_by;
    header.replica_next = from.replica_next;
    header.lineage = from.lineage;
    header.copied_epoch = from.copied_epoch;
    std::ranges::copy(from.skips, header.skips);
    header.next_sender.store(number, std::memory_order_relaxed);
    header.next_target.store(from.next_target.load(std::memory_order_relaxed), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    header.generation.store(left.generation() + 1, std::memory_order_release);  // sync "segment current": generation

    left.role.store(Link::Role::left, std::memory_order_relaxed);
    next->role.store(Link::Role::current, std::memory_order_relaxed);
    next->extent = {};
    next->forgotten_at = 0;
    chain_.push_back(next);
    chain_bytes_ += next->bytes();
    note_newest(left);
    enter(*next, {.end = begin, .oldest = number, .next = number});
    count_all(overwritten);
    changes_.fetch_add(1, std::memory_order_release);  // sync "roles changed": maintain
    trim();
    return Turn::moved;
}

void FileStore::trim() noexcept {
    const auto before = chain_.size();
    if (before < 2) return;
    const auto utc_ns = utc_ns_.load(std::memory_order_relaxed);
    const auto is_over = [&](const Link& link) {
        if (link.extent.messages == 0 || chain_bytes_ > options_.data_bytes) return true;
        const auto left_ns = link.segment.header->sealed_utc_ns.load(std::memory_order_relaxed);
        return options_.keep_ns != 0 && left_ns != 0 && utc_ns - left_ns > options_.keep_ns;
    };
    // Segments at the front are the oldest; a reset empties those at the back first.
    const auto* const current = chain_.back();
    if (!is_over(*chain_.front()) && !is_over(*chain_[before - 2])) return;
    const auto* const reserve = reserve_segment();
    std::uint64_t overwritten = 0;
    std::erase_if(chain_, [&](Link* link) {
        if (link == current || link == reserve || !is_over(*link)) return false;
        // The socket still sends unsent messages from this segment.
        const auto end = link->extent.messages == 0 ? link->forgotten_at : link->extent.next - 1;
        if (end > written_to()) return false;
        overwritten += link->extent.messages;
        chain_bytes_ -= link->bytes();
        link->segment.seal({});  // its messages must not outlive this process, even if its file does
        link->extent = {};
        link->role.store(Link::Role::given_up, std::memory_order_release);  // sync "given up": remove_given_up
        return true;
    });
    if (chain_.size() == before) return;
    count_all(overwritten);
    changes_.fetch_add(1, std::memory_order_release);  // sync "roles changed": maintain
}

std::optional<std::string_view> FileStore::retrieve_elsewhere(std::uint64_t sequence) const noexcept {
    const auto holds = [&](const Link* link) {
        return link != chain_.back() && sequence >= link->extent.first && sequence < link->extent.next;
    };
    const auto read = [&](const Link* link) {
        old_segment_read_.store(true, std::memory_order_relaxed);
        return link->segment.retrieve(sequence);
    };
    if (found_ < chain_.size() && holds(chain_[found_])) {
        if (const auto message = read(chain_[found_])) return message;
    }
    for (std::size_t i = 0; i < chain_.size(); ++i) {
        if (!holds(chain_[i])) continue;
        found_ = i;
        if (const auto message = read(chain_[i])) return message;
    }
    return std::nullopt;
}

bool FileStore::is_damaged_elsewhere(std::uint64_t sequence) const noexcept {
    return std::ranges::any_of(chain_, [&](const Link* link) {
        return link != chain_.back() && sequence >= link->extent.first && sequence < link->extent.next &&
               link->segment.is_damaged(sequence);
    });
}

std::uint64_t FileStore::next_kept_elsewhere(std::uint64_t sequence) const noexcept {
    auto lowest = std::numeric_limits<std::uint64_t>::max();
    for (const auto* link : chain_) {
        if (link == chain_.back() || sequence >= link->extent.next || link->extent.first >= lowest) continue;
        const auto kept = link->segment.next_kept(std::max(sequence, link->extent.first));
        if (kept < link->extent.next) lowest = std::min(lowest, kept);
    }
    return lowest;
}

void FileStore::forget_elsewhere(std::uint64_t sequence) noexcept {
    for (auto* link : chain_) {
        if (link == chain_.back() || link->extent.messages == 0) continue;
        link->extent.next = std::min(link->extent.next, sequence);
        if (link->extent.next <= link->extent.first) {
            link->extent = {};
            link->forgotten_at = sequence;
        }
        link->segment.seal(link->extent);
    }
    auto& own = last().extent;
    own.first = std::min(own.first, sequence);
    count_all(0);
}

void FileStore::offer(Link& link) noexcept {
    link.is_unmapped = false;
    link.role.store(Link::Role::fresh, std::memory_order_relaxed);
    fresh_.store(&link, std::memory_order_release);  // sync "segment ready": turn
}

}  // namespace millpond::fix
