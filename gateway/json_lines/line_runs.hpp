#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/snapshot.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// Concatenates the log's lines from a position on into one text, once for all clients that are at that position and
/// subscribe to every instrument without depth. Most clients read the log at the same pace.
///
/// Threads: one.
/// Memory:  two texts of about kMaxText.
class LineRuns {
public:
    static constexpr std::size_t kMaxText = std::size_t{64} * 1024;

    struct Run {
        std::uint64_t begin{0};
        std::uint64_t end{0};  ///< Number after its last line; `begin` if the next line is a gap or a loss.
        std::uint64_t events{0};
        std::uint64_t conflated{0};
        std::uint64_t filtered{0};
        std::string text{};
    };

    LineRuns(const LineLog& log, const Snapshot& snapshot) noexcept : log_(log), snapshot_(snapshot) {}

    /// Returns the lines from `begin`, which is in the log or is its end. Valid until the next call.
    [[nodiscard]] const Run& from(std::uint64_t begin, Delivery mode) {
        auto& made = made_[mode == Delivery::conflate ? 1 : 0];
        if (made.log_end == log_.end() && made.run.begin == begin) return made.run;
        made.log_end = log_.end();
        fill(made.run, begin, mode);
        return made.run;
    }

private:
    struct Made {
        Run run;
        std::uint64_t log_end{~std::uint64_t{0}};  // end of the log when the run was made
    };

    void fill(Run& run, std::uint64_t begin, Delivery mode) const {
        run.begin = run.end = begin;
        run.events = run.conflated = run.filtered = 0;
        run.text.clear();
        for (; run.end < log_.end() && run.text.size() < kMaxText; ++run.end) {
            const auto& line = log_[run.end];
            if (line.kind == LineKind::gap || line.kind == LineKind::loss) return;
            if (is_of_book(line.kind)) {
                run.filtered += line.events;
            } else if (mode == Delivery::conflate && line.kind == LineKind::quote &&
                       snapshot_.line(line.instrument) != run.end) {
                ++run.conflated;
            } else {
                run.text += line.view();
                run.events += line.events;
            }
        }
    }

    const LineLog& log_;
    const Snapshot& snapshot_;
    std::array<Made, 2> made_{};
};

}  // namespace millpond::gateway::json_lines
