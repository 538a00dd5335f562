#include "apps/millpond/traffic/replay_ring.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/journal/channel_depth.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/market/ring_writer.hpp>

#include "apps/millpond/command_line/progress.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/traffic/clock.hpp"
#include "apps/millpond/traffic/journal_source.hpp"
#include "apps/millpond/traffic/speed.hpp"
#include "apps/millpond/traffic/transmitter.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

constexpr std::uint32_t kMaxChannels = 1'024;
constexpr std::int64_t kBeatNs = 100'000'000;

/// Levels of a side that the board needs for the channels of a journal.
std::uint32_t board_depth_of(const std::string& journal) {
    constexpr std::uint32_t kDepthOfFull = 10;
    std::uint32_t depth = 0;
    for (const auto& recorded : journal::recorded_depths(journal))
        depth = std::max(depth, recorded.depth == feed::kFullDepth ? kDepthOfFull : recorded.depth);
    return depth;
}

market::RingWriterOptions writer_options(const RingReplayOptions& options) {
    market::RingWriterOptions writer;
    writer.name = options.ring;
    writer.capacity = options.capacity;
    writer.max_instruments = static_cast<std::uint32_t>(options.max_instruments);
    writer.max_channels = kMaxChannels;
    writer.depth = board_depth_of(options.journal);
    return writer;
}

class RingReplay {
public:
    explicit RingReplay(const RingReplayOptions& options)
        : options_(options),
          stop_(service::stop_on_signal()),
          extent_(traffic::extent_of_journal(options.journal)),
          reader_(options.journal),
          writer_(writer_options(options)),
          instruments_(options.max_instruments),
          clock_(options.spin),
          paces_at_(options.readers != 0 ? writer_.newest() + options.capacity / 4
                                         : std::numeric_limits<std::uint64_t>::max()) {
        for (feed::InstrumentId id = 0; id < writer_.instruments(); ++id) {
            const auto name = writer_.instrument(id);
            static_cast<void>(instruments_.find_or_add(name->venue, name->symbol));
        }
        reader_.select(options_.since, options_.until);
    }

    void run() {
        wait_for_readers();
        Progress progress{"replay", "records", extent_.end - extent_.first};
        start_ns_ = clock_.now();
        while (!stopped() && reader_.poll(*this, 1) != 0) {
            if (!options_.quiet && published_ % 64 == 0) progress.at(reader_.next_record() - extent_.first);
        }
    }

    void tell() {
        const auto seconds = static_cast<double>(core::monotonic_nanos() - start_ns_) * 1e-9;
        fmt::print("published {} events ({} quotes) to ring '{}' in {:.3f} s ({:.0f} events/s){}\n", published_,
                   quotes_, options_.ring, seconds, seconds > 0 ? static_cast<double>(published_) / seconds : 0.0,
                   stopped() ? ", stopped by a signal" : "");
        for (const auto& fault : reader_.drain_faults()) {
            to_stderr("{}\n", fault);
            damaged_ = true;
        }
        const auto refused = writer_.refused_events().read();
        fmt::print("lost in the journal {}, refused by the ring {}\n", lost_, refused);
        if (refused != 0) {
            to_stderr(
                "ring '{}' has refused {} events: its capacity is {} instruments (--max-instruments) and {} channels\n",
                options_.ring, refused, options_.max_instruments, kMaxChannels);
        }
    }

    [[nodiscard]] int exit_code() const noexcept {
        if (writer_.refused_events().read() != 0) return 1;
        return damaged_ ? kJournalDamaged : 0;
    }

    template <class Event>
    void on(Event event) {
        if (stopped()) return;
        if (!wait_until_due(event.receive_utc_ns)) return;
        forget_other_epoch(event);
        set_depth(event.channel);
        if constexpr (requires { event.instrument; }) {
            if (event.instrument != feed::kNoInstrument) event.instrument = id_here(event);
        }
        newest_utc_ns_ = event.receive_utc_ns;
        event.receive_ticks = core::ticks();
        if (writer_.publish(event)) ++published_;
        if constexpr (Event::kKind == feed::EventKind::quote) ++quotes_;
        if (writer_.newest() >= paces_at_) let_readers_follow();
        beat();
    }
    /// Marks the quotes of a channel as incomplete after a loss: the lost events may have changed them.
    void on(const journal::LostRecord& lost) {
        if (stopped()) return;
        lost_ += lost.count();
        damaged_ = damaged_ || lost.reason == journal::LostReason::damaged;
        for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
            if (!channels_[channel]) continue;
            feed::Gap gap;
            gap.channel = static_cast<std::uint16_t>(channel);
            gap.receive_utc_ns = newest_utc_ns_;
            gap.receive_ticks = core::ticks();
            writer_.publish(gap);
        }
    }

private:
    [[nodiscard]] bool stopped() const noexcept { return stop_.load(std::memory_order_relaxed); }

    void beat() {
        const auto now = clock_.now();
        if (now - beaten_ns_ < kBeatNs) return;
        beaten_ns_ = now;
        writer_.heartbeat(core::utc_nanos());
    }

    void pause() {
        beat();
        constexpr std::int64_t kPauseNs = 200'000;
        clock_.wait_until(clock_.now() + kPauseNs);
    }

    /// Returns the readers of this user and of root; other users cannot delay the replay.
    [[nodiscard]] std::vector<market::RegisteredReader> readers() const {
        auto found = writer_.readers().readers;
        std::erase_if(found, [](const market::RegisteredReader& reader) {
            return !reader.alive || (reader.uid != geteuid() && reader.uid != 0);
        });
        return found;
    }

    void wait_for_readers() {
        if (options_.readers == 0) return;
        to_stderr("ring '{}': waiting for {} readers of this user\n", options_.ring, options_.readers);
        while (!stopped() && readers().size() < options_.readers) pause();
    }

    /// Waits until no live registered reader is more than half of the ring behind.
    void let_readers_follow() {
        const auto newest = writer_.newest();
        const auto is_behind = [&](const market::RegisteredReader& reader) {
            return reader.next + options_.capacity / 2 < newest;
        };
        for (;;) {
            if (stopped() || std::ranges::none_of(readers(), is_behind)) break;
            pause();
        }
        paces_at_ = newest + options_.capacity / 4;
    }

    bool wait_until_due(std::int64_t receive_utc_ns) {
        if (!first_utc_ns_) first_utc_ns_ = receive_utc_ns;
        if (options_.speed <= 0.0) return true;
        const auto distance = static_cast<double>(receive_utc_ns - *first_utc_ns_) / options_.speed;
        const auto due = start_ns_ + static_cast<std::int64_t>(distance);
        const auto wait_ns = due - clock_.now();
        if (wait_ns > traffic::Transmitter::kLongWait) to_stderr("{}\n", long_wait_text(wait_ns));
        while (clock_.now() < due) {
            if (stopped()) return false;
            clock_.wait_until(due);
            beat();
        }
        return true;
    }

    /// Checks for a new epoch, in which ids belong to other instruments and earlier quotes are void.
    template <class Event>
    void forget_other_epoch(const Event& event) {
        const auto epoch = reader_.current().epoch;
        if (epoch == std::exchange(epoch_, epoch)) return note_channel(event.channel);
        ids_.clear();
        unnamed_.clear();
        for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
            if (!channels_[channel]) continue;
            feed::Clear clear;
            clear.channel = static_cast<std::uint16_t>(channel);
            clear.receive_utc_ns = event.receive_utc_ns;
            clear.receive_ticks = core::ticks();
            writer_.publish(clear);
        }
        note_channel(event.channel);
    }
    void note_channel(std::uint16_t channel) {
        if (channel >= channels_.size()) channels_.resize(channel + std::size_t{1});
        channels_[channel] = true;
    }

    /// Gives the channel the depth that it had when the event was recorded.
    void set_depth(std::uint16_t channel) {
        const auto depth = reader_.depth(channel);
        if (channel >= depths_.size()) depths_.resize(channel + std::size_t{1});
        if (std::exchange(depths_[channel], depth) != depth) static_cast<void>(writer_.set_depth(channel, depth));
    }

    template <class Event>
    [[nodiscard]] feed::InstrumentId id_here(const Event& event) {
        const auto recorded = event.instrument;
        if (recorded >= ids_.size()) ids_.resize(recorded + std::size_t{1}, feed::kNoInstrument);
        if (ids_[recorded] != feed::kNoInstrument) return ids_[recorded];
        const auto* name = reader_.instrument(recorded);
        const auto unnamed = market::Instrument{{}, feed::Symbol{fmt::format("#{}", recorded)}};
        const auto& known = name != nullptr ? *name : unnamed;
        const auto id = instruments_.find_or_add(known.venue, known.symbol);
        // An id beyond the board has no name; the ring refuses and counts it.
        if (id == feed::kNoInstrument) return writer_.max_instruments();
        writer_.name(id, known.venue, known.symbol, known.decimals);
        if (name == nullptr) {
            unnamed_.insert_or_assign(recorded, id);  // the next segment repeats a damaged name
            return id;
        }
        ids_[recorded] = id;
        if (const auto found = unnamed_.extract(recorded)) void_quote(found.mapped(), event);
        return id;
    }

    /// Clears the quote under the number as name: the instrument has a name from this event on.
    template <class Event>
    void void_quote(feed::InstrumentId instrument, const Event& event) {
        feed::Clear clear;
        clear.instrument = instrument;
        clear.channel = event.channel;
        clear.receive_utc_ns = event.receive_utc_ns;
        clear.receive_ticks = core::ticks();
        writer_.publish(clear);
    }

    RingReplayOptions options_;
    const std::atomic<bool>& stop_;
    traffic::JournalExtent extent_;
    journal::JournalReader reader_;
    market::RingWriter writer_;
    feed::InstrumentTable instruments_;
    traffic::MonotonicClock clock_;
    std::vector<feed::InstrumentId> ids_;                       // ids in the ring of recorded instruments
    std::map<feed::InstrumentId, feed::InstrumentId> unnamed_;  // ids of recorded instruments without a known name
    std::vector<bool> channels_;                                // channels that have published
    std::vector<market::ChannelDepth> depths_;                  // by channel
    std::uint64_t epoch_{0};
    std::uint64_t paces_at_;  // ring number at which readers are checked
    std::int64_t start_ns_{0};
    std::int64_t beaten_ns_{0};
    std::optional<std::int64_t> first_utc_ns_;
    std::int64_t newest_utc_ns_{0};
    bool damaged_{false};
    std::uint64_t published_{0};
    std::uint64_t quotes_{0};
    std::uint64_t lost_{0};
};

}  // namespace

int replay_into_ring(const RingReplayOptions& options) {
    RingReplay replay{options};
    replay.run();
    replay.tell();
    return replay.exit_code();
}

}  // namespace millpond::app
