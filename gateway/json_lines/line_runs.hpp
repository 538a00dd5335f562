#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gateway/json_lines/line_log.hpp"
#include "gateway/json_lines/standing.hpp"
#include "gateway/sinks/sink.hpp"

namespace millpond::gateway::json_lines {

/// The lines from a place of the log on as one text, made once for all clients that are there and want every
/// instrument: most clients read the log at the same pace.
///
/// Threads: one.
/// Memory:  two texts of about kMostText.
class LineRuns {
public:
    static constexpr std::size_t kMostText = std::size_t{64} * 1024;

    struct Run {
        std::uint64_t begin{0};
        std::uint64_t end{0};  ///< Of its lines; as `begin` if the next line is a gap or a loss.
        std::uint64_t events{0};
        std::uint64_t conflated{0};
        std::string text{};
    };

    LineRuns(const LineLog& log, const Standing& standing) noexcept : log_(log), standing_(standing) {}

    /// Valid until the next call. begin: in the log or its end.
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
        std::uint64_t log_end{~std::uint64_t{0}};  // of the log when it was made
    };

    void fill(Run& run, std::uint64_t begin, Delivery mode) const {
        run.begin = run.end = begin;
        run.events = run.conflated = 0;
        run.text.clear();
        for (; run.end < log_.end() && run.text.size() < kMostText; ++run.end) {
            const auto& line = log_[run.end];
            if (line.kind == LineKind::gap || line.kind == LineKind::loss) return;
            if (mode == Delivery::conflate && line.kind == LineKind::quote &&
                standing_.line(line.instrument) != run.end) {
                ++run.conflated;
            } else {
                run.text += line.view();
                run.events += line.events;
            }
        }
    }

    const LineLog& log_;
    const Standing& standing_;
    std::array<Made, 2> made_{};
};

}  // namespace millpond::gateway::json_lines
