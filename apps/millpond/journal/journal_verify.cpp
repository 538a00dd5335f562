#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/journal/journal_commands.hpp"
#include "apps/millpond/traffic/progress.hpp"

namespace millpond::app {
namespace {

/// Counts what a journal holds, and whether its ring numbers go on without a hole.
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
    std::uint64_t holes{0};  ///< Ring numbers that are neither there nor told of as lost.
    std::uint64_t twice{0};  ///< Ring numbers that are there again.
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
    std::uint64_t next_ring_{0};  ///< 0: any number may come.
};

/// Compares headers with what lies behind them and with their neighbours.
class Headers {
public:
    void look_at(const journal::SegmentInfo& info) {
        if (info.state == journal::SegmentState::unreadable) return complain(info.error);
        if (info.state == journal::SegmentState::waiting) return;
        ++segments_;
        const auto path = info.file.path.string();
        if (info.first_record < next_record_) {
            complain(fmt::format("{}: its header begins with record {}, the segment before ends with {}", path,
                                 info.first_record, next_record_ - 1));
        }
        if (segments_ > 1 && info.ring != ring_) {
            complain(fmt::format("{}: its header names ring '{}', the segment before '{}'", path, info.ring, ring_));
        }
        ring_ = info.ring;
        next_record_ = info.next_record;
        if (info.state == journal::SegmentState::ended) compare(path);
    }
    [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }
    [[nodiscard]] std::uint64_t segments() const noexcept { return segments_; }

private:
    void complain(const std::string& what) {
        ++faults_;
        fmt::print(stderr, "{}\n", what);
    }
    void compare(const std::string& path) {
        journal::SegmentReader segment{path};
        journal::RecordView record;
        std::uint64_t last_ring = 0;
        for (;;) {
            const auto outcome = segment.next(record);
            if (outcome == journal::ReadOutcome::damaged) return;  // counted record by record
            if (outcome != journal::ReadOutcome::record) break;
            last_ring = std::max(last_ring, record.ring);
        }
        const auto& header = segment.header();
        const auto next = header.next_record.load(std::memory_order_relaxed);
        if (segment.next_record() != next) {
            complain(fmt::format("{}: its header ends with record {}, there are records to {}", path, next - 1,
                                 segment.next_record() - 1));
        }
        if (const auto said = header.last_ring.load(std::memory_order_relaxed); said != last_ring) {
            complain(
                fmt::format("{}: its header ends with ring number {}, its records with {}", path, said, last_ring));
        }
    }

    std::uint64_t faults_{0};
    std::uint64_t segments_{0};
    std::uint64_t next_record_{0};
    std::string ring_;
};

/// A folder that a journal's writer has had, or a segment.
bool is_journal(const std::string& folder, const std::vector<journal::SegmentInfo>& segments) {
    return !segments.empty() || std::filesystem::exists(std::filesystem::path{folder} / "lock");
}

int verify(const std::string& folder) {
    constexpr std::size_t kRound = 4'096;
    if (!std::filesystem::exists(folder)) throw std::runtime_error("'" + folder + "' does not exist");
    const auto segments = journal::describe_segments(folder);
    if (!is_journal(folder, segments)) {
        fmt::print(stderr, "'{}' is not a journal: it holds no segment\n", folder);
        return kNoJournal;
    }
    Headers headers;
    std::uint64_t last = 0;
    for (const auto& segment : segments) {
        headers.look_at(segment);
        last = std::max(last, segment.next_record);
    }
    // Of files that are all unreadable, none may ever have been a segment.
    if (headers.segments() == 0 && headers.faults() != 0) {
        fmt::print(stderr, "'{}' is not a journal: none of its segments can be read\n", folder);
        return kNoJournal;
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
    fmt::print("lapped by the ring: {}; ring entries missing: {}; twice: {}; damaged records: {}\n", account.lapped,
               account.holes, account.twice, account.damaged);
    if (headers.faults() + account.damaged != 0) {
        fmt::print("not good: damaged\n");
        return kJournalDamaged;
    }
    if (account.removed + account.holes + account.twice != 0) {
        fmt::print("not good: records are missing or there twice\n");
        return kJournalHole;
    }
    fmt::print("good\n");
    return 0;
}

}  // namespace

Command journal_verify_command(Arguments& journal) {
    auto* command = journal.add_subcommand(
        "verify", "Read all of a journal: checksums, headers, and that no record is missing in the middle.");
    command->footer(
        "Exit codes: 0 good, 1 failed, 2 misused, 3 damaged records, headers or segments,\n"
        "4 records missing in the middle or there twice, 5 not a journal.");
    auto folder = std::make_shared<std::string>();
    command->add_option("FOLDER", *folder, "the journal's folder")->required();
    return {command, [folder] { return verify(*folder); }};
}

}  // namespace millpond::app
