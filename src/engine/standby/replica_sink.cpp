#include "src/engine/standby/replica_sink.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "src/engine/standby/replica_source.hpp"

namespace millpond::engine {

using namespace replication;
using fix::StoreRole;

bool ReplicaSink::attach(fix::FileStore& store) noexcept {
    auto standby_state = store.standby_state();
    if (standby_state.role == StoreRole::promoted && !standby_state.is_superseded()) return false;
    if (standby_state.is_replica()) return true;
    // Messages that this store has sent may differ from those of the machine that took over.
    standby_state.role = StoreRole::filling;
    store.set_standby_state(standby_state);
    return true;
}

void ReplicaSink::promote(fix::FileStore& store) noexcept {
    auto standby_state = store.standby_state();
    if (standby_state.is_replica() && standby_state.replica_next != 0 &&
        standby_state.replica_next < store.next_sender()) {
        store.set_next_sender(standby_state.replica_next);
    }
    standby_state.epoch = std::max(standby_state.epoch, standby_state.superseded_by) + 1;
    standby_state.epoch_first = store.next_sender();
    standby_state.superseded_by = 0;
    standby_state.replica_next = 0;
    standby_state.role = StoreRole::promoted;
    store.set_standby_state(standby_state);
    static_cast<void>(store.sync());  // the process may die now, and the machine soon after
}

void ReplicaSink::refuse(const Fault& fault, OutputQueue& output) {
    failure_ = fault.text;
    reason_ = fault.reason;
    static_cast<void>(
        write_frame(output, Refused{.reason = fault.reason, .epoch = store_->standby_state().epoch, .text = failure_}));
}

bool ReplicaSink::greet(const Hello& hello, OutputQueue& output) {
    failure_.clear();
    has_begun_ = is_filled_ = false;
    acked_ = to_ack_ = 0;
    const auto own = position_of(*store_);
    if (hello.position.epoch < own.epoch) {
        refuse(
            {Reason::superseded, "this store is of epoch " + std::to_string(own.epoch) + ", the primary of epoch " +
                                     std::to_string(hello.position.epoch) + ": another machine has taken over from it"},
            output);
        return false;
    }
    const bool is_empty = own.next_sender == 1 && own.next_target == 1;
    if (hello.position.lineage != own.lineage && !is_empty) {
        refuse({Reason::store, "it holds the copy of another store than the primary's: its next numbers are " +
                                   std::to_string(own.next_sender) + " and " + std::to_string(own.next_target) +
                                   ", the primary's " + std::to_string(hello.position.next_sender) + " and " +
                                   std::to_string(hello.position.next_target) + "; promote it, or remove its store"},
               output);
        return false;
    }
    lineage_ = hello.position.lineage;
    return write_frame(output, Welcome{.position = own});
}

std::size_t ReplicaSink::receive(std::span<const std::byte> bytes, OutputQueue& output) {
    std::size_t done = 0;
    Applied fault;
    while (!fault) {
        const auto read = read_frame(bytes.subspan(done), max_message_);
        if (!read) {
            if (read.error() == replication::Fault::incomplete) break;
            fault = Fault{Reason::protocol, read.error() == replication::Fault::too_long
                                                ? "a frame is longer than max_message_bytes allows"
                                                : "that is no frame of replication protocol 2"};
            break;
        }
        done += read->bytes;
        fault = apply(read->frame);
    }
    if (!fault && to_ack_ != acked_) {
        if (store_->durability() == fix::Durability::message && store_->sync_newest()) {
            fault = Fault{Reason::store, "writing to the disk failed"};
        } else if (write_frame(output, Ack{to_ack_})) {
            acked_ = to_ack_;
        }
    }
    if (fault) refuse(*fault, output);
    return done;
}

ReplicaSink::Applied ReplicaSink::apply(const Frame& frame) {
    const auto out_of_turn = [] { return Fault{Reason::protocol, "a frame out of its turn"}; };
    return std::visit(
        [&]<class One>(const One& one) -> Applied {
            constexpr bool kBegins = std::is_same_v<One, Begin>;
            if constexpr (kBegins || std::is_same_v<One, Record> || std::is_same_v<One, Reset> ||
                          std::is_same_v<One, Progress>) {
                if (kBegins != has_begun_) return apply(one);
            }
            return out_of_turn();
        },
        frame);
}

ReplicaSink::Applied ReplicaSink::apply(const Begin& begin) {
    has_begun_ = true;
    auto standby_state = store_->standby_state();
    const bool is_new = begin.creation_utc_ns != store_->creation_utc_ns();
    if (begin.next_sender > store_->next_sender() && !is_new) {
        return Fault{Reason::protocol, "the primary begins after the end of the copy"};
    }
    // A store of an earlier epoch is filled again from the start, and the differing messages are unknown.
    if (!is_new && begin.epoch == standby_state.epoch + 1) dropped_ += store_->next_sender() - begin.next_sender;
    const bool is_whole = begin.is_whole == 1 && standby_state.role == StoreRole::replica && !is_new;
    standby_state.role = is_whole ? StoreRole::replica : StoreRole::filling;
    standby_state.epoch = begin.epoch;
    standby_state.lineage = lineage_;
    standby_state.superseded_by = 0;
    standby_state.replica_next = is_new ? 1 : std::min(standby_state.replica_next, begin.next_sender);
    store_->set_standby_state(standby_state);
    if (is_new) store_->reset(begin.creation_utc_ns);
    if (begin.next_sender != store_->next_sender()) store_->set_next_sender(begin.next_sender);
    return std::nullopt;
}

ReplicaSink::Applied ReplicaSink::apply(const Record& record) {
    if (record.sequence < store_->next_sender()) {
        return Fault{Reason::protocol, "message " + std::to_string(record.sequence) + " comes again"};
    }
    if (record.sequence > store_->next_sender()) store_->set_next_sender(record.sequence);
    if (!store_->store(record.message)) {
        return Fault{Reason::store, "the standby's store cannot hold a message of " +
                                        std::to_string(record.message.size()) + " bytes"};
    }
    store_->mark_written(record.sequence);  // newer messages may overwrite it
    ++records_;
    return std::nullopt;
}

ReplicaSink::Applied ReplicaSink::apply(const Reset& reset) {
    store_->reset(reset.creation_utc_ns);
    auto standby_state = store_->standby_state();
    standby_state.replica_next = 1;
    store_->set_standby_state(standby_state);
    return std::nullopt;
}

/// If the process dies in the middle, the state leads to a duplicate, never to a loss.
ReplicaSink::Applied ReplicaSink::apply(const Progress& progress) {
    if (progress.next_sender != store_->next_sender()) store_->set_next_sender(progress.next_sender);
    auto standby_state = store_->standby_state();
    standby_state.replica_next = progress.next_sender;
    standby_state.role = StoreRole::replica;
    store_->set_standby_state(standby_state);
    store_->set_next_target(progress.next_target);
    is_filled_ = true;
    to_ack_ = progress.serial;
    return std::nullopt;
}

}  // namespace millpond::engine
