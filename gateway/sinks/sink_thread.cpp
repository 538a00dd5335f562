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

constexpr std::size_t kMaxPerRound = 4'096;
/// Intervals at which the sink's own descriptors are polled: in polls of an empty ring, and in time while events keep
/// arriving.
constexpr int kPollsBetweenWaits = 32;
constexpr std::int64_t kWaitEveryNs = 20'000;

}  // namespace

struct SinkThread::Events {
    SinkThread& of;

    void on(const feed::Quote& quote) {
        of.name_up_to(quote.instrument);
        of.sink_->observe(quote, of.reader_.current());
        if (of.sink_->mode() == Delivery::conflate) {
            if (!of.waiting_.push(quote, of.reader_.current())) ++of.conflated_;
        } else {
            of.pass_on(quote, of.reader_.current());
        }
    }
    void on(const feed::Trade& trade) { of.pass_on(trade, of.reader_.current()); }
    void on(const feed::TradeBreak& broken) { of.pass_on(broken, of.reader_.current()); }
    void on(const feed::Order& order) { of.pass_on(order, of.reader_.current()); }
    void on(const feed::Level& level) {
        of.pass_on(level, of.reader_.current());
        const auto id = level.instrument;
        if (id >= of.awaits_level_.size() || !of.awaits_level_[id]) return;
        of.awaits_level_[id] = false;
        of.rejoining_.push_back(id);
    }
    void on(const feed::Imbalance& imbalance) { of.pass_on(imbalance, of.reader_.current()); }
    void on(const feed::Band& band) { of.pass_on(band, of.reader_.current()); }
    void on(const feed::Definition& definition) { of.pass_on(definition, of.reader_.current()); }
    void on(const feed::BestVenues& venues) { of.pass_on(venues, of.reader_.current()); }
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
        of.rejoining_.clear();
        of.rejoin_end_ = 0;
        of.awaits_level_.clear();
        of.has_missed_ = true;
        of.request_books();
    }
};

struct SinkThread::Board {
    SinkThread& of;
    bool rejoins{false};

    void on(const feed::Quote& quote) {
        of.name_up_to(quote.instrument);
        of.sink_->board(quote, number());
    }
    void on(const feed::Status& status) {
        of.name_up_to(status.instrument);
        of.sink_->board(status, number());
    }
    void on(const feed::Level& level) {
        of.name_up_to(level.instrument);
        of.sink_->board(level, number());
    }
    void on(const feed::BestVenues& venues) {
        of.name_up_to(venues.instrument);
        of.sink_->board(venues, number());
    }
    void on(const feed::Trade&) {}
    void on(const feed::TradeBreak&) {}
    void on(const feed::Gap&) {}
    void on(const feed::Clear&) {}
    void on(const queue::MissedRange&) {}
    /// Number of the newest entry that the board includes.
    [[nodiscard]] std::uint64_t number() const {
        if (rejoins) return of.reader_.current();
        return std::max<std::uint64_t>(of.reader_.account().since, 2) - 1;
    }
};

SinkThread::SinkThread(const Options& options, std::unique_ptr<Sink> sink, service::LogFunction log)
    : name_(options.name),
      ring_(options.ring),
      poll_(options.poll),
      pin_(options.pin),
      holds_(options.holds),
      sink_(std::move(sink)),
      log_(std::move(log)),
      request_books_(options.request_books),
      reader_(
          {.name = options.ring, .visible_as = options.name.substr(0, market::ReaderName::capacity()), .own = true}) {
    sink_->open(reader_);
    const auto& replaced = options.replaced;
    const bool same_ring = replaced && replaced->ring == ring_ && replaced->epoch == reader_.epoch();
    const auto stopped = same_ring ? std::optional{replaced->next} : std::nullopt;
    if (const auto number = sink_->resume_at(reader_.epoch(), stopped)) {
        reader_.seek(*number);
    } else {
        Board board{*this};
        reader_.join(board);
        if (reader_.newest() != 0) request_books();
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
    if (waiting_.size() != 0) return std::nullopt;  // the board includes the conflated quotes
    const auto next = sink_->next_wanted(progress_.read().readable);
    if (!next) return std::nullopt;
    return RingPlace{.ring = ring_, .epoch = reader_.epoch(), .next = *next};
}

void SinkThread::name_up_to(feed::InstrumentId id) {
    if (id == feed::kNoInstrument) return;
    for (; named_ <= id; ++named_) {
        const auto* instrument = reader_.instrument(named_);
        if (instrument != nullptr) {
            sink_->name(named_, instrument->venue, instrument->symbol, instrument->decimals);
        } else {  // an id that the writer skipped; no event has it
            sink_->name(named_, feed::Venue{}, feed::Symbol{fmt::format("#{}", named_)}, feed::kDefaultDecimals);
        }
    }
}

template <class Event>
void SinkThread::pass_on(const Event& event, std::uint64_t number) {
    if constexpr (requires { event.instrument; }) name_up_to(event.instrument);
    if (sink_->on(event, number) != Admission::kept) {
        ++filtered_;
        return;
    }
    ++kept_;
    const auto now = core::ticks();
    const bool has_ticks = event.receive_ticks != 0 && event.receive_ticks < now;
    const auto lag = has_ticks ? now - event.receive_ticks : 0;
    if (lag > max_lag_ticks_.load(std::memory_order_relaxed)) {
        max_lag_ticks_.store(lag, std::memory_order_relaxed);
    }
}

void SinkThread::drain_waiting() {
    Conflator::Waiting next;
    while (waiting_.size() != 0 && sink_->available() != 0) {
        if (waiting_.pop(next)) pass_on(next.quote, next.number);
    }
}

std::size_t SinkThread::read_events() {
    Events events{*this};
    std::size_t entries = 0;
    if (sink_->mode() == Delivery::conflate) {
        publish_account(kMaxPerRound);
        entries = reader_.poll(events, kMaxPerRound);
        drain_waiting();
        return entries;
    }
    while (entries < kMaxPerRound) {
        const auto capacity = std::min(sink_->available(), kMaxPerRound - entries);
        if (capacity == 0) break;
        publish_account(capacity);
        const auto got = reader_.poll(events, capacity);
        entries += got;
        if (got < capacity) break;
    }
    return entries;
}

void SinkThread::step(std::int64_t monotonic_ns) {
    sink_->step(monotonic_ns);
    publish_account();
}

void SinkThread::rejoin() {
    if (!has_missed_ || reader_.board().max_depth() == 0) return;
    constexpr int kMaxPerCall = 64;
    for (; rejoin_end_ < reader_.instruments(); ++rejoin_end_) rejoining_.push_back(rejoin_end_);
    awaits_level_.resize(rejoin_end_);
    Board board{*this, true};
    for (int i = 0; i < kMaxPerCall && !rejoining_.empty() && sink_->available() != 0; ++i) {
        next_rejoin_ %= rejoining_.size();
        auto& id = rejoining_[next_rejoin_];
        const auto outcome = reader_.rejoin(board, id);
        if (outcome == market::RejoinOutcome::behind) {
            ++next_rejoin_;
            continue;
        }
        if (outcome == market::RejoinOutcome::none) awaits_level_[id] = true;
        id = rejoining_.back();
        rejoining_.pop_back();
    }
}

void SinkThread::request_books() const {
    if (request_books_ && sink_->needs_orders()) request_books_();
}

std::size_t SinkThread::round(std::int64_t monotonic_ns) {
    const auto entries = read_events();
    rejoin();
    step(monotonic_ns);
    return entries;
}

void SinkThread::publish_account(std::uint64_t reading) {
    const auto ring = reader_.account();
    const auto refused = sink_->refused_events();
    const auto held = sink_->held();
    const auto conflated = sink_->conflated_events();
    progress_.write({.account = {.published = ring.published,
                                 .delivered = kept_ - held - refused - conflated,
                                 .filtered = ring.filtered + filtered_,
                                 .conflated = conflated_ + conflated,
                                 .missed = ring.missed + refused,
                                 .queued = ring.queued + waiting_.size() + held,
                                 .refused = refused,
                                 .snapshot = ring.from_board},
                     .readable = ring.since + ring.published - ring.queued,
                     .reading = reading});
}

Account SinkThread::account() const noexcept {
    auto progress = progress_.read();
    auto newest = reader_.newest();
    // Repeats, because entries read between both loads would look overwritten.
    for (auto after = progress_.read(); after != progress; after = progress_.read()) {
        progress = after;
        newest = reader_.newest();
    }
    auto& account = progress.account;
    const auto end = std::max(newest + 1, since_ + account.published);
    const auto more = end - since_ - account.published;
    const auto read_end = progress.readable + progress.reading;  // upper bound
    const auto overwritten = end > read_end + reader_.capacity() ? end - reader_.capacity() - read_end : 0;
    account.published += more;
    account.queued += more - overwritten;
    account.missed += overwritten;
    return account;
}

std::size_t SinkThread::wait(core::Idle& idle, bool silence) {
    for (int polls = 0; polls < kPollsBetweenWaits; ++polls) {
        if (idle.pause()) {
            sink_->wait(silence ? kLongSleep : idle.wait_time());
            return 0;
        }
        if (const auto entries = read_events(); entries != 0) return entries;
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
    std::int64_t polled_ns = 0;
    std::size_t found = 0;  // entries found while waiting before this round
    for (;;) {
        const auto now = core::monotonic_nanos();
        // sync "stop asked": stop
        if (stop_at == 0 && stopping_.load(std::memory_order_acquire)) {
            stop_at = now + kLastPatienceNs;
            if (reloaded_) sink_->note_reload();
            sink_->begin_drain();
        }
        const auto entries = found + round(now);
        if (stop_at != 0) {
            const auto left = account().queued;
            if (moved_ns == 0 || left != queued) moved_ns = now;
            queued = left;
            const bool is_over = sink_->is_drained() && (queued == 0 || now - moved_ns >= kStandstillNs);
            if (is_over || now >= stop_at) break;
        }
        if (entries == 0 && stop_at != 0 && !sink_->is_drained()) continue;
        if (entries == 0) {
            found = wait(idle, now - worked_ns > kSilenceNs);
            continue;
        }
        found = 0;
        idle.worked();
        worked_ns = now;
        if (now - polled_ns < kWaitEveryNs) continue;
        polled_ns = now;
        sink_->wait(std::chrono::nanoseconds{0});
    }
    sink_->finish();
    publish_account();
} catch (const std::exception& error) {
    // Other sinks continue; the queue of this one grows until the ring overwrites its entries.
    ended_.store(true, std::memory_order_relaxed);
    log_(service::Severity::error, name_ + ".ended", fmt::format("sink '{}' has stopped: {}", name_, error.what()));
}

}  // namespace millpond::gateway
