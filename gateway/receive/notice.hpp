#pragma once

#include <cstddef>
#include <cstdint>

#include <millpond/core/tally.hpp>
#include <millpond/feed/decode_result.hpp>
#include <millpond/feed/event.hpp>
#include <millpond/queue/spsc_ring.hpp>

namespace millpond::gateway {

/// A log message from a receive thread, written by the watching thread.
struct Notice {
    enum class Kind : std::uint8_t {
        rejected,  ///< A datagram or the rest of one was not decoded; has `error` and `bytes`.
        gap,       ///< Messages were lost; has `gap`, with sequence numbers first..last if known.
        clear,     ///< The channel's quotes are void; has `reason`.
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

/// Passes notices from a receive thread to the watching thread. Notices that do not fit are counted.
class Notices {
public:
    void push(const Notice& notice) noexcept {
        if (!ring_.try_push(notice)) dropped_.add();
    }
    [[nodiscard]] bool pop(Notice& into) noexcept { return ring_.try_pop(into); }
    [[nodiscard]] const core::Tally& dropped() const noexcept { return dropped_; }

private:
    static constexpr std::size_t kCapacity = 64;
    queue::SpscRing<Notice> ring_{kCapacity};
    core::Tally dropped_;
};

}  // namespace millpond::gateway
