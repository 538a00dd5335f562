#include "src/engine/session/session_output.hpp"

namespace millpond::engine {

void SessionOutput::send(std::uint64_t sequence, std::string_view bytes) {
    if (observer_ != nullptr && sequence != 0) observer_->on_sent(*link_, bytes);
    if (!connection_->is_open()) return;
    gauges_->last_sent_ns.set(static_cast<std::uint64_t>(action_->stamp().utc_ns));
    const bool added = path_.add(sequence, bytes);
    if (!action_->is_running() || path_.is_due()) {
        flush();
        action_->update_stamp();
    }
    if (!added || path_.is_too_much()) {
        gauges_->slow_consumers.add();
        connection_->cut(Closed::slow_consumer);
        connection_->set_broken();
        action_->finish_soon();
    }
}

void SessionOutput::flush() {
    const bool was_congested = path_.is_congested();
    path_.flush([&](std::uint64_t sequence) {
        if (senders_.on_written(sequence)) action_->signal();
    });
    if (was_congested && !path_.is_congested() && !senders_.empty())
        action_->signal();  // no event of the socket follows
}

void SessionOutput::pump(core::Moment now) {
    if (senders_.run(now, [&] { flush(); })) action_->signal();
}

bool SessionOutput::finish_action() {
    flush();
    if (!was_congested_ || !connection_->exists() || connection_->is_ending() || path_.is_congested()) return false;
    was_congested_ = false;
    return true;
}

}  // namespace millpond::engine
