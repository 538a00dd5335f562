#pragma once

#include <array>
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

#include <millpond/feed/order_store.hpp>

#include "collector.hpp"
#include "itch_messages.hpp"

namespace millpond::python {

/// In front of the bytes of each message.
struct MessageHead {
    std::int64_t ts_recv, ts_event;
    std::uint64_t number;
    std::uint32_t instrument;
    std::uint16_t channel, reserved;
};

/// One step of an order's life, as in Databento's market by order.
struct OrderRow {
    std::int64_t ts_recv, ts_event;
    std::uint64_t number, order_id;
    PriceBits price;
    std::uint64_t size;
    std::uint32_t instrument;
    std::uint16_t channel, flags;
    char action, side;
    std::array<char, 6> reserved;
};

/// Rows out of the ITCH messages of a file: the messages of one type as they are, or what happens to orders.
///
/// A message becomes order rows like this; `last` is set in the flags of its last one:
/// ```
/// A F  A add                         E C  T trade (not when it is not printable), F fill, C cancel
/// X D  C cancel                      U    C cancel, A add
/// P Q  T trade, without a side       start of messages, new session: R clear, of every instrument
/// ```
///
/// Threads: one at a time.
/// Memory:  that of ItchMessages, and for orders 48 to 192 bytes per order that is there at once, of each channel.
class ItchRows {
public:
    struct Options {
        Source::Options file{};
        bool capture{false};
        char type{0};              ///< Of the messages; 0: orders.
        bool mantissa{false};      ///< Prices of orders as integers.
        std::int64_t shift_ns{0};  ///< Added to exchange times.
    };
    static constexpr std::uint16_t kIncomplete = 1;
    static constexpr std::uint16_t kLast = 128;

    explicit ItchRows(const Options& options);

    /// Rows one behind the other, until there are about max_rows or the file ends. Calls pause() now and then, which
    /// may throw.
    template <class Pause>
    std::vector<std::byte> read(std::size_t max_rows, Pause&& pause) {
        constexpr std::size_t kPauseEvery = std::size_t{1} << 16U;
        ItchMessage message;
        for (std::size_t taken = 1; !ended_ && rows_.size() < max_rows * row_bytes_; ++taken) {
            if (!messages_.next(message)) {
                ended_ = true;
                break;
            }
            take(message);
            if (taken % kPauseEvery == 0) pause();
        }
        return std::exchange(rows_, {});
    }

    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
    [[nodiscard]] const ItchMessages& messages() const noexcept { return messages_; }
    [[nodiscard]] Source::Counts counts() const;
    [[nodiscard]] std::uint64_t outside() const noexcept { return outside_; }
    /// Symbol of each instrument.
    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
    [[nodiscard]] std::atomic<bool>& in_use() noexcept { return in_use_; }

private:
    struct Channel {
        std::vector<feed::InstrumentId> instruments{};  ///< By stock locate.
        std::unique_ptr<feed::OrderStore> orders{};
        bool incomplete{false};
    };
    struct Step {
        char action;
        char side;
        std::uint64_t order;
        std::uint64_t shares;
        std::optional<std::uint32_t> price{};
    };

    void take(const ItchMessage& message);
    [[nodiscard]] feed::InstrumentId instrument_of(Channel& channel, const std::byte* message);
    void take_order_message(Channel& channel, const ItchMessage& message, MessageHead& head);
    void take_from_order(Channel& channel, const ItchMessage& message, MessageHead& head);
    void add_order(Channel& channel, const ItchMessage& message, const MessageHead& head);
    /// What `message` leaves of an order: puts it where later messages find it. False if the message cannot mean that.
    [[nodiscard]] bool keep(Channel& channel, const ItchMessage& message, const feed::OrderStore::Order& order);
    void note(Channel& channel, const ItchMessage& message, feed::ItchFault fault);
    void put(const Channel& channel, const MessageHead& head, const Step& step, bool last);
    [[nodiscard]] bool admits(const MessageHead& head);

    Options options_;
    ItchMessages messages_;
    SymbolFilter filter_;
    std::size_t row_bytes_;
    std::deque<Channel> channels_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, feed::InstrumentId> by_name_;
    std::vector<std::byte> rows_;
    std::uint64_t outside_{0};
    std::uint64_t unknown_{0};
    std::uint64_t inconsistent_{0};
    std::uint64_t refused_{0};
    bool ended_{false};
    std::atomic<bool> in_use_{false};
};

}  // namespace millpond::python
