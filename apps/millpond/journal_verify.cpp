#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>

#include "apps/millpond/command.hpp"
#include "apps/millpond/journal_commands.hpp"
#include "apps/millpond/progress.hpp"

namespace millpond::app {
namespace {

/// Counts what a journal holds, and whether its ring numbers go on without a hole.
class Account {
public:
    explicit Account(const journal::JournalReader& reader) : reader_(reader) {}

    void on(const feed::Quote&) { take(quotes); }
    void on(const feed::Trade&) { take(trades); }
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

int verify(const std::string& folder) {
    constexpr std::size_t kRound = 4'096;
    std::uint64_t last = 0;
    std::uint64_t unreadable = 0;
    for (const auto& segment : journal::describe_segments(folder)) {
        last = std::max(last, segment.next_record);
        if (segment.state != journal::SegmentState::unreadable) continue;
        ++unreadable;
        fmt::print(stderr, "{}\n", segment.error);
    }
    journal::JournalReader reader{folder};
    Account account{reader};
    {
        Progress progress{"verify", "records", last == 0 ? 0 : last - 1};
        while (unreadable == 0 && reader.poll(account, kRound) != 0) progress.at(reader.next_record() - 1);
    }
    fmt::print("quotes {}, trades {}, statuses {}, gaps {}, clears {} of {} ring epochs\n", account.quotes,
               account.trades, account.statuses, account.gaps, account.clears, account.epochs);
    fmt::print("lost and told of: lapped {}, removed {}; not told of: {}; twice: {}; damaged records: {}\n",
               account.lapped, account.removed, account.holes, account.twice, account.damaged);
    const bool good = unreadable + account.holes + account.twice + account.damaged == 0;
    fmt::print("{}\n", good ? "good" : "not good");
    return good ? 0 : 1;
}

}  // namespace

Command journal_verify_command(CLI::App& journal) {
    auto* command = journal.add_subcommand(
        "verify", "Read all of a journal: checksums, and that ring numbers go on. Exit code 1 when they do not.");
    auto folder = std::make_shared<std::string>();
    command->add_option("FOLDER", *folder, "the journal's folder")->required();
    return {command, [folder] { return verify(*folder); }};
}

}  // namespace millpond::app
