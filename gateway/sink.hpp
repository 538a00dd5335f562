#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include <millpond/core/tally.hpp>
#include <millpond/feed/event.hpp>

/// What a sink and the gateway know of each other. A sink is run by one SinkThread (sink_thread.hpp), which reads the
/// ring for it and keeps its account.
namespace millpond::gateway {

/// What a sink does with events that it cannot pass on at once.
enum class Delivery : std::uint8_t {
    every,     ///< Pass on every event; what falls out of the buffer is counted as missed.
    conflate,  ///< Pass on the newest quote of each instrument; older ones are counted as conflated.
};

/// What became of the events published since a consumer joined, in events:
/// published = delivered + filtered + conflated + missed + queued.
struct Account {
    std::uint64_t published{0};
    std::uint64_t delivered{0};  ///< Handed to the file, the socket or the client.
    std::uint64_t filtered{0};   ///< Of a kind or an instrument that the consumer does not take.
    std::uint64_t conflated{0};  ///< Replaced by a newer quote of the same instrument before it went out.
    std::uint64_t missed{0};     ///< Overwritten before the consumer came to them.
    std::uint64_t queued{0};     ///< In the ring, or held by the consumer.
    std::uint64_t snapshot{0};   ///< Quotes of the board that were passed on at joining: not part of the sum.

    [[nodiscard]] constexpr bool closes() const noexcept {
        return published == delivered + filtered + conflated + missed + queued;
    }
    friend constexpr bool operator==(const Account&, const Account&) noexcept = default;
};

/// An Account that one thread writes as a whole and any thread reads as a whole.
///
/// Threads: write on the owner's thread, read on any; a read repeats while a write is going on.
/// Source:  the sequence lock of Boehm, "Can seqlocks get along with programming language memory models?", 2012, with
///          atomic words in place of fences.
class SharedAccount {
public:
    void write(const Account& account) noexcept;
    [[nodiscard]] Account read() const noexcept;

private:
    std::atomic<std::uint64_t> version_{0};  // odd while a write is going on
    std::array<std::atomic<std::uint64_t>, sizeof(Account) / sizeof(std::uint64_t)> words_{};
};

enum class Severity : std::uint8_t { debug, info, warning, error };

/// How a sink tells the operator something; the log lets one message a second and cause through.
using Say = std::function<void(Severity severity, std::string_view cause, const std::string& text)>;

using MetricVisitor = std::function<void(std::string_view name, std::string_view help, const core::Tally& tally)>;

/// What a sink did with an event.
enum class Taken : std::uint8_t {
    kept,      ///< It goes out; until it has, it is part of held().
    filtered,  ///< The sink does not take such events.
};

/// One consumer behind the ring: encodes events and passes them on, at its own pace.
///
/// Threads: all functions on the sink's own thread.
class Sink {
public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;

    /// Events that it can take at the moment. While there is no room they stay in the ring or are conflated, as mode()
    /// says.
    [[nodiscard]] virtual std::size_t room() const noexcept = 0;
    [[nodiscard]] virtual Delivery mode() const noexcept = 0;

    /// An instrument's name; comes before its first event, in the order of the ids.
    virtual void name(feed::InstrumentId id, const feed::Venue& venue, const feed::Symbol& symbol) = 0;
    /// The standing quote of an instrument when the sink joined; comes before all events. number: of its ring entry.
    virtual void board(const feed::Quote& quote, std::uint64_t number) = 0;

    /// An event with the number of its ring entry. Events other than quotes may come when there is no room.
    virtual Taken on(const feed::Quote& quote, std::uint64_t number) = 0;
    virtual Taken on(const feed::Trade& trade, std::uint64_t number) = 0;
    virtual Taken on(const feed::Status& status, std::uint64_t number) = 0;
    virtual Taken on(const feed::Gap& gap, std::uint64_t number) = 0;
    virtual Taken on(const feed::Clear& clear, std::uint64_t number) = 0;
    /// Entries first..last of the ring were overwritten before they were read.
    virtual void missed(std::uint64_t first, std::uint64_t last) = 0;

    /// Passes on what it holds, as far as that goes without blocking; called at least once a round.
    virtual void step(std::int64_t monotonic_ns) = 0;
    /// Sleeps until there is something to do besides the ring, for at most `longest`.
    virtual void wait(std::chrono::nanoseconds longest) { std::this_thread::sleep_for(longest); }
    /// Nothing comes any more: passes on what it holds and closes. What cannot go out stays part of held().
    virtual void finish() = 0;

    /// Events kept that have not gone out yet.
    [[nodiscard]] virtual std::uint64_t held() const noexcept = 0;
    /// What it is, as its metrics are called: "tcp".
    [[nodiscard]] virtual std::string_view type() const noexcept = 0;
    /// Calls visit(name, help, tally) for each metric of its own; counters end in _total. On any thread.
    virtual void visit_metrics(const MetricVisitor& visit) const = 0;
};

inline void SharedAccount::write(const Account& account) noexcept {
    const std::array<std::uint64_t, 7> values{account.published, account.delivered, account.filtered, account.conflated,
                                              account.missed,    account.queued,    account.snapshot};
    const auto version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    // Each word's release makes the odd version visible to whoever sees the word: sync "write begun", in read.
    for (std::size_t i = 0; i < values.size(); ++i) words_[i].store(values[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);  // sync "write done": the first load in read
}

inline Account SharedAccount::read() const noexcept {
    for (;;) {
        const auto before = version_.load(std::memory_order_acquire);  // sync "write done": the last store in write
        std::array<std::uint64_t, 7> values;
        // sync "write begun": the stores of the words in write
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = words_[i].load(std::memory_order_acquire);
        if ((before & 1U) == 0 && version_.load(std::memory_order_relaxed) == before) {
            return {values[0], values[1], values[2], values[3], values[4], values[5], values[6]};
        }
    }
}

}  // namespace millpond::gateway
