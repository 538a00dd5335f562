#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <millpond/core/tally.hpp>
#include <millpond/engine/detail/sender.hpp>
#include <millpond/engine/drop_copy.hpp>
#include <millpond/fix/parser.hpp>
#include "src/engine/io/participant.hpp"

#include "src/engine/drop_copy/copy_queue.hpp"
#include "src/engine/drop_copy/frame_fields.hpp"

namespace millpond::engine {

/// Version of messages without ApplVerID.
[[nodiscard]] fix::ApplicationVersion usual_version(const fix::Session& session) noexcept;

struct DropCopy::Producer {
    std::unique_ptr<CopyQueue> queue;
    core::Tally offered;
    core::Tally queue_full;
    core::Tally store_full;
};

/// Sends the copies in the rings, on the target's I/O thread.
class DropCopy::Pump final : public detail::Sender, private Participant {
public:
    Pump(DropCopy& copy, SessionHandle& target, const Terms& terms);
    ~Pump();
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    [[nodiscard]] IoThread& io() const noexcept { return *io_; }
    [[nodiscard]] std::size_t slot() const noexcept { return slot_; }

    [[nodiscard]] std::size_t depth() const noexcept override {
        std::size_t sum = 0;
        for (const auto& left : copy_->left_) sum += left->ring().records();
        for (const auto& producer : copy_->producers_) sum += producer->queue->ring().records();
        return sum;
    }

private:
    // Participant: producers signal it, whichever session is the current target.
    void on_signal(core::Moment) override { signal(); }
    std::int64_t on_timer(core::Moment) override { return core::kNever; }

    // Sender
    bool pop(detail::Outgoing& into) noexcept override;
    bool send(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) override {
        settle_unsent(session, true);
        return hand<false>(session, outgoing, now);
    }
    bool keep(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) override {
        settle_unsent(session, false);
        return hand<true>(session, outgoing, now);
    }
    [[nodiscard]] bool is_filling() const noexcept override {
        return std::ranges::any_of(copy_->producers_,
                                   [](const auto& one) { return one->queue->ring().is_half_full(); });
    }
    [[nodiscard]] bool outlives_the_session() const noexcept override { return copy_->is_in_file(); }
    void release(const detail::Outgoing& outgoing) noexcept override { queue_of(outgoing).release(); }
    void report_sent(const Sent& sent) noexcept override;
    void report_failed(const detail::Outgoing& outgoing, SendFailure failure) noexcept override;
    void on_logon(const fix::Session& session) noexcept override { settle_unsent(session, true); }
    void on_history_lost(const fix::LostHistory& lost) noexcept override {
        copy_->counters_.overwritten.add(lost.messages);
    }

    template <bool keeps>
    [[nodiscard]] bool hand(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now);
    [[nodiscard]] CopyQueue& queue_of(const detail::Outgoing& outgoing) const noexcept {
        const auto left = copy_->left_.size();
        return outgoing.token < left ? *copy_->left_[outgoing.token] : *copy_->producers_[outgoing.token - left]->queue;
    }
    [[nodiscard]] bool carries(const fix::Session& session, fix::ApplicationVersion version) const noexcept;
    [[nodiscard]] bool supports_indicator(const fix::Session& session, fix::ApplicationVersion version,
                                          const fix::Message& message) const noexcept;
    void add_body(fix::Writer& writer, const fix::Message& message) const noexcept;
    void settle_unsent(const fix::Session& session, bool is_logged_on) noexcept;

    DropCopy* copy_;
    IoThread* io_;
    std::size_t slot_{0};
    fix::Parser parser_;
    std::vector<fix::Field> spill_;
    FrameFields frame_fields_;
    const fix::Dictionary* dictionary_;
    std::size_t left_{0};  // number of empty queues of earlier processes
    std::size_t turn_{0};  // the producer whose queue was read last
    bool wrong_version_{false};
};

}  // namespace millpond::engine
