#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <millpond/feed/quotes_encoder.hpp>
#include <millpond/journal/journal_reader.hpp>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// The quotes of a journal as `quotes` datagrams, with the intervals of their recorded receive times. Quotes of the
/// same time share a datagram. Losses of the journal become skipped sequence numbers, a clear becomes a new generation,
/// after which the newest quotes of other channels are sent once more, and a gap one skipped number; trades and states
/// do not exist in these datagrams and are counted.
///
/// Memory: the newest quote of every instrument.
class JournalSource final : public Source {
public:
    struct Options {
        std::uint64_t session{1};             ///< Session of the datagrams; greater than that of any earlier run.
        std::int64_t heartbeat_ns{0};         ///< Heartbeat interval in the journal's time; 0: none.
        std::optional<std::int64_t> since{};  ///< Minimum receive time of an event.
        std::optional<std::int64_t> until{};  ///< Receive time at which to stop.
    };
    struct Counts {
        std::uint64_t quotes{0};  ///< Quotes, without repeated ones.
        std::uint64_t others{0};  ///< Trades and states, which are not sent.
        std::uint64_t gaps{0};    ///< Gaps of the recorded feed.
        std::uint64_t lost{0};    ///< Events that the journal reports as missing.
        bool damaged{false};      ///< Whether some are missing because the journal is damaged.
    };

    /// path: a journal's folder or one segment. Throws journal::JournalError if there is no journal, and the
    /// exceptions of its reader.
    JournalSource(const std::string& path, const Options& options);

    [[nodiscard]] bool next(Outgoing& out) override;
    [[nodiscard]] double fraction() const override;

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    /// Segments that were skipped or have a damaged header, with the reason; each is reported once.
    [[nodiscard]] std::vector<std::string> drain_faults() { return reader_.drain_faults(); }

    // Handlers for the journal's reader.
    void on(const feed::Quote& quote);
    void on(const feed::Clear& clear);
    void on(const feed::Trade&) { ++counts_.others; }
    void on(const feed::TradeBreak&) { ++counts_.others; }
    void on(const feed::Order&) { ++counts_.others; }
    void on(const feed::Level&) { ++counts_.others; }
    void on(const feed::Imbalance&) { ++counts_.others; }
    void on(const feed::Band&) { ++counts_.others; }
    void on(const feed::Definition&) { ++counts_.others; }
    void on(const feed::BestVenues&) { ++counts_.others; }
    void on(const feed::Status&) { ++counts_.others; }
    void on(const feed::Gap&);
    void on(const journal::LostRecord& lost);

private:
    struct Waiting {
        feed::Quote quote;
        market::Instrument name;
    };

    [[nodiscard]] bool read();
    /// Receivers forget everything and get the newest quotes again.
    void send_all_again();
    [[nodiscard]] market::Instrument name_of(feed::InstrumentId id);
    /// Marks the quotes of a channel, or of all channels, as incomplete.
    void mark_incomplete(std::optional<std::uint16_t> channel);
    [[nodiscard]] bool add_waiting();
    /// Moves quotes of repeated_ into the datagram until it is full; returns their number.
    [[nodiscard]] std::uint32_t add_again();
    [[nodiscard]] std::span<const std::byte> begin_and_finish();

    Options options_;
    journal::JournalReader reader_;
    feed::QuotesEncoder encoder_;
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer_{};
    std::uint64_t first_record_{0};
    std::uint64_t last_record_{0};
    std::optional<Waiting> waiting_;                              // quote that was read and not sent yet
    std::unordered_map<feed::InstrumentId, feed::Quote> newest_;  // newest quotes of this ring, without void ones
    std::unordered_set<feed::InstrumentId> unnamed_;              // instruments sent with their numbers as names
    std::deque<feed::Quote> repeated_;  // quotes that the clear did not void, but that receivers have dropped
    bool clear_{false};                 // whether a clear precedes it
    std::uint64_t skip_{0};
    std::uint64_t epoch_{0};
    std::optional<std::int64_t> first_utc_ns_;
    std::int64_t newest_utc_ns_{0};
    std::int64_t latest_due_ns_{0};
    bool over_{false};
    Counts counts_;
};

/// Number of a journal's first record, and number after its last one. Throws journal::JournalError if there is no
/// journal.
struct JournalExtent {
    std::uint64_t first{0};
    std::uint64_t end{0};
};
[[nodiscard]] JournalExtent extent_of_journal(const std::string& path);

}  // namespace millpond::traffic
