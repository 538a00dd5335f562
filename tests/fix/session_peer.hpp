#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <millpond/fix/session.hpp>

#include "tests/fix/messages.hpp"

namespace millpond::fix {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kStart = 1'704'164'645 * kSecond;  // 20240102-03:04:05
inline constexpr core::Moment kStartMoment{.utc_ns = kStart, .monotonic_ns = 1'000 * kSecond};

/// A session between "WE" and its counterparty "YOU", which the test plays. Records everything that the session does.
class Peer : public SessionHandler {
public:
    explicit Peer(SessionConfig config = {}, const Dictionary* application = nullptr)
        : dictionary_(Dictionary::session_level(config.version)),
          session_(named(std::move(config)), dictionary_, application, store_, *this, kStartMoment) {}

    /// Connects and logs on, then clears the records.
    void log_on(std::string_view extra = "98=0|108=30|") {
        session_.on_connect(now_);
        give("A", extra);
        ASSERT_EQ(session_.state(), Session::State::active) << (closed_ ? name(*closed_) : "");
        sent_.clear();
    }

    /// A message with the next number and a valid header.
    void give(std::string_view type, std::string_view body) { give(type, next_, body); }
    /// A message with any number. extra: header fields before the body.
    void give(std::string_view type, std::uint64_t number, std::string_view body, std::string_view header = "") {
        give_whole("35=" + std::string{type} + "|34=" + std::to_string(number) + "|49=YOU|52=" + time() + "|56=WE|" +
                   std::string{header} + std::string{body});
        next_ = number + 1;
    }
    void give_whole(std::string_view fields) {
        give_bytes(message_of(begin_string(session_.config().version), fields));
    }
    void give_bytes(const std::string& bytes) {
        EXPECT_EQ(session_.on_bytes(bytes_of(bytes), now_), bytes.size());
        if (closed_) session_.on_disconnect(now_);
    }
    void pass(std::int64_t nanos) {
        const auto until = now_.after(nanos);
        while (session_.next_deadline_ns() <= until.monotonic_ns) {
            now_ = now_.after(std::max<std::int64_t>(session_.next_deadline_ns() - now_.monotonic_ns, 0));
            session_.on_timer(now_);
            if (closed_) session_.on_disconnect(now_);
        }
        now_ = until;
    }
    /// Sets the system clock.
    void step_clock(std::int64_t nanos) { now_.utc_ns += nanos; }

    /// Messages sent since the last call, one per line, without the fields 8, 9, 49, 52, 56 and 10.
    [[nodiscard]] std::string sent() {
        std::string all;
        for (const auto& message : std::exchange(sent_, {})) all += message + "\n";
        return all;
    }
    [[nodiscard]] std::string time(std::int64_t offset_ns = 0) const {
        char text[kMaxTimestampChars];
        return {text, write_utc_timestamp(text, now_.utc_ns + offset_ns, TimePrecision::millis)};
    }

    void send(std::uint64_t sequence, std::string_view bytes) override {
        const auto frame = next_frame(bytes_of(bytes));
        ASSERT_TRUE(frame) << readable(bytes);
        const auto message = reader_.parse(*frame);
        ASSERT_TRUE(message) << readable(bytes);
        std::string text;
        for (const auto& field : message->fields()) {
            const bool varies = field.tag == 8 || field.tag == 9 || field.tag == 49 || field.tag == 52 ||
                                field.tag == 56 || field.tag == 10;
            if (!varies) text += std::to_string(field.tag) + "=" + std::string{message->value(field)} + "|";
        }
        sent_.push_back(text);
        whole_.emplace_back(bytes);
        if (sequence != 0 && socket_accepts_) store_.mark_written(sequence);
    }
    void disconnect(Disconnect reason) override { closed_ = reason; }
    bool congested() const override { return congested_; }
    bool may_log_on(const Message& logon) override { return !password_ || logon.text(554) == *password_; }
    std::string_view closed_because() const override { return closed_because_; }
    void on_logon() override { ++logons_; }
    void on_logon_refused(const LogonRefusal& why) override {
        refusals_.push_back(std::to_string(why.tag) + " " + std::string{why.reason});
    }
    void on_logout(std::string_view text) override { logouts_.emplace_back(text); }
    Verdict on_message(const Message& message) override {
        delivered_.push_back(message.unsigned_integer(34).value_or(0));
        if (message.msg_type() == "8") return Verdict::unsupported_message_type;
        return Verdict::accepted;
    }
    void on_history_lost(const LostHistory& lost) override { lost_.push_back(lost); }
    void on_reject(const Message& reject) override { rejects_.emplace_back(reject.msg_type()); }
    void on_rejected(const RejectedMessage& rejected) override {
        rejected_.push_back(std::to_string(rejected.sequence) + " " + std::string{rejected.msg_type} + " " +
                            std::string{rejected.tag_text} + "=" + std::string{rejected.value} + " " +
                            std::string{rejected.reason});
    }
    void on_heartbeat_changed(std::int64_t seconds) override { intervals_.push_back(seconds); }

    [[nodiscard]] bool order(std::string_view id) {
        return session_.send("D", now_, [&](Writer& writer) { writer.add<11>(id).add<55>("MSFT"); });
    }

    Dictionary dictionary_;
    MemoryStore store_{kStart, ByteCount{1U << 16U}};
    Parser reader_;
    core::Moment now_{kStartMoment};
    std::uint64_t next_{1};
    bool socket_accepts_{true};
    bool congested_{false};
    std::optional<std::string> password_;
    std::string closed_because_;
    std::optional<Disconnect> closed_;
    int logons_{0};
    std::vector<std::string> logouts_;
    std::vector<std::string> rejects_;
    std::vector<std::string> rejected_;  // "NUMBER TYPE TAG=VALUE reason"
    std::vector<std::int64_t> intervals_;
    std::vector<LostHistory> lost_;
    std::vector<std::string> refusals_;  // "TAG reason"
    std::vector<std::uint64_t> delivered_;
    std::vector<std::string> sent_;
    std::vector<std::string> whole_;
    Session session_;

private:
    static SessionConfig named(SessionConfig config) {
        config.sender_comp_id = "WE";
        config.target_comp_id = "YOU";
        if (config.version == Version::fixt11) config.default_appl_ver_id = "9";
        return config;
    }
};

/// The header fields of a message that is resent, first sent `offset_ns` from now.
[[nodiscard]] inline std::string poss_dup(const Peer& peer, std::int64_t offset_ns = 0) {
    return "43=Y|122=" + peer.time(offset_ns) + "|";
}

}  // namespace millpond::fix
