#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/core/tally.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/queue/spsc_ring.hpp>

namespace millpond::gateway {

/// A log message of a receive thread, which the thread that watches it writes.
struct Notice {
    enum class Kind : std::uint8_t {
        rejected,  ///< A datagram, or the rest of one, was not decoded: `error`, `bytes`.
        gap,       ///< Something was lost: `gap`, numbers first..last if known.
        clear,     ///< The quotes of the channel are void: `reason`.
    };
    Kind kind{Kind::rejected};
    std::uint16_t channel{0};
    feed::ClearReason reason{};
    feed::GapReason gap{};
    std::uint64_t first{0};
    std::uint64_t last{0};
    std::size_t bytes{0};  ///< Length of the datagram.
    feed::DecodeError error{};
};

/// Passes notices from a receive thread to the one that watches it. Notices that do not fit are counted.
class Notices {
public:
    void put(const Notice& notice) noexcept {
        if (!ring_.try_push(notice)) dropped_.add();
    }
    [[nodiscard]] bool take(Notice& into) noexcept { return ring_.try_pop(into); }
    [[nodiscard]] const core::Tally& dropped() const noexcept { return dropped_; }

private:
    static constexpr std::size_t kCapacity = 64;
    queue::SpscRing<Notice> ring_{kCapacity};
    core::Tally dropped_;
};

}  // namespace millpond::gateway
