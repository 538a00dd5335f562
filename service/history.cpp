#include "service/history.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millpond::service {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

std::uint32_t cell_of(double value) {
    return std::isnan(value) ? 0 : std::bit_cast<std::uint32_t>(static_cast<float>(value)) + 1;
}

float value_of(std::uint32_t cell) { return cell == 0 ? kMissing : std::bit_cast<float>(cell - 1); }

/// The value of two samples of one time.
double combined(Combine combine, std::uint32_t before, double value) {
    if (before == 0) return value;
    const double old = value_of(before);
    if (std::isnan(value)) return old;
    switch (combine) {
        case Combine::mean: return (old + value) / 2;
        case Combine::sum: return old + value;
        case Combine::max: break;
    }
    return std::max(old, value);
}

std::size_t place(std::int64_t time, std::int64_t capacity) { return static_cast<std::size_t>(time % capacity); }

}  // namespace

/// Values of several samples of a series.
struct History::Total {
    double sum{0};
    float largest{kMissing};
    std::size_t count{0};

    void add(Cell cell) {
        if (cell == 0) return;
        const auto one = value_of(cell);
        sum += one;
        largest = count == 0 ? one : std::max(largest, one);
        ++count;
    }
    [[nodiscard]] double combined(Combine combine) const {
        if (count == 0) return kMissing;
        switch (combine) {
            case Combine::mean: return sum / static_cast<double>(count);
            case Combine::sum: return sum;
            case Combine::max: break;
        }
        return largest;
    }
};

History::History(std::span<const Capacity> capacities) {
    std::size_t cells = 0;
    for (const auto& [kind, count] : capacities) {
        for (std::size_t i = 0; i < count; ++i) {
            sources_.push_back({.kind = kind, .first_cell = cells});
            cells += kind->series.size() * kCells;
        }
    }
    if (cells != 0) memory_ = memory::Region::anonymous(cells * sizeof(Cell));
}

History::Cell* History::cells(const Source& source, std::size_t series) const {
    // A view of the memory, which the constness of the history does not protect: the mutex does.
    auto* const first = reinterpret_cast<Cell*>(const_cast<std::byte*>(memory_.data()));
    return first + source.first_cell + series * kCells;
}

void History::clear(const Source& source) {
    for (std::size_t series = 0; series < source.kind->series.size(); ++series) {
        std::fill_n(cells(source, series), kCells, 0);
    }
}

History::Source* History::find(const SourceKind& kind, std::string_view name, std::string_view of) {
    for (auto& source : sources_) {
        if (source.used && source.kind == &kind && source.name == name && source.of == of) return &source;
    }
    return nullptr;
}

std::optional<History::Handle> History::add(const SourceKind& kind, std::string_view name, std::string_view of) {
    const std::lock_guard lock{mutex_};
    auto* chosen = find(kind, name, of);
    if (chosen == nullptr) {
        for (auto& source : sources_) {
            if (source.kind != &kind || (source.used && !source.removed)) continue;
            const auto rank = [](const Source& one) { return std::pair{one.used, one.order}; };
            if (chosen == nullptr || rank(source) < rank(*chosen)) chosen = &source;
        }
        if (chosen == nullptr) return std::nullopt;
        if (chosen->used) clear(*chosen);
        chosen->name = name;
        chosen->of = of;
    }
    chosen->used = true;
    chosen->removed = false;
    chosen->order = ++added_;
    return static_cast<Handle>(chosen - sources_.data());
}

void History::remove(Handle source) {
    const std::lock_guard lock{mutex_};
    sources_[source].removed = true;
    sources_[source].order = ++added_;
}

History::Sample::Sample(History& history, std::int64_t second)
    : history_(history),
      lock_(history.mutex_),
      second_(std::max<std::int64_t>(second, 1)),
      is_more_(history.has_second(second_)) {
    history_.begin(second_);
}

History::Sample::~Sample() {
    history_.seconds_[place(second_, kSeconds)] = second_;
    history_.newest_ = second_;
}

void History::Sample::set(Handle source, std::initializer_list<double> values) {
    const auto& of = history_.sources_[source];
    std::size_t series = 0;
    for (const auto value : values) {
        auto* const all = history_.cells(of, series);
        const auto combine = of.kind->series[series++].combine;
        auto& cell = all[place(second_, kSeconds)];
        cell = cell_of(is_more_ ? combined(combine, cell, value) : value);
        auto& minute = all[kSeconds + static_cast<std::int64_t>(place(second_ / kMinuteSeconds, kMinutes))];
        if (combine != Combine::mean) minute = cell_of(combined(combine, minute, value));
    }
}

void History::begin(std::int64_t second) {
    const auto minute = second / kMinuteSeconds;
    if (newest_ != 0 && newest_ / kMinuteSeconds != minute) end_minute(newest_ / kMinuteSeconds);
    if (!has_minute(minute)) {
        clear_cells(static_cast<std::size_t>(kSeconds) + place(minute, kMinutes));
        minutes_[place(minute, kMinutes)] = minute;
    }
    if (has_second(second)) return;
    seconds_[place(second, kSeconds)] = 0;
    clear_cells(place(second, kSeconds));
}

void History::clear_cells(std::size_t at) {
    for (const auto& source : sources_) {
        if (!source.used) continue;
        for (std::size_t series = 0; series < source.kind->series.size(); ++series) cells(source, series)[at] = 0;
    }
}

void History::end_minute(std::int64_t minute) {
    if (!has_minute(minute)) return;
    const auto at = static_cast<std::size_t>(kSeconds) + place(minute, kMinutes);
    for (const auto& source : sources_) {
        if (!source.used) continue;
        for (std::size_t i = 0; i < source.kind->series.size(); ++i) {
            if (source.kind->series[i].combine != Combine::mean) continue;
            auto* const of = cells(source, i);
            const auto total = total_of_seconds(of, minute * kMinuteSeconds, kMinuteSeconds);
            of[at] = cell_of(total.combined(Combine::mean));
        }
    }
}

bool History::has_second(std::int64_t second) const {
    return second > 0 && seconds_[place(second, kSeconds)] == second;
}

bool History::has_minute(std::int64_t minute) const {
    return minute > 0 && minutes_[place(minute, kMinutes)] == minute;
}

History::Total History::total_of_seconds(const Cell* cells, std::int64_t from, std::int64_t seconds) const {
    Total total;
    for (auto second = from; second < from + seconds; ++second) {
        if (has_second(second)) total.add(cells[place(second, kSeconds)]);
    }
    return total;
}

float History::value(const Cell* cells, Combine combine, std::int64_t from, std::int64_t step) const {
    if (step < kMinuteSeconds) return static_cast<float>(total_of_seconds(cells, from, step).combined(combine));
    Total total;
    for (auto minute = from / kMinuteSeconds; minute < (from + step) / kMinuteSeconds; ++minute) {
        if (minute == newest_ / kMinuteSeconds && combine == Combine::mean) {  // has not ended
            const auto seconds = total_of_seconds(cells, minute * kMinuteSeconds, kMinuteSeconds);
            total.add(cell_of(seconds.combined(combine)));
        } else if (has_minute(minute)) {
            total.add(cells[static_cast<std::size_t>(kSeconds) + place(minute, kMinutes)]);
        }
    }
    return static_cast<float>(total.combined(combine));
}

std::int64_t History::newest() const {
    const std::lock_guard lock{mutex_};
    return newest_;
}

void History::visit(const Range& range, const std::function<bool(const View& names)>& wants,
                    const std::function<void(const View& view)>& visit) const {
    std::vector<std::pair<std::pair<bool, std::uint64_t>, Handle>> order;
    {
        const std::lock_guard lock{mutex_};
        for (Handle i = 0; i < sources_.size(); ++i) {
            if (sources_[i].used) order.push_back({{sources_[i].removed, sources_[i].order}, i});
        }
    }
    std::ranges::sort(order);
    for (const auto& [rank, handle] : order) {
        View view;
        {
            const std::lock_guard lock{mutex_};
            const auto& source = sources_[handle];
            view = {.kind = source.kind, .name = source.name, .of = source.of, .id = source.order};
        }
        if (!wants(view)) continue;
        bool is_same = true;  // another source may get the room meanwhile
        for (std::size_t i = 0; i < view.kind->series.size() && is_same; ++i) {
            auto& values = view.series.emplace_back();
            values.reserve(range.samples);
            const std::lock_guard lock{mutex_};
            const auto& source = sources_[handle];
            is_same = source.order == view.id;
            const auto* const of = cells(source, i);
            for (std::size_t sample = 0; sample < range.samples; ++sample) {
                const auto from = range.from + static_cast<std::int64_t>(sample) * range.step;
                values.push_back(value(of, source.kind->series[i].combine, from, range.step));
            }
        }
        if (is_same) visit(view);
    }
}

// Blocks: the newest second and the number of sources; for each source its names, then the cells of each series; the
// seconds and minutes of the cells.
void History::save(StateFileWriter& to) const {
    BlockBuilder block;
    std::array<std::int64_t, kSeconds> seconds{};
    std::array<std::int64_t, kMinutes> minutes{};
    std::vector<Handle> used;
    {
        const std::lock_guard lock{mutex_};
        seconds = seconds_;
        minutes = minutes_;
        for (Handle i = 0; i < sources_.size(); ++i) {
            if (sources_[i].used) used.push_back(i);
        }
        block.integer(newest_);
        block.integer(static_cast<std::uint32_t>(used.size()));
    }
    to.block(block.bytes());
    for (const auto handle : used) {
        const auto& kind = *sources_[handle].kind;
        block.clear();
        block.text(kind.name);
        {
            const std::lock_guard lock{mutex_};
            block.text(sources_[handle].name);
            block.text(sources_[handle].of);
        }
        block.integer(static_cast<std::uint32_t>(kind.series.size()));
        for (const auto& series : kind.series) block.text(series.name);
        to.block(block.bytes());
        for (std::size_t i = 0; i < kind.series.size(); ++i) {
            block.clear();
            {
                const std::lock_guard lock{mutex_};
                const auto* const of = cells(sources_[handle], i);
                for (std::size_t cell = 0; cell < kCells; ++cell) block.integer(of[cell]);
            }
            to.block(block.bytes());
        }
    }
    block.clear();
    {
        const std::lock_guard lock{mutex_};
        // Some series were written with a sample that has replaced an older one meanwhile, and some without.
        for (std::size_t i = 0; i < seconds.size(); ++i) block.integer(seconds[i] == seconds_[i] ? seconds[i] : 0);
        for (std::size_t i = 0; i < minutes.size(); ++i) block.integer(minutes[i] == minutes_[i] ? minutes[i] : 0);
    }
    to.block(block.bytes());
}

void History::restore(const StateFile& file) {
    struct Found {
        Source* source;
        std::size_t series;
        std::string_view cells;
    };
    std::size_t next = 0;
    const auto block = [&] {
        if (next == file.blocks.size()) throw std::runtime_error("has too few blocks");
        return file.blocks[next++];
    };
    const std::lock_guard lock{mutex_};
    std::vector<Found> all;
    BlockParser head{block()};
    const auto newest = head.integer<std::int64_t>();
    for (auto left = head.integer<std::uint32_t>(); left != 0; --left) {
        BlockParser names{block()};
        const auto kind = names.text();
        const auto name = names.text();
        const auto of = names.text();
        const auto source = std::ranges::find_if(sources_, [&](const Source& one) {
            return one.used && one.kind->name == kind && one.name == name && one.of == of;
        });
        for (auto series = names.integer<std::uint32_t>(); series != 0; --series) {
            const auto title = names.text();
            const auto cells = block();
            if (cells.size() != kCells * sizeof(Cell)) throw std::runtime_error("has a series of another length");
            if (source == sources_.end()) continue;
            const auto known = std::ranges::find(source->kind->series, title, &SeriesKind::name);
            if (known == source->kind->series.end()) continue;
            all.push_back({&*source, static_cast<std::size_t>(known - source->kind->series.begin()), cells});
        }
    }
    const auto times = block();
    if (times.size() != kCells * sizeof(std::int64_t)) throw std::runtime_error("has another number of times");
    BlockParser parser{times};
    const auto read_times = [&](auto& into) {
        const auto capacity = static_cast<std::int64_t>(into.size());
        for (std::size_t i = 0; i < into.size(); ++i) {
            const auto time = parser.integer<std::int64_t>();
            into[i] = time > 0 && place(time, capacity) == i ? time : 0;
        }
    };
    read_times(seconds_);
    read_times(minutes_);
    for (const auto& found : all) {
        BlockParser cells_parser{found.cells};
        auto* const into = cells(*found.source, found.series);
        for (std::size_t i = 0; i < kCells; ++i) into[i] = cells_parser.integer<Cell>();
    }
    newest_ = std::max<std::int64_t>(newest, 0);
}

}  // namespace millpond::service
