#include "src/engine/session/input_path.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include <millpond/fix/frame.hpp>

namespace millpond::engine {
namespace {

constexpr std::size_t kInputBytes = std::size_t{128} * 1024;
constexpr std::size_t kMessagesBuffered = 4;  // minimum buffer, in messages of maximum size
constexpr std::size_t kReadsPerTurn = 4;      // full buffers to read before other sessions are served

/// Size of the complete messages at the front of the stream.
std::size_t whole_messages(std::span<const std::byte> bytes, std::size_t max_bytes) noexcept {
    std::size_t whole = 0;
    for (;;) {
        const auto frame = fix::next_frame(bytes.subspan(whole), max_bytes);
        if (!frame && frame.error().error == fix::FrameError::incomplete) return whole;
        whole += frame ? frame->bytes.size() : frame.error().skip;
    }
}

}  // namespace

InputPath::InputPath(HostConnection& connection, fix::Session& session, const std::string& name,
                     const SessionLimits& limits, SessionGauges& gauges)
    : connection_(&connection),
      session_(&session),
      name_(&name),
      gauges_(&gauges),
      buffer_(std::max(kInputBytes, kMessagesBuffered * session.config().max_message_bytes)),
      rate_(limits.messages_per_second, limits.burst),
      cut_off_when_exceeded_(limits.cut_off_when_exceeded) {}

void InputPath::begin(const InputBuffer& read, core::Moment now) {
    if (!buffer_.copy_from(read)) connection_->set_broken();
    paused_ = stopped_ = false;
    rate_.begin(now.monotonic_ns);
    if (tap_ != nullptr) tap_->on_connect(*name_);
}

bool InputPath::read(core::Moment now) {
    auto& connection = **connection_;
    for (std::size_t turn = 0; turn < kReadsPerTurn && !connection_->is_ending() && !is_paused(); ++turn) {
        if (!connection.receive(buffer_)) connection_->set_broken();
        hand_over(now);
        if (!connection.transport().holds_input()) return false;
    }
    return !connection_->is_broken();
}

void InputPath::hand_over(core::Moment now) {
    const auto bytes = buffer_.filled();
    if (bytes.empty()) return;
    const auto messages = session_->counters().received.read();
    const auto tap = [&](std::size_t begin, std::size_t end) {
        if (begin == end) return;
        tap_->on_bytes(*name_, Direction::in, {reinterpret_cast<const char*>(bytes.data()) + begin, end - begin},
                       now.utc_ns);
    };
    // The tap sees the messages before their effects.
    const auto whole = tap_ != nullptr ? whole_messages(bytes, session_->config().max_message_bytes) : 0;
    if (tap_ != nullptr) tap(0, whole);
    const auto done = session_->on_bytes(bytes, now);
    if (tap_ != nullptr) tap(whole, std::max(whole, done));
    buffer_.consume(done);
    const auto came = session_->counters().received.read() - messages;
    if (came != 0) gauges_->last_received_ns.set(static_cast<std::uint64_t>(now.utc_ns));
    if (rate_.consume(came, now.monotonic_ns)) return;
    if (cut_off_when_exceeded_) {
        connection_->cut(Closed::too_many_messages);
        return;
    }
    paused_ = true;
    gauges_->paused_times.add();
    (*connection_)->watch_readable(false);
}

void InputPath::end_pause(core::Moment now) {
    if (!paused_ || !rate_.is_free(now.monotonic_ns)) return;
    paused_ = false;
    (*connection_)->watch_readable(!stopped_);
    hand_over(now);
}

bool InputPath::set_stopped(bool stopped) {
    if (stopped == stopped_) return false;
    stopped_ = stopped;
    (*connection_)->watch_readable(!is_paused());
    return !is_paused();
}

}  // namespace millpond::engine
