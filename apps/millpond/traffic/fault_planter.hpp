#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic {

/// Fractions of the datagrams to lose, to send twice, or to send after their successor.
struct FaultFractions {
    double drop{0};
    double duplicate{0};
    double swap{0};
    std::uint64_t seed{1};
};

/// Injects faults into a source's datagrams and counts them exactly, so that they can be compared with a receiver's
/// counts: each fault can be detected, separately from the others. No fault is injected into the first datagram, one
/// without messages, or the successor of one that was dropped or swapped; the last datagram is neither dropped nor
/// swapped. So slightly fewer faults are injected than the fractions request.
class FaultPlanter final : public Source {
public:
    struct Counts {
        std::uint64_t passed{0};  ///< Datagrams with messages from the source.
        std::uint64_t dropped{0};
        std::uint64_t duplicated{0};
        std::uint64_t swapped{0};  ///< Datagrams that were sent after their successor.
        // Numbers of messages in these datagrams.
        std::uint64_t messages_dropped{0};
        std::uint64_t messages_duplicated{0};
        std::uint64_t messages_swapped{0};

        Counts& operator+=(const Counts& other) noexcept;
    };

    /// source: must outlive this. Throws std::invalid_argument if a fraction is outside 0 to 1 or their sum is above 1.
    FaultPlanter(Source& source, const FaultFractions& fractions);

    [[nodiscard]] bool next(Outgoing& out) override;
    [[nodiscard]] std::string error() const override { return source_.error(); }
    [[nodiscard]] double fraction() const override { return source_.fraction(); }

    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

private:
    enum class Fault : std::uint8_t { none, drop, duplicate, swap };
    /// State of the held copy.
    enum class Held : std::uint8_t { nothing, dropped_after_successor, sent_after_successor, sent_next };

    [[nodiscard]] Fault draw();
    void hold(const Outgoing& datagram, Held fate);
    void hand_out_held(Outgoing& out, std::int64_t due_ns);
    [[nodiscard]] bool pass(const Outgoing& datagram, Outgoing& out);

    Source& source_;
    FaultFractions fractions_;
    std::mt19937_64 random_;
    Held held_{Held::nothing};
    std::uint32_t held_messages_{0};
    std::vector<std::byte> held_bytes_;
    std::vector<std::byte> shown_bytes_;  // the held datagram, while the caller uses it
    std::optional<Outgoing> waiting_;     // a datagram of the source that follows the held one
    std::int64_t latest_due_ns_{0};
    bool began_{false};
    Counts counts_;
};

}  // namespace millpond::traffic
