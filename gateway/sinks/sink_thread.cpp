#include "gateway/sinks/sink_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/core/idle.hpp>
#include <millpond/core/pinning.hpp>
#include <millpond/core/start_thread.hpp>
#include <millpond/core/thread_name.hpp>

#include "gateway/sinks/sink_idle.hpp"

namespace millpond::gateway {
namespace {

constexpr std::size_t kMostPerRound = 4'096;
/// While the ring brings nothing, and while it brings something all the time, the sink's own descriptors are looked at
/// once in so many polls and once in so long.
constexpr int kPollsBetweenLooks = 32;
constexpr std::int64_t kLookEveryNs = 20'000;

}  // namespace

struct SinkThread::Events {
    SinkThread& of;

    void on(const feed::Quote& quote) {
        if (of.sink_->mode() == Delivery::conflate) {
            of.name_up_to(quote.instrument);
            if (!of.waiting_.put(quote, of.reader_.current())) ++of.conflated_;
        } else {
            of.pass_on(quote, of.reader_.current());
        }
    }
    void on(const feed::Trade& trade) { of.pass_on(trade, of.reader_.current()); }
    void on(const feed::TradeBreak& broken) { of.pass_on(broken, of.reader_.current()); }
    void on(const feed::Status& status) { of.pass_on(status, of.reader_.current()); }
    void on(const feed::Gap& gap) {
        of.waiting_.mark_incomplete(gap.channel);
        of.pass_on(gap, of.reader_.current());
    }
    void on(const feed::Clear& clear) {
        of.conflated_ += of.waiting_.drop(clear);
        of.pass_on(clear, of.reader_.current());
    }
    void on(const queue::MissedRange& range) {
        of.waiting_.mark_incomplete(std::nullopt);  // the missed events may include a gap
        of.sink_->missed(range.first, range.last);
    }
};

struct SinkThread::Board {
    SinkThread& of;

    void on(const feed::Quote& quote) {
        of.name_up_to(quote.instrument);
        of.sink_->board(quote, number());
    }
    void on(const feed::Status& status) {
        of.name_up_to(status.instrument);
        of.sink_->board(status, number());
    }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const queue::MissedRange&) {}
    /// The board includes all entries up to this one.
    [[nodiscard]] std::uint64_t number() const { return std::max<std::uint64_t>(of.reader_.account().since, 2) - 1; }
};

SinkThread::SinkThread(const Options& options, std::unique_ptr<Sink> sink, service::Say say)
    : name_(options.name),
      ring_(options.ring),
      poll_(options.poll),
      pin_(options.pin),
      holds_(options.holds),
      sink_(std::move(sink)),
      say_(std::move(say)),
      reader_(
          {.name = options.ring, .visible_as = options.name.substr(0, market::ReaderName::capacity()), .own = true}) {
    const auto& replaced = options.replaced;
    const bool same_ring = replaced && replaced->ring == ring_ && replaced->epoch == reader_.epoch();
    const auto stopped = same_ring ? std::optional{replaced->next} : std::nullopt;
    if (const auto number = sink_->resume_at(reader_.epoch(), stopped)) {
        reader_.seek(*number);
    } else {
        Board board{*this};
        reader_.join(board);
    }
    since_ = reader_.account().since;
    publish_account();
}

SinkThread::~SinkThread() { stop(); }

void SinkThread::start() {
    const auto prepare = [this] {
        core::name_this_thread(name_);
        try {
            if (pin_) core::pin_this_thread(static_cast<int>(*pin_));
        } catch (const std::exception& error) {
            throw std::runtime_error(fmt::format("sink '{}': {}", name_, error.what()));
        }
        ask_for_short_sleeps();
    };
    core::start_thread(thread_, prepare, [this] { run(); });
}

void SinkThread::stop() {
    stopping_.store(true, std::memory_order_release);  // sync "stop asked": run
    if (thread_.joinable()) thread_.join();
}

std::optional<RingPlace> SinkThread::stopped_at() const {
    if (waiting_.size() != 0) return std::nullopt;  // the board has them
    const auto next = sink_->next_wanted(progress_.read().readable);
    if (!next) return std::nullopt;
    return RingPlace{.ring = ring_, .epoch = reader_.epoch(), .next = *next};
}

void SinkThread::name_up_to(feed::InstrumentId id) {
    if (id == feed::kNoInstrument) return;
    for (; named_ <= id; ++named_) {
        const auto* instrument = reader_.instrument(named_);
        if (instrument != nullptr) {
            sink_->name(named_, instrument->venue, instrument->symbol);
        } else {  // an id that the writer skipped: no event will have it
            sink_->name(named_, feed::Venue{}, feed::Symbol{fmt::format("#{}", named_)});
        }
    }
}

template <class Event>
void SinkThread::pass_on(const Event& event, std::uint64_t number) {
    if constexpr (requires { event.instrument; }) name_up_to(event.instrument);
    ++(sink_->on(event, number) == Taken::kept ? kept_ : filtered_);
}

void SinkThread::drain_waiting() {
    Conflator::Waiting next;
    while (waiting_.size() != 0 && sink_->room() != 0) {
        if (waiting_.take(next)) pass_on(next.quote, next.number);
    }
}

std::size_t SinkThread::take() {
    Events events{*this};
    std::size_t taken = 0;
    if (sink_->mode() == Delivery::conflate) {
        publish_account(kMostPerRound);
        taken = reader_.poll(events, kMostPerRound);
        drain_waiting();
        return taken;
    }
    while (taken < kMostPerRound) {
        const auto room = std::min(sink_->room(), kMostPerRound - taken);
        if (room == 0) break;
        publish_account(room);
        const auto got = reader_.poll(events, room);
        taken += got;
        if (got < room) break;
    }
    return taken;
}

void SinkThread::step(std::int64_t monotonic_ns) {
    sink_->step(monotonic_ns);
    publish_account();
}

std::size_t SinkThread::round(std::int64_t monotonic_ns) {
    const auto taken = take();
    step(monotonic_ns);
    return taken;
}

void SinkThread::publish_account(std::uint64_t reading) {
    const auto ring = reader_.account();
    const auto held = sink_->held();
    progress_.write({.account = {.published = ring.published,
                                 .delivered = kept_ - held,
                                 .filtered = ring.filtered + filtered_,
                                 .conflated = conflated_,
                                 .missed = ring.missed,
                                 .queued = ring.queued + waiting_.size() + held,
                                 .snapshot = ring.from_board},
                     .readable = ring.since + ring.published - ring.queued,
                     .reading = reading});
}

Account SinkThread::account() const noexcept {
    auto progress = progress_.read();
    auto newest = reader_.newest();
    // Entries read between both loads would look overwritten.
    for (auto after = progress_.read(); after != progress; after = progress_.read()) {
        progress = after;
        newest = reader_.newest();
    }
    auto& account = progress.account;
    const auto end = std::max(newest + 1, since_ + account.published);
    const auto more = end - since_ - account.published;
    const auto taken = progress.readable + progress.reading;  // at most
    const auto overwritten = end > taken + reader_.capacity() ? end - reader_.capacity() - taken : 0;
    account.published += more;
    account.queued += more - overwritten;
    account.missed += overwritten;
    return account;
}

std::size_t SinkThread::rest(core::Idle& idle, bool silence) {
    for (int polls = 0; polls < kPollsBetweenLooks; ++polls) {
        if (idle.pause()) {
            sink_->wait(silence ? kLongSleep : idle.wait_time());
            return 0;
        }
        if (const auto taken = take(); taken != 0) return taken;
    }
    sink_->wait(std::chrono::nanoseconds{0});
    return 0;
}

void SinkThread::run() try {
    core::Idle idle{poll_, idle_limits(poll_, holds_)};
    std::int64_t stop_at = 0;
    std::int64_t moved_ns = 0;
    std::uint64_t queued = 0;
    std::int64_t worked_ns = 0;
    std::int64_t looked_ns = 0;
    std::size_t found = 0;  // by the rest before this round
    for (;;) {
        const auto now = core::monotonic_nanos();
        // sync "stop asked": stop
        if (stop_at == 0 && stopping_.load(std::memory_order_acquire)) {
            stop_at = now + kLastPatienceNs;
            sink_->hurry();
        }
        const auto taken = found + round(now);
        if (stop_at != 0) {
            const auto left = account().queued;
            if (moved_ns == 0 || left != queued) moved_ns = now;
            queued = left;
            if (queued == 0 || now >= stop_at || now - moved_ns >= kStandstillNs) break;
        }
        if (taken == 0) {
            found = rest(idle, now - worked_ns > kSilenceNs);
            continue;
        }
        found = 0;
        idle.worked();
        worked_ns = now;
        if (now - looked_ns < kLookEveryNs) continue;
        looked_ns = now;
        sink_->wait(std::chrono::nanoseconds{0});
    }
    sink_->finish();
    publish_account();
} catch (const std::exception& error) {
    // The others continue; the queue of this one grows until the ring laps it.
    ended_.store(true, std::memory_order_relaxed);
    say_(service::Severity::error, name_ + ".ended", fmt::format("sink '{}' has stopped: {}", name_, error.what()));
}

}  // namespace millpond::gateway
