#include <millpond/journal/catch_up_reader.hpp>

#include <algorithm>

#include <millpond/core/clock.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/checkpoint.hpp>
#include <millpond/journal/journal_error.hpp>
#include <millpond/market/ring_error.hpp>

namespace millpond::journal {

CatchUpReader::CatchUpReader(CatchUpOptions options, const StartAt& from)
    : options_(std::move(options)), journal_(options_.folder) {
    if (options_.only_ring) journal_.select_ring(options_.ring);
    if (const auto* record = std::get_if<AtRecord>(&from)) {
        if (record->record > 1) journal_.seek(record->record);
    } else if (const auto* time = std::get_if<AtTime>(&from)) {
        since_ = time->utc_ns;
        if (time->not_before > 1) journal_.seek(time->not_before);
        journal_.select(since_, std::nullopt);
    } else {
        const auto& saved = std::get<SavedPosition>(from);
        check(saved);
        has_entry_ = true;
        epoch_ = saved.epoch;
        last_ = saved.ring;
        first_ = last_ + 1;
        journal_.seek(saved.record);
        if (!options_.books) journal_.skip(epoch_, last_);
    }
    if (options_.books) prepare_books(from);
}

void CatchUpReader::prepare_books(const StartAt& from) {
    std::optional<BooksOrigin> origin;
    if (const auto* time = std::get_if<AtTime>(&from)) {
        journal_.select(std::nullopt, std::nullopt);
        origin = find_books_until(options_.folder, time->utc_ns);
    } else {
        const auto* record = std::get_if<AtRecord>(&from);
        begins_at_ = record != nullptr ? record->record : std::get<SavedPosition>(from).record;
        origin = find_books_before(options_.folder, begins_at_);
    }
    if (!origin) return;
    if (origin->checkpoint) origin_end_ = origin->checkpoint->last;
    journal_.seek(origin->record);
    books_ = std::make_unique<KeptBooks>([this](std::uint16_t channel) { return depth(channel); });
}

void CatchUpReader::check(const SavedPosition& saved) const {
    std::uint64_t next = 0;
    for (const auto& segment : describe_segments(options_.folder)) next = std::max(next, segment.next_record);
    if (next == 0 || saved.record <= next) return;
    throw JournalError(options_.folder.string() + ": ends with record " + std::to_string(next - 1) +
                       ", before record " + std::to_string(saved.record) +
                       " of the saved position; is it the position of another journal?");
}

std::optional<SavedPosition> CatchUpReader::position() const noexcept {
    if (!has_entry_) return std::nullopt;
    return SavedPosition{.epoch = epoch_, .ring = last_, .record = journal_.next_record()};
}

CatchUpAccount CatchUpReader::account() const noexcept {
    CatchUpAccount account{.delivered = delivered_, .filtered = filtered_, .missed = missed_, .snapshot = snapshot_};
    if (!has_entry_) return account;
    if (ring_ && ring_->epoch() == epoch_) {
        const auto newest = ring_->newest();
        account.queued = newest > last_ ? newest - last_ : 0;
    }
    account.published = of_earlier_epochs_ + (last_ + 1 - first_) + account.queued;
    return account;
}

std::optional<market::WriterState> CatchUpReader::writer_state() noexcept {
    if (!ring_) return std::nullopt;
    return ring_->writer_state();
}

const market::Instrument* CatchUpReader::instrument(feed::InstrumentId id) noexcept {
    return is_live_ ? ring_->instrument(id) : journal_.instrument(id);
}

market::ChannelDepth CatchUpReader::depth(std::uint16_t channel) const noexcept {
    return is_live_ ? ring_->depth(channel) : journal_.depth(channel);
}

bool CatchUpReader::is_newest(std::uint64_t epoch, std::uint64_t ring) noexcept {
    if (epoch != prepared_epoch_) {
        books_->reset();
        prepared_epoch_ = epoch;
        prepared_ring_ = 0;
    }
    if (ring == 0) return true;
    if (ring <= prepared_ring_) return false;
    if (prepared_ring_ != 0 && ring != prepared_ring_ + 1) books_->on(queue::MissedRange{prepared_ring_ + 1, ring - 1});
    prepared_ring_ = ring;
    return true;
}

void CatchUpReader::know(const BookHead& head) {
    const auto place = place_of(head);
    if (place >= known_.size()) known_.resize(place + 1);
    known_[place] = true;
}

bool CatchUpReader::has_begun(std::int64_t utc_ns) noexcept {
    if (books_) {
        const auto& at = journal_.current();
        if (at.record < begins_at_) return false;
        if (has_entry_ && at.epoch == epoch_ && at.ring != 0 && at.ring <= last_) return false;
    }
    if (!since_) return true;
    if (utc_ns < *since_) return false;
    since_.reset();
    journal_.select(std::nullopt, std::nullopt);  // everything after the first event
    return true;
}

std::optional<CatchUpReader::Entry> CatchUpReader::end_of_journal() const noexcept {
    if (options_.books) return std::nullopt;  // they would lack what comes before
    const auto& passed = journal_.passed();
    const bool is_future = since_ && *since_ > core::utc_nanos();
    if (passed.ring == 0 || passed.record + 1 < journal_.next_record() || is_future) return std::nullopt;
    return Entry{.epoch = passed.epoch, .ring = passed.ring};
}

bool CatchUpReader::switch_to_ring() {
    const auto last = has_entry_ ? std::optional{Entry{.epoch = epoch_, .ring = last_}} : end_of_journal();
    if (!last || !open_ring(last->epoch) || ring_->epoch() != last->epoch || last->ring + 1 < ring_->oldest()) {
        return false;
    }
    if (!has_entry_) {  // only now: otherwise the journal's next records are the first ones
        has_entry_ = true;
        epoch_ = last->epoch;
        last_ = last->ring;
        first_ = last_ + 1;
    }
    // The books need the entries before the first one, if the ring still has them.
    const bool prepares = books_ && prepared_epoch_ == epoch_ && prepared_ring_ + 1 >= ring_->oldest();
    if (books_ && !prepares) prepare(queue::MissedRange{}, epoch_, 0);
    ring_->seek(prepares ? std::min(prepared_ring_, last_) + 1 : last_ + 1);
    is_live_ = true;
    return true;
}

bool CatchUpReader::open_ring(std::uint64_t epoch) {
    // An open ring that is none of this epoch may have been replaced, or the journal has yet to begin its epoch.
    if (ring_ && ring_->epoch() != epoch && epoch_at_open_ != epoch) ring_.reset();
    if (ring_) return true;
    const auto name = options_.ring.empty() ? std::string{journal_.ring()} : options_.ring;
    if (name.empty()) return false;  // the journal has yet to name its ring
    try {
        ring_.emplace(market::RingReaderOptions{.name = name,
                                                .visible_as = options_.visible_as,
                                                .silent_after = options_.silent_after,
                                                .own = options_.own});
    } catch (const market::RingError& error) {
        using enum market::RingFault;
        if (error.fault() == not_found || error.fault() == not_ready) return false;
        throw;
    }
    epoch_at_open_ = epoch;
    return true;
}

void CatchUpReader::leave_ring() noexcept {
    is_live_ = false;
    if (!books_) journal_.skip(epoch_, last_);
    const auto state = ring_->writer_state();
    if (state == market::WriterState::closed || state == market::WriterState::superseded) ring_.reset();
}

}  // namespace millpond::journal
