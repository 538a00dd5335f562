#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/journal/journal_folder.hpp"
#include "apps/millpond/traffic/progress.hpp"

namespace millpond::app {
namespace {

/// Counts the contents of a journal, and checks its ring numbers for gaps.
class Account {
public:
    explicit Account(const journal::JournalReader& reader) : reader_(reader) {}

    void on(const feed::Quote&) { take(quotes); }
    void on(const feed::Trade&) { take(trades); }
    void on(const feed::TradeBreak&) { take(trade_breaks); }
    void on(const feed::Status&) { take(statuses); }
    void on(const feed::Gap&) { take(gaps); }
    void on(const feed::Clear&) { take(clears); }
    void on(const journal::LostRecord& lost) {
        switch (lost.reason) {
            case journal::LostReason::lapped:
                follow(lost.first, lost.last);
                lapped += lost.count();
                return;
            case journal::LostReason::removed: removed += lost.count(); break;
            case journal::LostReason::damaged: damaged += lost.count(); break;
        }
        next_ring_ = 0;  // what follows cannot be known
    }

    std::uint64_t quotes{0};
    std::uint64_t trades{0};
    std::uint64_t trade_breaks{0};
    std::uint64_t statuses{0};
    std::uint64_t gaps{0};
    std::uint64_t clears{0};
    std::uint64_t lapped{0};
    std::uint64_t removed{0};
    std::uint64_t damaged{0};
    std::uint64_t holes{0};  ///< Missing ring numbers that are not reported as lost.
    std::uint64_t twice{0};  ///< Repeated ring numbers.
    std::uint64_t epochs{0};

private:
    void take(std::uint64_t& kind) {
        ++kind;
        follow(reader_.current().ring, reader_.current().ring);
    }
    void follow(std::uint64_t first, std::uint64_t last) {
        if (reader_.current().epoch != epoch_) {
            epoch_ = reader_.current().epoch;
            next_ring_ = 0;
            ++epochs;
        }
        if (next_ring_ != 0) {
            if (first > next_ring_) holes += first - next_ring_;
            if (first < next_ring_) twice += next_ring_ - first;
        }
        next_ring_ = last + 1;
    }

    const journal::JournalReader& reader_;
    std::uint64_t epoch_{0};
    std::uint64_t next_ring_{0};  ///< 0: any number may follow.
};

/// Compares headers and indexes with the records and with their neighbours.
class Headers {
public:
    void look_at(const journal::SegmentInfo& info) {
        if (!info.error.empty()) complain(info.error);
        if (info.state == journal::SegmentState::unreadable || info.state == journal::SegmentState::waiting) return;
        const auto path = info.file.path.string();
        if (info.first_record < next_record_) {
            complain(fmt::format("{}: its header starts at record {}, but the previous segment ends with {}", path,
                                 info.first_record, next_record_ - 1));
        }
        if (next_record_ != 0 && info.ring != ring_) {
            complain(fmt::format("{}: its header names ring '{}', but that of the previous segment '{}'", path,
                                 info.ring, ring_));
        }
        ring_ = info.ring;
        next_record_ = info.next_record;
        compare(path);
    }
    [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }

private:
    void complain(const std::string& what) {
        ++faults_;
        to_stderr("{}\n", what);
    }
    void compare(const std::string& path) {
        journal::SegmentReader segment{path};
        journal::RecordView record;
        journal::IndexedPlace newest;  // the index's entry for the next record
        std::uint64_t last_name = 0;
        std::uint64_t wrong_places = 0;
        std::size_t blocks = 0;  // those below have been checked
        bool exact = true;       // no earlier record is damaged, so the header and the index can be checked
        for (;;) {
            const auto outcome = segment.next(record);
            exact = exact && outcome != journal::ReadOutcome::damaged;
            if (outcome == journal::ReadOutcome::damaged) continue;
            if (outcome != journal::ReadOutcome::record) break;
            if (const auto block = record.offset / journal::kIndexBlockBytes; block >= blocks) {
                blocks = block + 1;
                newest.offset = record.offset;
                newest.record = record.record;
                const auto place = segment.place(block);
                const bool checked = segment.identity().layout_version >= journal::kFirstIndexChecksums;
                if (exact ? place != newest : checked && !place) ++wrong_places;
            }
            newest.ring = std::max(newest.ring, record.ring);
            newest.newest_utc_ns = std::max(newest.newest_utc_ns, journal::receive_time(record).value_or(0));
            if (record.kind == journal::RecordKind::name) last_name = record.offset;
        }
        if (wrong_places != 0) complain(fmt::format("{}: {} entries of its index are damaged", path, wrong_places));
        const auto said_name = segment.last_name();
        if (!said_name || (exact && segment.ended() && *said_name != last_name)) {
            complain(fmt::format("{}: the offset of the newest name in its header is damaged", path));
        }
        if (!segment.ended() || !exact) return;
        const auto& tail = *segment.tail();
        if (segment.next_record() != tail.next_record) {
            complain(fmt::format("{}: its header ends with record {}, but there are records up to {}", path,
                                 tail.next_record - 1, segment.next_record() - 1));
        }
        if (tail.last_ring != newest.ring) {
            complain(fmt::format("{}: its header ends with ring number {}, its records with {}", path, tail.last_ring,
                                 newest.ring));
        }
        // Earlier versions ended a segment of a dead writer with the time in its index.
        const bool has_newest = segment.identity().layout_version >= journal::kFirstIndexChecksums;
        if (has_newest && tail.newest_utc_ns != newest.newest_utc_ns) {
            complain(fmt::format("{}: its header ends at receive time {}, its records at {}", path, tail.newest_utc_ns,
                                 newest.newest_utc_ns));
        }
    }

    std::uint64_t faults_{0};
    std::uint64_t next_record_{0};
    std::string ring_;
};

int verify(const std::string& folder) {
    constexpr std::size_t kRound = 4'096;
    const auto started = journal::newest_started(folder);  // first: a writer may start more
    const auto segments = segments_of(folder);
    Headers headers;
    std::uint64_t last = 0;
    std::uint64_t newest = 0;  // ordinal
    for (const auto& segment : segments) {
        headers.look_at(segment);
        last = std::max(last, segment.next_record);
        if (segment.state != journal::SegmentState::waiting) newest = segment.file.ordinal;
    }
    journal::JournalReader reader{folder};
    Account account{reader};
    {
        Progress progress{"verify", "records", last == 0 ? 0 : last - 1};
        while (reader.poll(account, kRound) != 0) progress.at(reader.next_record() - 1);
    }
    fmt::print("quotes {}, trades {}, trade breaks {}, statuses {}, gaps {}, clears {} of {} ring epochs\n",
               account.quotes, account.trades, account.trade_breaks, account.statuses, account.gaps, account.clears,
               account.epochs);
    fmt::print("damaged headers and segments {}; records missing between segments {}\n", headers.faults(),
               account.removed);
    fmt::print("lapped by the ring: {}; ring entries missing: {}; duplicated: {}; damaged records: {}\n",
               account.lapped, account.holes, account.twice, account.damaged);
    if (headers.faults() + account.damaged != 0) {
        fmt::print("not good: damaged\n");
        return kJournalDamaged;
    }
    if (started > newest) {
        fmt::print("not good: the newest segments are missing: {} were started, the last one here is {}\n", started,
                   newest);
        return kJournalHole;
    }
    if (account.removed + account.holes + account.twice != 0) {
        fmt::print("not good: records are missing or duplicated\n");
        return kJournalHole;
    }
    fmt::print("good\n");
    return 0;
}

}  // namespace

Command journal_verify_command(Arguments& journal) {
    auto* command = journal.add_subcommand(
        "verify", "Verify a journal: checksums, headers, indexes, and that no record is missing.");
    command->footer(
        "Exit codes: 0 good, 1 failed, 2 usage error, 3 damaged records, headers,\n"
        "indexes or segments, 4 records missing in the middle or at the end, or duplicated,\n"
        "5 not a journal.\n"
        "An empty segment behind all that were in use is good: the gateway has allocated it.");
    auto folder = std::make_shared<std::string>();
    command->add_option("FOLDER", *folder, "the journal's folder")->required();
    return {command, [folder] { return verify(*folder); }};
}

}  // namespace millpond::app
