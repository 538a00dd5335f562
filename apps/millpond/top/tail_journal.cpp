#include "apps/millpond/top/tail_journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/core/idle.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/catch_up_reader.hpp>
#include <millpond/journal/channel_depth.hpp>
#include <millpond/journal/saved_position.hpp>
#include <millpond/journal/segment_reader.hpp>
#include <millpond/market/board_layout.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/command_line/utc_text.hpp"
#include "apps/millpond/top/event_printer.hpp"
#include "service/stop_signal.hpp"

namespace millpond::app {
namespace {

/// Reads a journal, then its ring, and prints the selected events.
class JournalTail final : public EventPrinter {
public:
    JournalTail(const TailOptions& options, const journal::StartAt& from)
        : JournalTail(options,
                      std::make_unique<journal::CatchUpReader>(journal::CatchUpOptions{.folder = options.journal,
                                                                                       .ring = options.ring,
                                                                                       .visible_as = "tail",
                                                                                       .books = options.depth != 0},
                                                               from)) {}

    using EventPrinter::on;
    void on(const journal::NewEpoch& change) {
        forget();
        to_stderr("millpond: tail: the ring was replaced; the last entry read of the old one is {}\n",
                  change.last_of_before);
    }
    std::size_t poll() {
        const auto polled = reader_->poll(*this, round());
        for (const auto& fault : reader_->journal().drain_faults()) to_stderr("{}\n", fault);
        return polled;
    }
    [[nodiscard]] std::optional<journal::SavedPosition> position() const noexcept { return reader_->position(); }
    [[nodiscard]] bool is_live() const noexcept { return reader_->is_live(); }
    /// Account of the events; those that are not printed count as filtered.
    [[nodiscard]] journal::CatchUpAccount account() const noexcept {
        auto result = reader_->account();
        result.delivered -= unprinted_;
        result.filtered += unprinted_;
        return result;
    }

private:
    JournalTail(const TailOptions& options, std::unique_ptr<journal::CatchUpReader> reader)
        : EventPrinter(options, market::kMaxInstruments,
                       [from = reader.get()](std::uint16_t channel) { return from->depth(channel); }),
          reader_(std::move(reader)) {}

    [[nodiscard]] std::uint64_t number() const override { return reader_->current(); }
    [[nodiscard]] const market::Instrument* instrument(feed::InstrumentId id) override {
        return reader_->instrument(id);
    }
    [[nodiscard]] bool in_snapshot() const override { return reader_->in_snapshot(); }
    void note(bool is_printed, bool is_of_book) override {
        if (!is_printed && !is_of_book) ++unprinted_;
    }

    std::unique_ptr<journal::CatchUpReader> reader_;
    std::uint64_t unprinted_{0};
};

/// Parses record:N or a time.
journal::StartAt parse_from(const std::string& text) {
    constexpr std::string_view kRecord = "record:";
    if (text.empty()) return journal::AtRecord{};
    if (const auto time = utc_of(text)) return journal::AtTime{*time};
    std::uint64_t record = 0;
    const auto* const end = text.data() + text.size();
    if (text.starts_with(kRecord)) {
        const auto [rest, error] = std::from_chars(text.data() + kRecord.size(), end, record);
        if (error == std::errc{} && rest == end && record != 0) return journal::AtRecord{record};
    }
    throw UsageError(fmt::format("--from: '{}' is neither a time in UTC like 2026-11-20T14:30:00 nor record:N", text));
}

/// Throws if the folder is no journal, or if the position would replace one of its files.
void check_paths(const std::filesystem::path& folder, const std::filesystem::path& position) {
    if (journal::list_segments(folder).empty() && !std::filesystem::exists(folder / journal::kLockName))
        throw std::runtime_error(fmt::format("'{}' is not a journal: it holds no segment", folder.string()));
    const auto name = position.filename().string();
    std::error_code unknown;
    const auto parent = position.has_parent_path() ? position.parent_path() : std::filesystem::path{"."};
    const bool is_inside = std::filesystem::equivalent(parent, folder, unknown);
    if (is_inside && (name == journal::kLockName || name.find(".mpj") != std::string::npos))
        throw UsageError(fmt::format("--position: '{}' is a file of the journal", position.string()));
}

/// Throws std::runtime_error if no feed of the journal has sent `depth` levels.
void check_journal_depth(const TailOptions& options) {
    const auto segments = journal::list_segments(options.journal);
    const auto is_started = [](const auto& file) { return journal::SegmentReader::is_started(file.path); };
    if (std::ranges::none_of(segments, is_started)) return;  // a new journal: its feeds are not known
    std::uint32_t most = 0;
    for (const auto& recorded : journal::recorded_depths(options.journal)) most = std::max(most, recorded.depth);
    check_depth(options.depth, most, fmt::format("journal '{}'", options.journal));
}

/// Saves the position after the last printed event: at most once a second, since a save waits for the disk while the
/// ring goes on, and at the end.
class PositionFile {
public:
    explicit PositionFile(std::filesystem::path path) : path_(std::move(path)) {}

    void on_printed(const std::optional<journal::SavedPosition>& position) {
        constexpr std::chrono::seconds kInterval{1};
        printed_ = position;
        if (std::chrono::steady_clock::now() - saved_at_ >= kInterval) save();
    }
    void save() {
        if (path_.empty() || printed_ == saved_) return;
        journal::save_position(path_, *printed_);
        saved_ = printed_;
        saved_at_ = std::chrono::steady_clock::now();
    }

private:
    std::filesystem::path path_;  // empty: none is saved
    std::optional<journal::SavedPosition> printed_;
    std::optional<journal::SavedPosition> saved_;
    std::chrono::steady_clock::time_point saved_at_{};
};

}  // namespace

int tail_journal(const TailOptions& options) {
    const auto& stop = service::stop_on_signal();
    auto from = parse_from(options.from);
    check_paths(options.journal, options.position);
    if (!options.position.empty()) {
        if (const auto saved = journal::load_position(options.position)) from = *saved;
    }
    if (options.depth != 0) check_journal_depth(options);
    JournalTail tail{options, from};
    if (!put_out(tail.printer().head())) return 0;
    PositionFile position{options.position};
    bool has_named_absent = false;
    const auto name_absent_symbols = [&] {
        if (!std::exchange(has_named_absent, true))
            tail.name_absent_symbols(fmt::format("in journal '{}'", options.journal));
    };
    core::Idle idle{core::Poll::block, {.max_wait = std::chrono::milliseconds{5}}};
    std::string_view why = "ended";
    while (!stop.load(std::memory_order_relaxed)) {
        const auto polled = tail.poll();
        if (!tail.flush()) {
            position.save();
            return 0;
        }
        position.on_printed(tail.position());
        if (tail.done()) {
            why = "the requested number of events";
            break;
        }
        if (polled != 0) {
            idle.worked();
        } else {
            name_absent_symbols();
            idle.rest();
        }
    }
    position.save();
    name_absent_symbols();
    const auto account = tail.account();
    to_stderr("millpond: tail: {}; {}; published {} = delivered {} + filtered {} + missed {} + queued {}\n", why,
              tail.is_live() ? "live" : "in the journal", account.published, account.delivered, account.filtered,
              account.missed, account.queued);
    return 0;
}

}  // namespace millpond::app
