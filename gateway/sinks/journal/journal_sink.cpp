#include "gateway/sinks/journal/journal_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/core/thread_name.hpp>
#include <millpond/market/ring_reader.hpp>

namespace millpond::gateway::journal {
namespace {

using millpond::journal::Sync;

/// Interval at which the service thread allocates the next segment; a segment lasts much longer.
constexpr std::chrono::milliseconds kServiceEvery{5};
constexpr std::chrono::milliseconds kTryAgain{100};  ///< Pause after a failure.
/// Maximum time that a session's first event waits for a segment that is being allocated.
constexpr std::int64_t kSegmentPatienceNs = 1'000'000'000;

/// Time for which a checkpoint may be overdue, however short the interval is.
constexpr std::chrono::seconds kMinCheckpointPatience{10};

}  // namespace

JournalSink::JournalSink(std::string name, const millpond::journal::WriterOptions& writer, service::LogFunction log)
    : name_(std::move(name)),
      options_(writer),
      log_(std::move(log)),
      writer_(writer, core::utc_nanos()),
      service_thread_([this](const std::stop_token& stop) { service(stop); }) {
    log_open_error();
    for (const auto& segment : writer_.set_aside_segments()) {
        log_(service::Severity::error, fmt::format("{}.set aside {}", name_, segment),
             fmt::format("journal sink '{}': {}", name_, segment));
    }
    for (const auto& segment : writer_.repaired_segments()) {
        log_(service::Severity::warning, fmt::format("{}.repaired {}", name_, segment),
             fmt::format("journal sink '{}': {}", name_, segment));
    }
}

JournalSink::~JournalSink() = default;

void JournalSink::service(const std::stop_token& stop) {
    core::name_this_thread(name_ + " files");
    while (!stop.stop_requested()) {
        const bool did = writer_.service(core::utc_nanos());
        const auto error = writer_.pop_error();
        if (error) {
            log_(service::Severity::error, name_ + ".service",
                 fmt::format("journal sink '{}': {}; retrying", name_, *error));
        }
        if (!did) std::this_thread::sleep_for(error ? kTryAgain : kServiceEvery);
    }
}

std::size_t JournalSink::available() const noexcept { return writer_.available(); }

std::optional<std::uint64_t> JournalSink::resume_at(std::uint64_t epoch, std::optional<std::uint64_t>) {
    const auto number = writer_.resume_at(epoch);
    writer_.set_epoch(epoch);
    if (options_.checkpoint_interval.count() != 0) writer_.keep_books();
    return number;
}

void JournalSink::name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol, unsigned decimals) {
    writer_.name(id, {venue, symbol, decimals});
}

/// Records what the event's channel sends, before its first event and after each change.
template <class Event>
void JournalSink::note_depth(const Event& event, std::uint64_t number) {
    const auto& board = ring_->board();
    if (event.channel >= board.max_channels()) return;
    const auto depth = board.channel_depth(event.channel);
    if (number < board.depth_since(event.channel) || depth == writer_.depth(event.channel)) return;
    writer_.set_depth(event.channel, depth);
    // Without a segment the event becomes a part of a lost record.
    static_cast<void>(wait_for_segment([this] { return writer_.available() != 0; }));
}

template <class Event>
Admission JournalSink::keep(const Event& event, std::uint64_t number) {
    note_depth(event, number);
    record_loss();
    if (lost_.first != 0 || !writer_.append(event, number)) missed(number, number);
    return Admission::kept;
}

void JournalSink::missed(std::uint64_t first, std::uint64_t last) {
    record_loss();
    if (lost_.first == 0) lost_.first = first;
    lost_.last = last;
    lost_.utc_ns = core::utc_nanos();
    record_loss();
}

void JournalSink::record_loss() {
    if (lost_.first == 0 || !writer_.append_lost(lost_)) return;
    log_(service::Severity::warning, name_ + ".lost",
         fmt::format("journal sink '{}': ring entries {} to {} were overwritten before they were recorded", name_,
                     lost_.first, lost_.last));
    lost_ = {};
}

/// Waits for the servicing thread, but not for ever. Returns what `ready` does.
template <class Ready>
bool JournalSink::wait_for_segment(const Ready& ready) {
    const auto until = core::monotonic_nanos() + kSegmentPatienceNs;
    while (!ready()) {
        if (core::monotonic_nanos() >= until) return false;
        std::this_thread::sleep_for(kServiceEvery);
    }
    return true;
}

void JournalSink::begin_session() {
    record_loss();
    if (!wait_for_segment([this] { return writer_.begin_session(); })) {
        log_(service::Severity::warning, name_ + ".session",
             fmt::format("journal sink '{}': no segment is ready for the new session; it continues in the segment of "
                         "the old one",
                         name_));
    }
}

void JournalSink::sync() {
    if (writer_.next_record() == synced_before_) return;
    try {
        writer_.sync();
        synced_before_ = writer_.next_record();
    } catch (const std::exception& error) {
        log_(service::Severity::error, name_ + ".sync",
             fmt::format("journal sink '{}': {}; retrying", name_, error.what()));
    }
}

void JournalSink::log_open_error() {
    if (const auto error = writer_.pop_open_error()) {
        log_(service::Severity::error, name_ + ".open",
             fmt::format("journal sink '{}': {}; it records nothing; retrying", name_, *error));
    }
}

void JournalSink::log_checkpoint_error() {
    const auto& counters = writer_.counters();
    if (counters.checkpoint_errors.read() == checkpoint_errors_) return;
    checkpoint_errors_ = counters.checkpoint_errors.read();
    log_(service::Severity::error, name_ + ".checkpoint",
         fmt::format("journal sink '{}': a checkpoint of {} bytes does not fit into a segment of {}; raise "
                     "segment_bytes",
                     name_, counters.checkpoint_bytes.read(), options_.segment_bytes));
}

void JournalSink::step(std::int64_t) {
    record_loss();
    writer_.step(core::utc_nanos());
    log_checkpoint_error();
    log_open_error();
    if (options_.sync == Sync::each) sync();
}

void JournalSink::begin_drain() {
    writer_.request_checkpoint();
    has_last_checkpoint_ = writer_.is_checkpoint_requested();
}

void JournalSink::finish() {
    record_loss();
    // The next writer reads the few events after it.
    if (!has_last_checkpoint_ || !is_drained()) writer_.end_books();
    step(0);
}

SinkHealth JournalSink::health() const noexcept {
    const auto& counters = writer_.counters();
    const auto interval = std::chrono::ceil<std::chrono::seconds>(options_.checkpoint_interval);
    const auto patience = static_cast<std::uint64_t>(std::max(2 * interval, kMinCheckpointPatience).count());
    const bool is_overdue = counters.checkpoint_overdue_seconds.read() > patience;
    return {.failures = counters.allocation_errors.read() + counters.sync_errors.read() + counters.unnamed.read() +
                        counters.checkpoint_errors.read(),
            .overdue_checkpoint_seconds = is_overdue ? counters.checkpoint_age_seconds.read() : 0};
}

void JournalSink::visit_metrics(const MetricVisitor& visit) const {
    const auto& counters = writer_.counters();
    visit("records_total", "Records written, names included.", counters.records);
    visit("bytes_total", "Bytes written.", counters.bytes);
    visit("segments_total", "Segment files started.", counters.segments);
    visit("removed_segments_total", "Segment files removed by retention.", counters.removed_segments);
    visit("set_aside_segments", "Unreadable segment files that were renamed at startup.", counters.set_aside_segments);
    visit("lost_total", "Ring entries that were overwritten before they were recorded.", counters.lost);
    visit("checkpoints_total", "Checkpoints of order books and levels written.", counters.checkpoints);
    visit("checkpoint_bytes", "Size of the newest checkpoint.", counters.checkpoint_bytes);
    visit("checkpoint_age_seconds", "Age of the newest checkpoint; 0 if no feed sends orders or levels.",
          counters.checkpoint_age_seconds);
    visit("checkpoint_overdue_seconds", "Time for which a checkpoint has been due; 0 if none is.",
          counters.checkpoint_overdue_seconds);
    visit("checkpoint_errors_total", "Checkpoints that did not fit into a segment.", counters.checkpoint_errors);
    visit("unnamed_total", "Names of instruments and depths of channels that did not fit into a segment.",
          counters.unnamed);
    visit("refused_total", "Appends that waited for the next segment.", counters.refused);
    visit("write_errors_total",
          "Segments that could not be allocated or removed, or that another process removed while they were in use.",
          counters.allocation_errors);
    visit("sync_errors_total", "Failed syncs.", counters.sync_errors);
    visit("synced_record", "All records up to this number are on disk.", counters.synced_record);
}

}  // namespace millpond::gateway::journal
