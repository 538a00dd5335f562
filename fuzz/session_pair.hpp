#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <millpond/fix/session.hpp>

namespace millpond::fix {

/// Two sessions with a bad network between them: messages are dropped, duplicated, reordered, split and garbled,
/// connections break and processes restart, as `choose` decides. Invariants are checked all the time: no order is
/// delivered twice or early, and none is lost that the sender's store still had.
template <class Choose>
class SessionPair {
public:
    struct Options {
        Version version{Version::fix44};
        std::size_t store_bytes{std::size_t{1} << 20U};
        std::uint64_t resend_request_chunk{0};
        bool send_next_expected{false};
        bool may_lose_history{false};  ///< The stores are so small that orders are gap-filled.
        unsigned calm{64};             ///< One in this many messages suffers a fault.
    };

    SessionPair(const Options& options, Choose choose)
        : options_(options),
          choose_(std::move(choose)),
          dictionary_(Dictionary::session_level(options.version)),
          sides_{Side{*this, 0}, Side{*this, 1}} {
        for (auto& side : sides_) side.start();
    }

    /// One event: an order, arriving bytes, time, or a fault.
    void step(bool calm) {
        calm_ = calm;
        if (!connected_) connect();
        const auto what = choose_() % 16;
        auto& side = sides_[what % 2];
        if (what < 6) {
            side.place_order();
        } else if (what < 14 || calm) {
            sides_[0].receive();
            sides_[1].receive();
        } else if (choose_() % 64 == 0) {
            break_off();
            if (choose_() % 2 == 0) side.start();  // the process restarts
        }
        if (sides_[0].idle() && sides_[1].idle() && choose_() % 4 == 0) pass_time();
        settle();
    }

    /// Continues without faults and new orders until everything sent has arrived. Returns false if it does not end.
    [[nodiscard]] bool finish() {
        calm_ = true;
        for (int round = 0; round < 100'000 && broken_.empty(); ++round) {
            if (!connected_) connect();
            for (auto& side : sides_) side.receive();
            settle();
            if (!sides_[0].idle() || !sides_[1].idle()) continue;
            if (connected_ && both_active() && sides_[0].has_all() && sides_[1].has_all()) return true;
            pass_time();
        }
        return false;
    }

    /// The first broken promise; empty if there is none.
    [[nodiscard]] const std::string& broken() const noexcept { return broken_; }
    [[nodiscard]] std::uint64_t orders() const noexcept { return sides_[0].placed_ + sides_[1].placed_; }
    [[nodiscard]] std::uint64_t delivered() const noexcept { return sides_[0].delivered_ + sides_[1].delivered_; }
    [[nodiscard]] std::uint64_t connections() const noexcept { return connections_; }
    [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }
    [[nodiscard]] std::uint64_t restarts() const noexcept { return restarts_; }

private:
    static constexpr std::int64_t kStartNs = 1'704'164'645'000'000'000;
    static constexpr std::size_t kMaxWaiting = 4096;

    class Side final : public SessionHandler {
    public:
        Side(SessionPair& pair, std::size_t number)
            : pair_(&pair), number_(number), store_(kStartNs, ByteCount{pair.options_.store_bytes}) {}

        void start() {
            if (session_) ++pair_->restarts_;
            SessionConfig config{.version = pair_->options_.version,
                                 .role = number_ == 0 ? Role::initiator : Role::acceptor,
                                 .sender_comp_id = number_ == 0 ? "A" : "B",
                                 .target_comp_id = number_ == 0 ? "B" : "A"};
            if (config.version == Version::fixt11) config.default_appl_ver_id = "9";
            config.send_next_expected = pair_->options_.send_next_expected;
            config.resend_request_chunk = pair_->options_.resend_request_chunk;
            config.max_message_bytes = 1024;
            config.held_messages = 64;
            config.held_bytes = 8192;
            session_.emplace(std::move(config), pair_->dictionary_, nullptr, store_, *this, pair_->now_);
        }
        void place_order() {
            const auto id = next_id_;
            const bool placed = session_->send("D", pair_->now_, [id](Writer& writer) {
                writer.template add<tag::kClOrdId>(id).template add<tag::kText>(std::string_view{"buy low, sell high"});
            });
            if (!placed) return;
            ++next_id_;
            ++placed_;
        }
        void receive() {
            if (incoming_.empty()) return;
            auto message = std::move(incoming_.front());
            incoming_.pop_front();
            if (!pair_->connected_) return;
            // One piece at a time, like a socket.
            const auto cut = message.size() > 1 ? pair_->choose_() % message.size() : 0;
            for (const auto piece : {std::string_view{message}.substr(0, cut), std::string_view{message}.substr(cut)}) {
                if (!pair_->connected_) return;
                unread_ += piece;
                const auto done =
                    session_->on_bytes(std::as_bytes(std::span{unread_.data(), unread_.size()}), pair_->now_);
                unread_.erase(0, done);
                if (unread_.size() > 2048) pair_->break_promise("unread bytes are bounded");
            }
        }
        [[nodiscard]] bool idle() const noexcept { return incoming_.empty(); }
        [[nodiscard]] bool has_all() const noexcept { return store_.next_target() == other().store_.next_sender(); }

        void send(std::uint64_t sequence, std::string_view bytes) override {
            std::string message{bytes};
            if (sequence != 0) store_.mark_written(sequence);
            auto& to = other().incoming_;
            if (to.size() >= kMaxWaiting) return;  // the network drops it
            if (!pair_->calm_ && pair_->choose_() % pair_->options_.calm == 0) {
                ++pair_->faults_;
                switch (pair_->choose_() % 4) {
                    case 0: return;  // dropped
                    case 1: to.push_back(message); break;
                    case 2: message[pair_->choose_() % message.size()] ^= 4; break;
                    default:
                        if (to.empty()) break;
                        to.insert(to.end() - 1, std::move(message));  // overtakes the one in front
                        return;
                }
            }
            to.push_back(std::move(message));
        }
        void disconnect(Disconnect) override { wants_end_ = true; }
        Verdict on_message(const Message& message) override {
            const auto id = message.unsigned_integer(tag::kClOrdId).value_or(0);
            const auto expected = other().first_undelivered_;
            if (id < expected) pair_->break_promise("no order is delivered twice");
            if (id > expected && !pair_->options_.may_lose_history) pair_->break_promise("no order is left out");
            if (id >= other().next_id_) pair_->break_promise("what is delivered was sent");
            other().first_undelivered_ = id + 1;
            ++delivered_;
            return Verdict::accepted;
        }

        [[nodiscard]] Side& other() const noexcept { return pair_->sides_[1 - number_]; }

        SessionPair* pair_;
        std::size_t number_;
        MemoryStore store_;
        std::optional<Session> session_;
        std::deque<std::string> incoming_;
        std::string unread_;
        bool wants_end_{false};
        std::uint64_t next_id_{1};            // of our orders
        std::uint64_t first_undelivered_{1};  // of our orders, at the other side
        std::uint64_t placed_{0};
        std::uint64_t delivered_{0};
        std::uint64_t lowest_target_{1};
        std::uint64_t lowest_sender_{1};
    };

    void connect() {
        connected_ = true;
        ++connections_;
        for (auto& side : sides_) {
            side.incoming_.clear();
            side.unread_.clear();
            side.wants_end_ = false;
        }
        sides_[1].session_->on_connect(now_);
        sides_[0].session_->on_connect(now_);
    }
    void break_off() {
        if (!connected_) return;
        connected_ = false;
        for (auto& side : sides_) side.session_->on_disconnect(now_);
    }
    void settle() {
        if (sides_[0].wants_end_ || sides_[1].wants_end_) break_off();
        for (auto& side : sides_) {
            // Nothing here resets, so numbers only go up.
            if (side.store_.next_target() < side.lowest_target_ || side.store_.next_sender() < side.lowest_sender_) {
                break_promise("numbers never go back");
            }
            side.lowest_target_ = side.store_.next_target();
            side.lowest_sender_ = side.store_.next_sender();
            if (side.store_.next_target() > side.other().store_.next_sender()) {
                break_promise("every accepted number was sent");
            }
        }
    }
    [[nodiscard]] bool both_active() const {
        return sides_[0].session_->state() == Session::State::active &&
               sides_[1].session_->state() == Session::State::active;
    }
    void pass_time() {
        auto next = now_.monotonic_ns + 1'000'000'000;
        for (const auto& side : sides_) next = std::min(next, side.session_->next_deadline_ns());
        now_ = now_.after(std::max<std::int64_t>(1, next - now_.monotonic_ns));
        for (auto& side : sides_) {
            if (connected_ && side.session_->next_deadline_ns() <= now_.monotonic_ns) side.session_->on_timer(now_);
        }
        settle();
    }
    void break_promise(const char* promise) {
        if (broken_.empty()) broken_ = promise;
    }

    Options options_;
    Choose choose_;
    Dictionary dictionary_;
    core::Moment now_{.utc_ns = kStartNs, .monotonic_ns = 1'000'000'000'000};
    bool connected_{false};
    bool calm_{false};
    std::uint64_t connections_{0};
    std::uint64_t faults_{0};
    std::uint64_t restarts_{0};
    std::string broken_;
    Side sides_[2];
};

}  // namespace millpond::fix
