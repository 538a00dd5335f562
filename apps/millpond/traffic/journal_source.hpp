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
        std::uint64_t session{1};             ///< Of the datagrams; greater than that of any earlier run.
        std::int64_t heartbeat_ns{0};         ///< Between heartbeats, in the journal's time; 0: none.
        std::optional<std::int64_t> since{};  ///< Receive time of the first event.
        std::optional<std::int64_t> until{};  ///< After that of the last.
    };
    struct Counts {
        std::uint64_t quotes{0};  ///< Without those that were sent once more.
        std::uint64_t others{0};  ///< Trades and states: not sent.
        std::uint64_t gaps{0};    ///< Of the recorded feed.
        std::uint64_t lost{0};    ///< Events that the journal reports as missing.
        bool damaged{false};      ///< Some of them because the journal is damaged.
    };

    /// path: a journal's folder or one segment. Throws journal::JournalError when there is no journal, and what its
    /// reader throws.
    JournalSource(const std::string& path, const Options& options);

    [[nodiscard]] bool next(Outgoing& out) override;
    [[nodiscard]] double fraction() const override;

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
    /// Segments that were skipped or have a damaged header, with the reason; each is reported once.
    [[nodiscard]] std::vector<std::string> take_faults() { return reader_.take_faults(); }

    // Callbacks of the journal's reader.
    void on(const feed::Quote& quote);
    void on(const feed::Clear& clear);
    void on(const feed::Trade&) { ++counts_.others; }
    void on(const feed::TradeBreak&) { ++counts_.others; }
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
    /// The quotes of the channel, or of all without one, are incomplete.
    void mark_incomplete(std::optional<std::uint16_t> channel);
    [[nodiscard]] bool add_waiting();
    /// Moves quotes of again_ into the datagram while it has room; returns their number.
    [[nodiscard]] std::uint32_t add_again();
    [[nodiscard]] std::span<const std::byte> begin_and_finish();

    Options options_;
    journal::JournalReader reader_;
    feed::QuotesEncoder encoder_;
    std::array<std::byte, feed::quotes_layout::kMaxDatagramBytes> buffer_{};
    std::uint64_t first_record_{0};
    std::uint64_t last_record_{0};
    std::optional<Waiting> waiting_;                              // read, not sent yet
    std::unordered_map<feed::InstrumentId, feed::Quote> newest_;  // of this ring, without void ones
    std::unordered_set<feed::InstrumentId> unnamed_;              // sent with their numbers as names
    std::deque<feed::Quote> again_;                               // which the clear does not void, but receivers forget
    bool clear_{false};                                           // what stands before it
    std::uint64_t skip_{0};
    std::uint64_t epoch_{0};
    std::optional<std::int64_t> first_utc_ns_;
    std::int64_t newest_utc_ns_{0};
    std::int64_t latest_due_ns_{0};
    bool over_{false};
    Counts counts_;
};

/// The number of the first record of a journal, and the number after that of its last. Throws journal::JournalError if
/// there is none.
struct JournalExtent {
    std::uint64_t first{0};
    std::uint64_t behind{0};
};
[[nodiscard]] JournalExtent extent_of_journal(const std::string& path);

}  // namespace millpond::traffic
