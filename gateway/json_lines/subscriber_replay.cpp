#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "gateway/json_lines/replay.hpp"
#include "gateway/json_lines/replays.hpp"
#include "gateway/json_lines/subscriber.hpp"

namespace millpond::gateway::json_lines {

void Subscriber::check_replay(const Request& request) const {
    if (replay_ && !(request.subscribe.empty() && request.unsubscribe.empty() && !request.mode)) {
        throw RequestError("a replay is in progress: subscriptions and the mode cannot be changed before its end");
    }
    if (request.from && request.mode.value_or(mode_) != Delivery::every) {
        throw RequestError("'from' needs the mode \"every\"");
    }
    if (request.from && !request.unsubscribe.empty()) {
        throw RequestError("'from' and 'unsubscribe' need separate requests");
    }
}

void Subscriber::start_replay(const Request& request) {
    auto wanted = subscriptions_.symbols();
    static_cast<void>(wanted.apply(request));  // nothing is refused of a request without 'unsubscribe'
    replay_ = replays_->start(*request.from, wanted);
}

void Subscriber::end_replay() noexcept {
    if (replay_) replays_->end(*replay_);
    replay_.reset();
    offered_ = 0;
}

void Subscriber::write_replay() {
    ReplayPart part;
    bool has_popped = false;
    while (replay_ && text_.size() < kMaxText && replay_->try_pop(part)) {
        has_popped = true;
        if (!part.failure.empty()) {
            replays_->note_failure(*replay_, part);
            end_replay();
            // Before its begin the client has its subscriptions still; afterwards there is nothing to go on with.
            if (is_parked_) {
                failure_ = std::move(part.failure);
            } else {
                reply("error", part.failure);
            }
            return;
        }
        if (part.begins) park(*replay_);
        text_ += part.text;
        add_to_account(part.account);
        // A replay that waits elsewhere than at the newest offer gets another one.
        if (part.state ? part.number != offered_ : offered_ == 0) offer_live(part);
        if (part.state && part.number == offered_) go_live(*part.state);
    }
    if (has_popped && replay_) replays_->wake();
}

void Subscriber::park(const Replay& replay) {
    if (unreported_losses_ != 0) write_losses();
    sums_.published += log_.events_before(next_) - joined_at_;
    sums_.conflated += std::exchange(pending_event_count_, 0);
    for (auto* pending :
         {&pending_states_, &pending_quotes_, &pending_events_, &pending_books_, &pending_book_events_}) {
        pending->clear();
    }
    pending_channels_ = false;
    covered_.clear();
    is_parked_ = true;
    replayed_ = {};
    mode_ = Delivery::every;
    subscriptions_.replace(replay.wanted());
    text_ += fmt::format("{{\"type\":\"replay\",\"from\":{}}}\n", json_of(replay.start()));
    text_ += std::exchange(replay_unknown_, {});
}

void Subscriber::add_to_account(const Account& replayed) {
    // Its queued events are not in the text yet.
    sums_.published += (replayed.published - replayed.queued) - (replayed_.published - replayed_.queued);
    sums_.filtered += replayed.filtered - replayed_.filtered;
    sums_.conflated += replayed.conflated - replayed_.conflated;
    sums_.missed += replayed.missed - replayed_.missed;
    text_events_ += replayed.delivered - replayed_.delivered;
    text_snapshot_ += replayed.snapshot - replayed_.snapshot;
    replayed_ = replayed;
}

void Subscriber::offer_live(const ReplayPart& part) {
    const auto live = replays_->live();
    // A replay that is further behind would lose the offered line before it gets there.
    const auto most = log_.capacity() / 2;
    const bool is_close = part.epoch == live.epoch && part.number <= live.number && live.number - part.number <= most;
    offered_ = is_close ? live.number : 0;
    replay_->offer(offered_);
    next_ = log_.end();
    if (!is_close) return;
    incomplete_at_offer_.clear();
    for (feed::InstrumentId id = 0; has_depth() && id < books_.size(); ++id) {
        if (!books_.complete(id).covers(depth(id))) incomplete_at_offer_.insert(id);
    }
}

void Subscriber::go_live(const ReplayedState& state) {
    const auto number = offered_;
    end_replay();
    is_parked_ = false;
    joined_at_ = log_.events_before(next_);
    text_ += fmt::format("{{\"type\":\"live\",\"sequence\":{},\"received\":{},\"missed\":{}}}\n", number,
                         state.received, state.missed);
    const auto& known = state.snapshot;
    text_snapshot_ += snapshot_.write_channels(next_, text_, &known);
    for (feed::InstrumentId id = 0; id < known.size(); ++id) {
        // The next gap makes only complete quotes of the sink incomplete: it would not concern this one.
        const bool sink_has_it =
            id < snapshot_.size() && (snapshot_.has_complete_quote(id) || snapshot_.has_newer_quote(id, known));
        if (!known.has_complete_quote(id) || sink_has_it) continue;
        known.write_incomplete(id, text_);
        ++text_snapshot_;
    }
    for (feed::InstrumentId id = 0; id < snapshot_.size(); ++id) {
        if (!wants(id)) continue;
        const bool completes = snapshot_.has_complete_quote(id) && !state.has_complete_quote(id);
        if (completes || snapshot_.has_newer_quote(id, known)) pending_quotes_.insert(id);
        if (snapshot_.has_newer_state(id, known)) pending_states_.insert(id);
        if (!books_.has_book(id) || !depth(id).is_on()) continue;
        // The changes that follow are those of the sink's book.
        if (incomplete_at_offer_.contains(id) || !state.books_of(id).covers(depth(id))) pending_books_.insert(id);
    }
}

}  // namespace millpond::gateway::json_lines
