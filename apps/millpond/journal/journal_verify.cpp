#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/checkpoint.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/progress.hpp"
#include "apps/millpond/command_line/to_stderr.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/journal/journal_folder.hpp"

namespace millpond::app {
namespace {

/// Counts the contents of a journal, and checks its ring numbers for gaps.
class Account {
public:
    explicit Account(const journal::JournalReader& reader) : reader_(reader) {}

    void on(const feed::Quote&) { count(quotes); }
    void on(const feed::Trade&) { count(trades); }
    void on(const feed::TradeBreak&) { count(trade_breaks); }
    void on(const feed::Order&) { count(orders); }
    void on(const feed::Level&) { count(levels); }
    void on(const feed::Imbalance&) { count(imbalances); }
    void on(const feed::Band&) { count(bands); }
    void on(const feed::Definition&) { count(definitions); }
    void on(const feed::BestVenues&) { count(best_venues); }
    void on(const feed::Status&) { count(statuses); }
    void on(const feed::Gap&) { count(gaps); }
    void on(const feed::Clear&) { count(clears); }
    void on(const journal::LostRecord& lost) {
        switch (lost.reason) {
            case journal::LostReason::lapped:
                follow(lost.first, lost.last);
                lapped += lost.count();
                return;
            case journal::LostReason::removed: removed += lost.count(); break;
            case journal::LostReason::damaged: damaged += lost.count(); break;
        }
        next_ring_ = 0;  // the next number is unknown
    }

    std::uint64_t quotes{0};
    std::uint64_t trades{0};
    std::uint64_t trade_breaks{0};
    std::uint64_t orders{0};
    std::uint64_t levels{0};
    std::uint64_t imbalances{0};
    std::uint64_t bands{0};
    std::uint64_t definitions{0};
    std::uint64_t best_venues{0};
    std::uint64_t statuses{0};
    std::uint64_t gaps{0};
    std::uint64_t clears{0};
    std::uint64_t lapped{0};
    std::uint64_t removed{0};
    std::uint64_t damaged{0};
    std::uint64_t missing{0};  ///< Missing ring numbers that are not reported as lost.
    std::uint64_t twice{0};    ///< Repeated ring numbers.
    std::uint64_t epochs{0};

private:
    void count(std::uint64_t& kind) {
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
            if (first > next_ring_) missing += first - next_ring_;
            if (first < next_ring_) twice += next_ring_ - first;
        }
        next_ring_ = last + 1;
    }

    const journal::JournalReader& reader_;
    std::uint64_t epoch_{0};
    std::uint64_t next_ring_{0};  ///< Expected ring number; 0: any.
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
        const auto counts = journal::count_checkpoints(path);
        checkpoints_.complete += counts.complete;
        checkpoints_.torn += counts.torn;
    }
    [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }
    [[nodiscard]] const journal::CheckpointCounts& checkpoints() const noexcept { return checkpoints_; }

private:
    void complain(const std::string& what) {
        ++faults_;
        to_stderr("{}\n", what);
    }
    void compare(const std::string& path) {
        journal::SegmentReader segment{path};
        journal::RecordView record;
        journal::IndexedPlace newest;  // index entry of the next record
        std::uint64_t last_description = 0;
        std::uint64_t last_checkpoint = 0;
        std::int64_t oldest_utc_ns = std::numeric_limits<std::int64_t>::max();
        std::uint64_t wrong_places = 0;
        std::size_t blocks = 0;  // lower blocks have been checked
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
                if (exact ? place != newest : !place) ++wrong_places;
            }
            newest.ring = std::max(newest.ring, record.ring);
            const auto time = journal::receive_time(record).value_or(0);
            newest.newest_utc_ns = std::max(newest.newest_utc_ns, time);
            if (journal::is_description(record.kind)) last_description = record.offset;
            if (record.kind == journal::RecordKind::checkpoint) last_checkpoint = record.offset;
            if (journal::is_of_ring(record.kind)) oldest_utc_ns = std::min(oldest_utc_ns, time);
        }
        if (wrong_places != 0) complain(fmt::format("{}: {} entries of its index are damaged", path, wrong_places));
        const auto said_description = segment.last_description();
        if (!said_description || (exact && segment.ended() && *said_description != last_description)) {
            complain(fmt::format("{}: the offset of the newest name or channel in its header is damaged", path));
        }
        const auto said_checkpoint = segment.last_checkpoint();
        if (!said_checkpoint || (exact && segment.ended() && *said_checkpoint != last_checkpoint))
            complain(fmt::format("{}: the offset of the newest checkpoint in its header is damaged", path));
        if (!segment.needed_checkpoint())
            complain(fmt::format("{}: the number of the checkpoint that it needs in its header is damaged", path));
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
        if (tail.newest_utc_ns != newest.newest_utc_ns) {
            complain(fmt::format("{}: its header ends at receive time {}, its records at {}", path, tail.newest_utc_ns,
                                 newest.newest_utc_ns));
        }
        if (tail.oldest_utc_ns != journal::kTimeUnknown && tail.oldest_utc_ns != oldest_utc_ns) {
            complain(fmt::format("{}: its header begins at receive time {}, its records at {}", path,
                                 tail.oldest_utc_ns, oldest_utc_ns));
        }
    }

    std::uint64_t faults_{0};
    journal::CheckpointCounts checkpoints_;
    std::uint64_t next_record_{0};
    std::string ring_;
};

int verify(const std::string& folder) {
    constexpr std::size_t kRound = 4'096;
    const auto started = journal::newest_started(folder);  // before reading, because a writer may start more
    const auto segments = segments_of(folder);
    Headers headers;
    std::uint64_t last = 0;
    std::uint64_t newest = 0;  // ordinal number of the newest record
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
    fmt::print(
        "quotes {}, trades {}, trade breaks {}, orders {}, levels {}, imbalances {}, bands {}, definitions {}, "
        "best venues {}, statuses {}, gaps {}, clears {} of {} ring epochs\n",
        account.quotes, account.trades, account.trade_breaks, account.orders, account.levels, account.imbalances,
        account.bands, account.definitions, account.best_venues, account.statuses, account.gaps, account.clears,
        account.epochs);
    fmt::print("checkpoints {}; incomplete checkpoints, which readers skip: {}\n", headers.checkpoints().complete,
               headers.checkpoints().torn);
    fmt::print("damaged headers and segments {}; records missing between segments {}\n", headers.faults(),
               account.removed);
    fmt::print("lapped by the ring: {}; ring entries missing: {}; duplicated: {}; damaged records: {}\n",
               account.lapped, account.missing, account.twice, account.damaged);
    if (headers.faults() + account.damaged != 0) {
        fmt::print("not good: damaged\n");
        return kJournalDamaged;
    }
    if (started > newest) {
        fmt::print("not good: the newest segments are missing: {} were started, the last one here is {}\n", started,
                   newest);
        return kJournalGap;
    }
    if (account.removed + account.missing + account.twice != 0) {
        fmt::print("not good: records are missing or duplicated\n");
        return kJournalGap;
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
        "An empty segment after the last used one is good: the gateway has allocated it.");
    auto folder = std::make_shared<std::string>();
    command->add_option("FOLDER", *folder, "the journal's folder")->required();
    return {command, [folder] { return verify(*folder); }};
}

}  // namespace millpond::app
