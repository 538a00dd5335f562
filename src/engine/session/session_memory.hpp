#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <millpond/core/moment.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/msg_type.hpp>
#include <millpond/fix/session.hpp>

#include "src/engine/session/input_path.hpp"
#include "src/engine/session/output_path.hpp"
#include "src/engine/session/session_gauges.hpp"
#include "src/engine/store/store_keeper.hpp"

namespace millpond::engine {

/// Keeps the memory of a session small while it only sends and receives session messages. The first application message
/// of a connection has all of it made present by the keeper's thread; the end of the connection returns it.
///
/// Threads: the I/O thread's; set_keeper on any, maintain on the keeper's.
class SessionMemory final : public Maintained {
public:
    /// All arguments must outlive it.
    SessionMemory(fix::Session& session, fix::MessageStore& store, InputPath& input, OutputPath& output,
                  SessionGauges& gauges) noexcept
        : session_(&session), store_(&store), input_(&input), output_(&output), gauges_(&gauges) {}
    ~SessionMemory() = default;

    /// keeper: makes the memory present; null: nothing does.
    void set_keeper(StoreKeeper* keeper) noexcept {
        keeper_.store(keeper, std::memory_order_release);  // sync "keeper known": begin_busy
    }

    /// Call for each application message.
    void note_message() noexcept {
        if (!busy_) [[unlikely]]
            begin_busy();
    }
    /// Call for each message that is sent.
    void note_sent(std::string_view message) noexcept {
        if (!busy_ && !fix::is_session_message(fix::msg_type_of(message))) [[unlikely]]
            begin_busy();
    }
    /// Call when the session is disconnected.
    void end_busy() noexcept;

    // Maintained
    void maintain(core::Moment now) noexcept override;

private:
    void begin_busy() noexcept;

    fix::Session* session_;
    fix::MessageStore* store_;
    InputPath* input_;
    OutputPath* output_;
    SessionGauges* gauges_;
    std::atomic<StoreKeeper*> keeper_{nullptr};
    bool busy_{false};
    std::atomic<bool> wanted_{false};  // busy_, for the keeper's thread
    // Used by the keeper's thread.
    bool present_{false};
    std::int64_t retry_ns_{0};  // monotonic
};

}  // namespace millpond::engine
