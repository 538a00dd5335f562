#include "src/engine/standby/replica_source.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

namespace millpond::engine {

using namespace replication;

namespace {

/// Creates a unique id for the store.
std::uint64_t new_lineage() {
    std::random_device random;
    return (std::uint64_t{random()} << 32U) | random() | 1U;
}

}  // namespace

Position position_of(const fix::FileStore& store) noexcept {
    const auto standby_state = store.standby_state();
    const auto newest = store.next_sender() > 1 ? store.retrieve(store.next_sender() - 1) : std::nullopt;
    return {.epoch = standby_state.epoch,
            .epoch_first = standby_state.epoch_first,
            .creation_utc_ns = store.creation_utc_ns(),
            .next_sender = store.next_sender(),
            .next_target = store.next_target(),
            .newest = newest ? hash_of(*newest) : 0,
            .lineage = standby_state.lineage};
}

ReplicaSource::ReplicaSource(fix::FileStore& store, OutputQueue& output, std::string identity, std::string token)
    : store_(&store), output_(&output), identity_(std::move(identity)), token_(std::move(token)) {
    auto standby_state = store.standby_state();
    if (standby_state.lineage != 0) return;
    standby_state.lineage = new_lineage();
    store.set_standby_state(standby_state);
}

void ReplicaSource::greet(bool is_whole, std::int64_t now_ns) {
    disconnect();
    is_whole_ = is_whole;
    state_ = State::greeting;
    failure_.clear();
    publish(now_ns);
    static_cast<void>(
        write_frame(*output_, Hello{.position = position_of(*store_), .identity = identity_, .token = token_}));
}

void ReplicaSource::disconnect() noexcept {
    if (state_ != State::superseded) state_ = State::idle;
    output_->clear();
    marks_ = sent_ = first_ = 0;
    published_sender_ = 0;  // unacknowledged frames are sent again
}

void ReplicaSource::refuse(std::string why) {
    state_ = State::refused;
    failure_ = std::move(why);
}

std::size_t ReplicaSource::receive(std::span<const std::byte> bytes, std::int64_t now_ns) {
    std::size_t done = 0;
    while (state_ != State::refused && state_ != State::superseded) {
        const auto read = read_frame(bytes.subspan(done), 0);
        if (!read) {
            if (read.error() == Fault::incomplete) break;
            refuse("the standby says what is no frame of replication protocol 2");
            break;
        }
        done += read->bytes;
        if (const auto* const ack = std::get_if<Ack>(&read->frame)) {
            on_ack(ack->serial);
        } else if (const auto* const refused = std::get_if<Refused>(&read->frame)) {
            if (refused->reason == Reason::superseded) {
                state_ = State::superseded;
                superseded_by_ = refused->epoch;
            } else {
                state_ = State::refused;
            }
            failure_ = "the standby refuses: " + std::string{refused->text};
        } else if (const auto* const welcome = std::get_if<Welcome>(&read->frame);
                   welcome != nullptr && state_ == State::greeting) {
            on_welcome(*welcome, now_ns);
        } else {
            refuse("the standby sent a frame out of its turn");
        }
    }
    return done;
}

/// Reason why the standby cannot be filled; empty if it can.
std::string ReplicaSource::fault_of(const Position& standby) const {
    const auto own = position_of(*store_);
    if (standby.epoch < own.epoch) return {};
    const bool is_fresh = standby.next_sender == 1 && standby.next_target == 1;
    if (standby.creation_utc_ns != own.creation_utc_ns) {
        if (is_fresh || standby.creation_utc_ns < own.creation_utc_ns) return {};
        return "the standby is ahead: its numbers were reset later than ours";
    }
    const auto ahead = [](const char* what, std::uint64_t theirs, std::uint64_t ours) {
        return "the standby is ahead: its next " + std::string{what} + " number is " + std::to_string(theirs) +
               ", ours is " + std::to_string(ours);
    };
    if (standby.next_sender > own.next_sender) return ahead("outgoing", standby.next_sender, own.next_sender);
    if (standby.next_target > own.next_target) return ahead("incoming", standby.next_target, own.next_target);
    if (standby.newest == 0) return {};
    const auto same = store_->retrieve(standby.next_sender - 1);
    if (!same || hash_of(*same) == standby.newest) return {};
    return "the standby has another message " + std::to_string(standby.next_sender - 1) + " than we have";
}

/// Number of the first message that the standby lacks, or that may differ from ours.
std::uint64_t ReplicaSource::resume_at(const Position& standby) const noexcept {
    const auto own = position_of(*store_);
    if (standby.creation_utc_ns != own.creation_utc_ns) return 1;
    if (standby.epoch == own.epoch) return standby.next_sender;
    // The standby's messages may differ from the promotion on.
    if (standby.epoch + 1 == own.epoch && own.epoch_first != 0) return std::min(standby.next_sender, own.epoch_first);
    return 1;
}

void ReplicaSource::on_welcome(const Welcome& welcome, std::int64_t now_ns) {
    if (welcome.version != kVersion) {
        refuse("the standby speaks version " + std::to_string(welcome.version) + " of the replication protocol, we " +
               std::to_string(kVersion));
        return;
    }
    const auto& standby = welcome.position;
    const auto own = position_of(*store_);
    if (standby.epoch > own.epoch) {
        state_ = State::superseded;
        superseded_by_ = standby.epoch;
        failure_ =
            "the standby is of epoch " + std::to_string(standby.epoch) + ", we are of " + std::to_string(own.epoch);
        return;
    }
    if (auto fault = fault_of(standby); !fault.empty()) {
        refuse(std::move(fault));
        return;
    }
    cursor_ = resume_at(standby);
    acked_sender_ = std::min(cursor_, own.next_sender);
    const bool is_same = standby.epoch == own.epoch && standby.creation_utc_ns == own.creation_utc_ns;
    static_cast<void>(write_frame(*output_, Begin{.epoch = own.epoch,
                                                  .creation_utc_ns = own.creation_utc_ns,
                                                  .next_sender = cursor_,
                                                  .is_whole = is_whole_ && is_same ? 1U : 0U}));
    state_ = State::filling;
    reset_is_due_ = false;
    resets_seen_ = store_->counters().resets.read();
    publish(now_ns, true);
    attach_at_ = serial_;
    pump();
}

void ReplicaSource::on_ack(std::uint64_t serial) noexcept {
    if (serial > serial_) return;
    while (sent_ != 0 && mark(0).serial <= serial) {
        acked_sender_ = mark(0).next_sender;
        first_ = (first_ + 1) % kMaxMarks;
        --marks_;
        --sent_;
    }
    acked_ = std::max(acked_, serial);
    if (state_ == State::filling && acked_ >= attach_at_) state_ = State::attached;
}

void ReplicaSource::publish(std::int64_t now_ns, bool again) {
    const auto resets = store_->counters().resets.read();
    if (resets != resets_seen_) {
        resets_seen_ = resets;
        // Waiting messages have the old numbers. Frames that were sent earlier are acknowledged first.
        marks_ = sent_;
        cursor_ = 1;
        acked_sender_ = 1;
        reset_is_due_ = true;
        again = true;
    }
    if (!again && store_->next_sender() == published_sender_ && store_->next_target() == published_target_) return;
    add_mark(now_ns);
}

void ReplicaSource::add_mark(std::int64_t now_ns) {
    published_sender_ = store_->next_sender();
    published_target_ = store_->next_target();
    ++serial_;
    if (state_ != State::filling && state_ != State::attached) return;
    // The last mark is not sent while it is the last, so that it can be updated to a later position.
    auto at_ns = now_ns;
    if (marks_ == kMaxMarks) {
        --marks_;
        at_ns = mark(marks_).at_ns;
    }
    ring_[(first_ + marks_) % kMaxMarks] = {serial_, published_sender_, published_target_, at_ns};
    ++marks_;
}

std::uint64_t ReplicaSource::behind() const noexcept {
    const auto next = store_->next_sender();
    return next > acked_sender_ ? next - acked_sender_ : 0;
}

/// Writes the records before `end`. Returns false if the output is full.
bool ReplicaSource::write_records(std::uint64_t end) {
    while (cursor_ < end) {
        const auto message = store_->retrieve(cursor_);
        if (!message) {
            const auto next = std::clamp(store_->next_kept(cursor_ + 1), cursor_ + 1, end);
            skipped_ += next - cursor_ - store_->skipped(cursor_, next);
            cursor_ = next;
            continue;
        }
        if (!write_frame(*output_, Record{cursor_, *message})) return false;
        ++cursor_;
    }
    cursor_ = end;  // the cursor is beyond it after a reset
    return true;
}

void ReplicaSource::pump() {
    while (has_more()) {
        if (reset_is_due_) {
            if (!write_frame(*output_, Reset{store_->creation_utc_ns()})) return;
            reset_is_due_ = false;
        }
        const auto& next = mark(sent_);
        if (!write_records(next.next_sender)) return;
        if (!write_frame(*output_, Progress{next.serial, next.next_sender, next.next_target})) return;
        ++sent_;
    }
}

}  // namespace millpond::engine
