#include "apps/millpond/traffic/fault_planter.hpp"

#include <stdexcept>
#include <utility>

namespace millpond::traffic {
namespace {

void check(const char* name, double fraction) {
    if (!(fraction >= 0.0 && fraction <= 1.0))
        throw std::invalid_argument(std::string(name) + " is " + std::to_string(fraction) +
                                    ", a fraction must be 0 to 1");
}

}  // namespace

FaultPlanter::Counts& FaultPlanter::Counts::operator+=(const Counts& other) noexcept {
    passed += other.passed;
    dropped += other.dropped;
    duplicated += other.duplicated;
    swapped += other.swapped;
    messages_dropped += other.messages_dropped;
    messages_duplicated += other.messages_duplicated;
    messages_swapped += other.messages_swapped;
    return *this;
}

FaultPlanter::FaultPlanter(Source& source, const FaultFractions& fractions)
    : source_(source), fractions_(fractions), random_(fractions.seed) {
    check("drop", fractions.drop);
    check("duplicate", fractions.duplicate);
    check("swap", fractions.swap);
    const auto sum = fractions.drop + fractions.duplicate + fractions.swap;
    if (sum > 1.0)
        throw std::invalid_argument("drop, duplicate and swap add up to " + std::to_string(sum) + ", the maximum is 1");
}

FaultPlanter::Fault FaultPlanter::draw() {
    constexpr double kStep = 0x1p-53;
    const auto value = static_cast<double>(random_() >> 11) * kStep;
    if (value < fractions_.drop) return Fault::drop;
    if (value < fractions_.drop + fractions_.duplicate) return Fault::duplicate;
    if (value < fractions_.drop + fractions_.duplicate + fractions_.swap) return Fault::swap;
    return Fault::none;
}

bool FaultPlanter::next(Outgoing& out) {
    if (held_ == Held::sent_next) {
        hand_out_held(out, latest_due_ns_);
        return true;
    }
    Outgoing datagram;
    for (;;) {
        if (waiting_) {
            datagram = *std::exchange(waiting_, std::nullopt);
        } else if (!source_.next(datagram)) {
            if (held_ == Held::nothing) return false;
            hand_out_held(out, latest_due_ns_);  // the last datagram has no successor
            return true;
        }
        if (pass(datagram, out)) return true;
    }
}

bool FaultPlanter::pass(const Outgoing& datagram, Outgoing& out) {
    latest_due_ns_ = datagram.due_ns;
    const bool has_messages = datagram.messages != 0;
    if (held_ == Held::sent_after_successor && !has_messages) {
        waiting_ = datagram;
        hand_out_held(out, datagram.due_ns);
        return true;
    }
    if (has_messages) ++counts_.passed;
    out = datagram;
    if (held_ == Held::dropped_after_successor) {
        ++counts_.dropped;
        counts_.messages_dropped += held_messages_;
        held_ = Held::nothing;
        return true;
    }
    if (held_ == Held::sent_after_successor) {
        ++counts_.swapped;
        counts_.messages_swapped += held_messages_;
        held_ = Held::sent_next;
        return true;
    }
    if (!has_messages || !std::exchange(began_, true)) return true;
    switch (draw()) {
        case Fault::none: return true;
        case Fault::drop: hold(datagram, Held::dropped_after_successor); return false;
        case Fault::swap: hold(datagram, Held::sent_after_successor); return false;
        case Fault::duplicate:
            ++counts_.duplicated;
            counts_.messages_duplicated += datagram.messages;
            hold(datagram, Held::sent_next);
            return true;
    }
    return true;
}

void FaultPlanter::hold(const Outgoing& datagram, Held fate) {
    held_ = fate;
    held_messages_ = datagram.messages;
    held_bytes_.assign(datagram.bytes.begin(), datagram.bytes.end());
}

void FaultPlanter::hand_out_held(Outgoing& out, std::int64_t due_ns) {
    held_ = Held::nothing;
    shown_bytes_.swap(held_bytes_);
    out = {due_ns, shown_bytes_, held_messages_};
}

}  // namespace millpond::traffic
