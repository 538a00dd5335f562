#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/memory/region.hpp>

#include "service/state_file.hpp"

namespace millpond::service {

/// How the samples of a series make a longer one.
enum class Combine : std::uint8_t { mean, sum, max };

struct SeriesKind {
    std::string_view name;
    Combine combine;
};

/// A kind of sampled parts of a daemon, such as feeds, with the series of each. Has static storage.
struct SourceKind {
    std::string_view name;
    std::string_view parent;  ///< Kind of the source that has it; empty if none.
    std::span<const SeriesKind> series;
};

/// Samples of a daemon's parts: one each second of the last hour, one each minute of the last 24 hours. A sample has
/// the second in which it was made (UTC), so that seconds without one stay missing, also after a restart.
///
/// Threads: any.
/// Memory:  4 bytes for each of 5,041 samples of a series, mapped once in the constructor. Only `add` allocates
/// besides.
class History {
public:
    static constexpr std::int64_t kSeconds = 3'600;
    static constexpr std::int64_t kMinutes = 1'441;  ///< The newest may be in progress.
    static constexpr std::int64_t kMinuteSeconds = 60;

    /// Maximum number of sources of a kind.
    struct Capacity {
        const SourceKind* kind;
        std::size_t sources;
    };
    using Handle = std::size_t;

    /// Throws memory::RegionError.
    explicit History(std::span<const Capacity> capacities);

    /// Adds a source, or continues a removed one with these names. If there is no room, the source that was removed
    /// first is forgotten; nullopt if none was removed. of: name of its parent.
    [[nodiscard]] std::optional<Handle> add(const SourceKind& kind, std::string_view name, std::string_view of = {});
    /// Keeps the samples until `add` needs the room.
    void remove(Handle source);

    /// A sample of all sources, which is complete when this is destroyed. Sources that are not set have no value.
    class Sample {
    public:
        /// second: seconds since 1970. If it has a sample already, because the clock was set back, they become one:
        /// with the sum of counts, the largest of maxima and the mean of rates.
        Sample(History& history, std::int64_t second);
        ~Sample();
        Sample(const Sample&) = delete;
        Sample& operator=(const Sample&) = delete;
        /// values: one of each series; NaN is no value.
        void set(Handle source, std::initializer_list<double> values);

    private:
        History& history_;
        std::lock_guard<std::mutex> lock_;
        std::int64_t second_;
        bool is_more_;  // the second has a sample
    };
    [[nodiscard]] Sample sample(std::int64_t second) { return {*this, second}; }

    /// Newest second with a sample; 0 if there is none.
    [[nodiscard]] std::int64_t newest() const;

    /// Samples `from` + i * `step`, for i < `samples`. step: below 60 or a multiple of 60; from: a multiple of it.
    struct Range {
        std::int64_t from{0};
        std::int64_t step{1};
        std::size_t samples{0};
    };
    struct View {
        const SourceKind* kind{nullptr};
        std::string name{};
        std::string of{};
        std::uint64_t id{0};                       ///< Unique in the history.
        std::vector<std::vector<float>> series{};  ///< NaN where there is no value.
    };
    /// Calls visit for each source that `wants` names, in the order of `add`, removed ones last.
    void visit(const Range& range, const std::function<bool(const View& names)>& wants,
               const std::function<void(const View& view)>& visit) const;

    static constexpr StateFileKind kFile{.name = "samples", .version = 1};
    /// Writes all samples. Does not lock the history for longer than one series takes.
    void save(StateFileWriter& to) const;
    /// Restores the samples of the sources that were added. Those of the future stay too: the clock may be wrong.
    /// Throws std::runtime_error, with nothing restored, for blocks that save() did not write.
    void restore(const StateFile& file);

    /// Size of the mapped memory.
    [[nodiscard]] std::size_t bytes() const noexcept { return memory_.size(); }

private:
    static constexpr std::size_t kCells = kSeconds + kMinutes;
    using Cell = std::uint32_t;  // bits of the float plus one; 0 if there is no value
    struct Source {
        const SourceKind* kind;
        std::size_t first_cell;
        std::string name{};
        std::string of{};
        bool used{false};
        bool removed{false};
        std::uint64_t order{0};
    };
    struct Total;

    [[nodiscard]] Cell* cells(const Source& source, std::size_t series) const;
    [[nodiscard]] bool has_second(std::int64_t second) const;
    [[nodiscard]] bool has_minute(std::int64_t minute) const;
    void begin(std::int64_t second);
    void clear_cells(std::size_t at);
    /// Computes the means of a minute; its sums and maxima grow with each sample.
    void end_minute(std::int64_t minute);
    [[nodiscard]] Total total_of_seconds(const Cell* cells, std::int64_t from, std::int64_t seconds) const;
    [[nodiscard]] float value(const Cell* cells, Combine combine, std::int64_t from, std::int64_t step) const;
    void clear(const Source& source);
    [[nodiscard]] Source* find(const SourceKind& kind, std::string_view name, std::string_view of);

    mutable std::mutex mutex_;
    memory::Region memory_;
    std::vector<Source> sources_;
    std::uint64_t added_{0};
    std::int64_t newest_{0};
    std::array<std::int64_t, kSeconds> seconds_{};  // second of each sample; 0: none
    std::array<std::int64_t, kMinutes> minutes_{};  // the same, in minutes since 1970
};

}  // namespace millpond::service
