#include "gateway/json_lines/replay_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/market/ring_reader.hpp>

#include "service/utc_text.hpp"

namespace millpond::gateway::json_lines {
namespace {

/// Finds the receive time of a journal's first event.
struct FirstTime {
    template <class Event>
    void on(const Event& event) {
        if constexpr (requires { event.receive_utc_ns; }) {
            if (!utc_ns && event.receive_utc_ns != 0) utc_ns = event.receive_utc_ns;
        }
    }
    std::optional<std::int64_t> utc_ns{};
};

/// Receive time of the ring's first event; that of the segment if its first events have none.
std::int64_t first_time(const ReplayReader::From& from, const millpond::journal::SegmentIndex& index) {
    constexpr std::size_t kMaxRecords = 4'096;
    millpond::journal::JournalReader reader{from.journal};
    reader.select_ring(from.ring);
    reader.seek(index.first_record());
    FirstTime first;
    for (std::size_t i = 0; i < kMaxRecords && !first.utc_ns; ++i) {
        if (reader.poll(first, 1) == 0) break;
    }
    return first.utc_ns.value_or(index.begun_utc_ns());
}

Account sum(const Account& a, const Account& b) {
    return {.published = a.published + b.published,
            .delivered = a.delivered + b.delivered,
            .filtered = a.filtered + b.filtered,
            .conflated = a.conflated + b.conflated,
            .missed = a.missed + b.missed,
            .queued = a.queued + b.queued,
            .snapshot = a.snapshot + b.snapshot};
}

}  // namespace

/// Passes what CatchUpReader delivers.
struct ReplayReader::Handler {
    template <class Event>
    void on(const Event& event) {
        of.on(event);
    }
    ReplayReader& of;
};

ReplayReader::ReplayReader(const From& from, millpond::journal::SegmentIndex& index, std::shared_ptr<Replay> replay)
    : from_(from), index_(index), replay_(std::move(replay)) {}

ReplayReader::Outcome ReplayReader::step(std::uint64_t live) noexcept {
    if (replay_->is_full()) return Outcome::waits_for_client;
    ReplayPart failed;
    try {
        if (reader_) return read(live);
        if (open()) push({.begins = true});
        return Outcome::moved;
    } catch (const RequestError& error) {
        failed.failure = error.what();
        failed.is_refused = true;
    } catch (const std::system_error& error) {  // its text has the folder
        failed.failure = fmt::format("'from': the journal cannot be read: {}", error.code().message());
    } catch (const std::exception& error) {
        failed.failure = fmt::format("'from': {}", error.what());
    }
    replay_->push(std::move(failed));
    return Outcome::over;
}

bool ReplayReader::open() {
    if (!index_.update(kMaxSegmentsOfStep)) return false;
    const auto start = checked_start();
    reader_.emplace(
        millpond::journal::CatchUpOptions{.folder = from_.journal, .ring = from_.ring, .only_ring = true, .own = true},
        start);
    begin();
    return true;
}

millpond::journal::StartAt ReplayReader::checked_start() const {
    const auto& start = replay_->start();
    if (!index_.has_records()) throw RequestError("'from': the journal has no event yet");
    const auto first = index_.first_record();
    const auto next = index_.next_record();
    if (!start.utc_ns) {
        if (start.record < first) {
            throw RequestError(
                fmt::format("'from': record {} is not there any more; the journal's first is {}", start.record, first));
        }
        if (start.record >= next) {
            throw RequestError(
                fmt::format("'from': record {} does not exist; the journal's newest is {}", start.record, next - 1));
        }
        return millpond::journal::AtRecord{start.record};
    }
    const auto begin = first_time(from_, index_);
    if (*start.utc_ns < begin) {
        throw RequestError(fmt::format("'from': {}Z is before the journal's first event, of {}Z",
                                       service::utc_text_in_nanos(*start.utc_ns), service::utc_text_in_nanos(begin)));
    }
    return millpond::journal::AtTime{.utc_ns = *start.utc_ns, .not_before = index_.first_record_at(*start.utc_ns)};
}

void ReplayReader::begin() {
    if (subscriber_) earlier_ = sum(earlier_, subscriber_->account());
    subscriber_.reset();
    lines_ = std::make_unique<EventLines>(kLines);
    lines_->open({.max_instruments = market::kMaxInstruments,  // an earlier run may have had more than this one
                  .depth_of = [this](std::uint16_t channel) { return reader_->depth(channel); }},
                 from_.venues);
    subscriber_ = std::make_unique<Subscriber>(
        Delivery::every, Source{.lines = lines_->log(), .snapshot = lines_->snapshot(), .books = lines_->books()});
    subscriber_->replace(replay_->wanted());
    lines_->join(*subscriber_);
    named_ = 0;
}

ReplayReader::Outcome ReplayReader::read(std::uint64_t live) {
    const auto offered = replay_->offered();
    if (reached_ != 0 && reached_ == offered) return Outcome::waits_for_client;
    reached_ = 0;
    const auto limit = offered != 0 ? offered : live;
    const auto is_at_limit = [&] { return reader_->epoch() == from_.epoch && reader_->current() >= limit; };
    Handler handler{*this};
    std::size_t polled = 0;
    bool waits = false;
    drain(kPartBytes);
    while (!waits && polled < kMaxEntriesOfStep && text_.size() < kPartBytes) {
        waits = is_at_limit() || reader_->poll(handler, 1) == 0;
        if (!waits) ++polled;
        // A group may have more lines than entries.
        if (lines_->log().end() - subscriber_->next_line() >= kLines / 4) drain(kPartBytes);
    }
    drain(kPartBytes);
    check_journal(waits && polled == 0 && !is_at_limit(), limit);
    ReplayPart part;
    if (offered != 0 && is_at_limit() && is_drained()) {
        reached_ = offered;
        part.state = state();
    }
    const bool is_news = waits && (reader_->current() != announced_ || live != announced_live_);
    if (!part.state && text_.empty() && !is_news) return polled != 0 ? Outcome::moved : Outcome::waits_for_events;
    announced_live_ = live;
    push(std::move(part));
    return Outcome::moved;
}

void ReplayReader::check_journal(bool waits_for_journal, std::uint64_t limit) {
    if (!waits_for_journal || limit == 0) {
        waits_since_ns_ = 0;
        return;
    }
    const auto now = core::monotonic_nanos();
    if (waits_since_ns_ == 0) waits_since_ns_ = now;
    if (now - waits_since_ns_ < from_.patience.count()) return;
    const auto last = reader_->epoch() == from_.epoch ? reader_->current() : 0;
    throw std::runtime_error(
        fmt::format("the journal has stopped: entry {} is its newest, the ring's is {} and does not reach back to it",
                    last, limit));
}

void ReplayReader::push(ReplayPart&& part) {
    part.text = std::exchange(text_, {});
    part.account = account();
    part.epoch = reader_->epoch();
    part.number = announced_ = reader_->current();
    replay_->push(std::move(part));
}

template <class Event>
void ReplayReader::on(const Event& event) {
    auto id = feed::kNoInstrument;
    if constexpr (requires { event.instrument; }) id = event.instrument;
    if (id != feed::kNoInstrument) name_up_to(id);
    if constexpr (std::is_same_v<Event, feed::BestVenues>) return lines_->on(event, reader_->current());
    constexpr bool kIsOfBook = std::is_same_v<Event, feed::Order> || std::is_same_v<Event, feed::Level>;
    if (!subscriber_->wants(id)) {
        // A sink counts orders and levels only if a client wants them.
        if (!kIsOfBook) lines_->skip(id);
        return;
    }
    if (kIsOfBook && !subscriber_->depth(id).is_on()) return;
    lines_->on(event, reader_->current());
    // The quotes and books that it concerns follow before the next event.
    if constexpr (std::is_same_v<Event, feed::Gap> || std::is_same_v<Event, feed::Clear>) drain(kPartBytes);
}

void ReplayReader::on(const queue::MissedRange& missed) {
    lines_->missed(missed.first, missed.last);
    drain(kPartBytes);
}

void ReplayReader::on(const millpond::journal::NewEpoch& change) {
    drain(std::numeric_limits<std::size_t>::max());
    text_ += fmt::format("{{\"type\":\"restart\",\"last\":{}}}\n", change.last_of_before);
    begin();
}

void ReplayReader::name_up_to(feed::InstrumentId id) {
    for (; named_ <= id; ++named_) {
        const auto* const instrument = reader_->instrument(named_);
        if (instrument != nullptr) {
            lines_->name(instrument->venue, instrument->symbol, instrument->decimals);
        } else {
            lines_->name({}, feed::Symbol{fmt::format("#{}", named_)}, feed::kDefaultDecimals);
        }
    }
}

void ReplayReader::drain(std::size_t max_bytes) {
    while (text_.size() < max_bytes) {
        subscriber_->fill(0);
        const auto text = subscriber_->text();
        if (text.empty()) break;
        text_ += text;
        subscriber_->on_text_sent(text.size());
    }
    lines_->find_slowest();
}

Account ReplayReader::account() const noexcept { return sum(earlier_, subscriber_->account()); }

std::unique_ptr<ReplayedState> ReplayReader::state() {
    auto state = std::make_unique<ReplayedState>();
    state->snapshot = lines_->snapshot();
    for (feed::InstrumentId id = 0; id < state->snapshot.size(); ++id) {
        // The client has none of a feed that sent less than it wants.
        const bool has_book = subscriber_->depth(id).is_on();
        state->books.push_back(has_book ? lines_->books().complete(id) : DepthBooks::Complete{});
    }
    const auto account = reader_->account();
    state->received = account.published - account.queued - account.missed;
    state->missed = account.missed;
    return state;
}

}  // namespace millpond::gateway::json_lines
