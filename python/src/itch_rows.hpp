#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_book_builder.hpp>

#include "collector.hpp"
#include "itch_messages.hpp"
#include "itch_table.hpp"
#include "state_lock.hpp"

namespace millpond::python {

/// Makes rows of the ITCH messages of a file: of the messages of one type, or of changes of orders (itch_table).
///
/// Order rows by message; `last` is set in the flags of the last row of a message:
/// ```
/// A F  A add                         E C  T trade (not when it is not printable), F fill, C cancel
/// X D  C cancel                      U    C cancel, A add
/// P Q  T trade, without a side       start of messages, new session: R clear, of every instrument
/// ```
///
/// Threads: one at a time reads; others may use the state while they hold state_lock().
/// Memory:  that of ItchMessages, and for orders an InstrumentTable and an ItchBookBuilder per channel, which grows
///          with the live orders.
class ItchRows final : public Instruments {
public:
    struct Options {
        Source::Options file{};
        bool capture{false};
        char type{0};              ///< Type of the messages; 0: orders.
        bool nanos{false};         ///< True: prices of orders are integers.
        std::int64_t shift_ns{0};  ///< Added to exchange times.
    };
    static constexpr std::uint16_t kIncomplete = 1;
    static constexpr std::uint16_t kLast = 128;

    explicit ItchRows(const Options& options);

    /// Returns rows one after the other, until there are about max_rows or the file ends. pause: called now and then;
    /// may throw.
    template <class Pause>
    std::vector<std::byte> read(std::size_t max_rows, Pause&& pause) {
        constexpr std::size_t kPauseEvery = 8;  // steps
        const auto max_bytes = max_rows * table_->row_bytes;
        for (std::size_t steps = 1; !ended_ && rows_.size() < max_bytes; ++steps) {
            read_some(max_bytes);
            if (steps % kPauseEvery == 0) pause();
        }
        return std::exchange(rows_, {});
    }

    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] const Table& table() const noexcept { return *table_; }
    [[nodiscard]] bool is_nanos() const noexcept { return options_.nanos; }
    [[nodiscard]] const ItchMessages& messages() const noexcept { return messages_; }
    [[nodiscard]] Source::Counts counts() const;
    [[nodiscard]] std::uint64_t outside() const noexcept { return outside_; }
    [[nodiscard]] std::size_t instruments() const noexcept override { return names_.size(); }
    [[nodiscard]] market::Instrument instrument(feed::InstrumentId id) const noexcept override {
        return {feed::Venue{"XNAS"}, feed::Symbol{names_[id]}};
    }
    [[nodiscard]] StateLock& state_lock() noexcept { return state_; }
    /// Whether a thread is reading.
    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return in_use_; }

private:
    struct Channel {
        std::vector<feed::InstrumentId> instruments{};  ///< Indexed by stock locate.
        std::unique_ptr<feed::ItchBookBuilder> books{};
        bool incomplete{false};
    };
    class OrderHandler;
    struct Step {
        char action;
        char side;
        std::uint64_t order;
        std::uint64_t shares;
        std::optional<std::uint32_t> price{};
    };

    /// A step: reads some messages, or until there are `max_bytes` bytes of rows.
    void read_some(std::size_t max_bytes);
    void add(const ItchMessage& message);
    [[nodiscard]] feed::InstrumentId instrument_of(Channel& channel, const std::byte* message);
    void take_order_message(Channel& channel, const ItchMessage& message, const MessageHead& head);
    void note(Channel& channel, const ItchMessage& message, feed::ItchFault fault);
    void put(const Channel& channel, const MessageHead& head, const Step& step, bool last);
    [[nodiscard]] bool admits(const MessageHead& head);

    Options options_;
    ItchMessages messages_;
    SymbolFilter filter_;
    const Table* table_;
    std::unique_ptr<feed::InstrumentTable> known_;  // used by the builders
    std::deque<Channel> channels_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, feed::InstrumentId> by_name_;
    std::vector<std::byte> rows_;
    std::uint64_t outside_{0};
    std::uint64_t unknown_{0};
    std::uint64_t inconsistent_{0};
    std::uint64_t refused_{0};
    bool ended_{false};
    StateLock state_;
    std::atomic<bool> in_use_{false};
};

}  // namespace millpond::python
