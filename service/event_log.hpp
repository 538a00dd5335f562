#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/moment.hpp>
#include <millpond/memory/region.hpp>

#include "service/log_function.hpp"
#include "service/state_file.hpp"

namespace millpond::service {

enum class EventKind : std::uint8_t {
    start,       ///< The daemon has started.
    stop,        ///< The daemon has stopped in order.
    reload,      ///< A reload has changed or refused something.
    gap,         ///< Messages of a feed or a FIX session are missing.
    session,     ///< A feed has a new session, or its session has ended.
    connect,     ///< A connection was made, or clients have connected.
    disconnect,  ///< A connection was lost, or clients have disconnected.
    finding,     ///< A finding has begun or ended.
    latency,     ///< The same for a latency above its bound.
    logon,       ///< A FIX session has logged on.
    logout,      ///< It has logged out.
    resend,      ///< Messages were resent, or could not be.
    reject,      ///< A message was rejected, by either side.
    reset,       ///< The sequence numbers of a FIX session went back.
    admin,       ///< An operator's action.
};
inline constexpr std::array<std::string_view, 15> kEventKinds{"start",   "stop",       "reload",  "gap",     "session",
                                                              "connect", "disconnect", "finding", "latency", "logon",
                                                              "logout",  "resend",     "reject",  "reset",   "admin"};
[[nodiscard]] constexpr std::string_view to_string(EventKind kind) noexcept {
    return kEventKinds[static_cast<std::size_t>(kind)];
}

/// An event to log.
struct Event {
    EventKind kind{EventKind::start};
    Severity severity{Severity::info};
    std::string_view source{};  ///< Part of the daemon: "feed 'a'".
    std::string_view text{};
    std::string_view stage{};  ///< Of a finding.
    bool ended{false};         ///< The finding has ended.
    std::int64_t since{0};     ///< When the finding began, in UTC nanoseconds; 0: unknown.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> range{};  ///< First and last missing sequence number.
    std::uint32_t count{1};                                          ///< Number of events that this one stands for.
    unsigned part{0};  ///< Events of one kind, source and stage become one event only if this is the same.
};

/// A logged event, in the memory of the log. Longer texts are cut at a character.
class EventRecord {
public:
    std::uint64_t number{0};  ///< From 1 on.
    std::int64_t time{0};     ///< UTC nanoseconds.
    std::int64_t since{0};
    std::uint64_t first{0};
    std::uint64_t last{0};
    std::uint32_t count{0};
    EventKind kind{EventKind::start};
    Severity severity{Severity::info};
    bool ended{false};
    bool has_range{false};

    [[nodiscard]] std::string_view source() const noexcept { return {source_.data(), source_bytes_}; }
    [[nodiscard]] std::string_view stage() const noexcept { return {stage_.data(), stage_bytes_}; }
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), text_bytes_}; }

    void set(const Event& event, std::int64_t utc_ns) noexcept;
    void set_text(std::string_view text) noexcept;

private:
    std::uint8_t source_bytes_{0};
    std::uint8_t stage_bytes_{0};
    std::uint8_t text_bytes_{0};
    std::array<char, 64> source_{};
    std::array<char, 24> stage_{};
    std::array<char, 181> text_{};
};

/// Selects events; a part without a value selects all.
struct EventFilter {
    std::vector<EventKind> kinds{};
    std::optional<std::string_view> source{};
    std::optional<std::int64_t> from{};    ///< Earliest time, in UTC nanoseconds.
    std::optional<std::int64_t> to{};      ///< Time before which events are.
    std::optional<std::uint64_t> after{};  ///< Only events with a greater number, and the first `limit` of them.
    std::size_t limit{1'000};              ///< Without `after` the last `limit` events.
};

/// The last events of a daemon: 2,500 starts, stops and reloads, and 7,500 others. A source that repeats an event
/// cannot replace the others: after the first, its events are counted for a second and become one; while they continue,
/// for 10 seconds, and then for a minute.
///
/// Threads: any.
/// Memory:  320 bytes for each event, mapped once in the constructor, and 400 KiB; `add` and `flush` allocate nothing.
class EventLog {
public:
    static constexpr std::size_t kCapacity = 10'000;
    /// Places for starts, stops and reloads only.
    static constexpr std::size_t kReserved = 2'500;

    /// Throws memory::RegionError.
    EventLog();

    void add(const Event& event, core::Moment now) noexcept;
    /// Logs the events that were counted for long enough. Call it about once a second.
    void flush(core::Moment now) noexcept;
    /// Logs all events that were counted; at the end.
    void flush_all(core::Moment now) noexcept;

    /// Events in the order of their numbers. Those of one source are also in the order of their times.
    [[nodiscard]] std::vector<EventRecord> select(const EventFilter& filter) const;
    struct Numbers {
        std::uint64_t oldest{0};
        std::uint64_t newest{0};  ///< 0: there is no event.
    };
    [[nodiscard]] Numbers numbers() const;
    [[nodiscard]] std::optional<EventRecord> newest() const;
    /// Distinguishes this log from others: another id has other numbers. Restored with the events.
    [[nodiscard]] std::uint64_t id() const;

    static constexpr StateFileKind kFile{.name = "events", .version = 1};
    void save(StateFileWriter& to) const;
    /// Restores events; call it before `add`. If the last one is no stop, later numbers may have been lost, and new
    /// events get numbers that were not used. Throws std::runtime_error, with nothing restored, for blocks that save()
    /// did not write.
    void restore(const StateFile& file);

    /// Size of the mapped memory.
    [[nodiscard]] std::size_t bytes() const noexcept { return memory_.size(); }

private:
    /// A ring of events in the order of their numbers.
    struct Ring {
        EventRecord* first;
        std::size_t capacity;
        std::uint64_t added{0};

        [[nodiscard]] bool is_empty() const noexcept { return added == 0; }
        [[nodiscard]] std::uint64_t begin() const noexcept { return added < capacity ? 0 : added - capacity; }
        [[nodiscard]] EventRecord& at(std::uint64_t index) const noexcept { return first[index % capacity]; }
    };
    /// Events of a kind, source, stage and part that were counted since the last one that was logged.
    struct Pending {
        EventRecord record;  // the newest, with the sums of all that wait
        unsigned part{0};
        bool has_lost_range{false};  // those that wait are of several sessions
        unsigned level{0};           // of kIntervalsNs
        std::uint32_t waiting{0};    // events since the last one that was logged
        std::uint64_t order{0};      // of the newest among all events
        std::int64_t first_ns{0};    // the first that waits
        std::int64_t newest_ns{0};
        std::int64_t logged_ns{0};  // when the last one was logged; 0: the entry is free
    };
    static constexpr std::size_t kMaxPending = 1'024;

    [[nodiscard]] static bool is_due(const Pending& pending, core::Moment now) noexcept;
    [[nodiscard]] static bool is_reserved(EventKind kind) noexcept;
    [[nodiscard]] const EventRecord* last() const noexcept;
    void append(const EventRecord& record) noexcept;
    [[nodiscard]] Pending& pending_of(const EventRecord& record, unsigned part) noexcept;
    void wait(Pending& pending, const EventRecord& record, core::Moment now) noexcept;
    void log(Pending& pending, core::Moment now) noexcept;
    /// Logs what waits in the order of its times. Empty: of all sources.
    void log_waiting(std::string_view source, core::Moment now) noexcept;

    mutable std::mutex mutex_;
    memory::Region memory_;
    Ring reserved_;
    Ring others_;
    std::vector<Pending> pending_ = std::vector<Pending>(kMaxPending + 1);  // the last one is of all that have none
    std::uint64_t id_;
    std::uint64_t next_{1};
    std::uint64_t arrived_{0};
};

}  // namespace millpond::service
