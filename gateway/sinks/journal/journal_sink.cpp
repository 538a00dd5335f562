#include "gateway/sinks/journal/journal_sink.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include <millpond/core/clock.hpp>
#include <millpond/core/thread_name.hpp>

namespace millpond::gateway::journal {
namespace {

using millpond::journal::Sync;

/// How soon the next segment is allocated after one was started; a segment lasts much longer.
constexpr std::chrono::milliseconds kServiceEvery{5};
constexpr std::chrono::milliseconds kTryAgain{100};  ///< After a failure.
/// How long a session's first event waits, in the ring's time, for a segment that is being allocated.
constexpr std::int64_t kSegmentPatienceNs = 1'000'000'000;

}  // namespace

JournalSink::JournalSink(const Options& options, service::Say say)
    : options_(options),
      say_(std::move(say)),
      writer_(options.writer, core::utc_nanos()),
      servant_([this](const std::stop_token& stop) { service(stop); }) {
    for (const auto& segment : writer_.set_aside_segments()) {
        say_(service::Severity::error, fmt::format("{}.set aside {}", options_.name, segment),
             fmt::format("journal sink '{}': {}", options_.name, segment));
    }
    for (const auto& segment : writer_.repaired_segments()) {
        say_(service::Severity::warning, fmt::format("{}.repaired {}", options_.name, segment),
             fmt::format("journal sink '{}': {}", options_.name, segment));
    }
}

JournalSink::~JournalSink() = default;

void JournalSink::service(const std::stop_token& stop) {
    core::name_this_thread(options_.name + " files");
    while (!stop.stop_requested()) {
        const bool did = writer_.service(core::utc_nanos());
        const auto error = writer_.take_error();
        if (error) {
            say_(service::Severity::error, options_.name + ".service",
                 fmt::format("journal sink '{}': {}; retrying", options_.name, *error));
        }
        if (!did) std::this_thread::sleep_for(error ? kTryAgain : kServiceEvery);
    }
}

std::size_t JournalSink::room() const noexcept { return writer_.room(); }

std::optional<std::uint64_t> JournalSink::resume_at(std::uint64_t epoch, std::optional<std::uint64_t>) {
    const auto number = writer_.resume_at(epoch);
    writer_.set_epoch(epoch);
    return number;
}

void JournalSink::name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) {
    writer_.name(id, {venue, symbol});
}

template <class Event>
Taken JournalSink::keep(const Event& event, std::uint64_t number) {
    tell_loss();
    if (lost_.first != 0 || !writer_.append(event, number)) missed(number, number);
    return Taken::kept;
}

void JournalSink::missed(std::uint64_t first, std::uint64_t last) {
    tell_loss();
    if (lost_.first == 0) lost_.first = first;
    lost_.last = last;
    lost_.utc_ns = core::utc_nanos();
    tell_loss();
}

void JournalSink::tell_loss() {
    if (lost_.first == 0 || !writer_.append_lost(lost_)) return;
    say_(service::Severity::warning, options_.name + ".lost",
         fmt::format("journal sink '{}': ring entries {} to {} were overwritten before they were recorded",
                     options_.name, lost_.first, lost_.last));
    lost_ = {};
}

void JournalSink::begin_session() {
    tell_loss();
    const auto until = core::monotonic_nanos() + kSegmentPatienceNs;
    while (!writer_.begin_session()) {
        if (core::monotonic_nanos() < until) {
            std::this_thread::sleep_for(kServiceEvery);
            continue;
        }
        say_(service::Severity::warning, options_.name + ".session",
             fmt::format("journal sink '{}': no segment is ready for the new session; it continues in the segment of "
                         "the old one",
                         options_.name));
        return;
    }
}

void JournalSink::sync() {
    if (writer_.next_record() == synced_before_) return;
    try {
        writer_.sync();
        synced_before_ = writer_.next_record();
    } catch (const std::exception& error) {
        say_(service::Severity::error, options_.name + ".sync",
             fmt::format("journal sink '{}': {}; retrying", options_.name, error.what()));
    }
}

void JournalSink::step(std::int64_t) {
    tell_loss();
    writer_.step(core::utc_nanos());
    if (options_.writer.sync == Sync::each) sync();
}

void JournalSink::finish() { step(0); }

void JournalSink::visit_metrics(const MetricVisitor& visit) const {
    const auto& counters = writer_.counters();
    visit("records_total", "Records written, names included.", counters.records);
    visit("bytes_total", "Bytes written.", counters.bytes);
    visit("segments_total", "Segment files started.", counters.segments);
    visit("removed_segments_total", "Segment files removed by retention.", counters.removed_segments);
    visit("set_aside_segments", "Unreadable segment files that were renamed at startup.", counters.set_aside_segments);
    visit("lost_total", "Ring entries that were overwritten before they were recorded.", counters.lost);
    visit("unnamed_total", "Instruments whose names did not fit into a segment.", counters.unnamed);
    visit("refused_total", "Appends that waited for the next segment.", counters.refused);
    visit("write_errors_total",
          "Segments that could not be allocated or removed, or that another process removed while they were in use.",
          counters.allocation_errors);
    visit("sync_errors_total", "Failed syncs.", counters.sync_errors);
    visit("synced_record", "All records up to this number are on disk.", counters.synced_record);
}

}  // namespace millpond::gateway::journal
