// FIX messages without a network: writes orders, reads a stream with a garbled message in it, and lets two sessions
// talk.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/message_template.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/session.hpp>
#include <millpond/fix/writer.hpp>

namespace {

namespace fix = millpond::fix;

constexpr std::int64_t kTime = 1'704'164'645'000'000'000;  // 20240102-03:04:05 UTC

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

/// Writer: writes a message field by field into the caller's memory.
std::string write_order(std::int64_t quantity) {
    std::array<char, 512> memory;
    fix::Writer writer{memory, "FIX.4.4"};
    writer.add<35>('D').add<34>("0000001").add<49>("DESK").add<56>("VENUE");
    writer.add_timestamp<52>(kTime, fix::TimePrecision::millis);
    writer.add<11>("order-1").add<55>("MSFT").add<54>('1').add<38>(quantity).add<40>('2');
    writer.add<44>(fix::Decimal{.mantissa = 10'025, .decimals = 2});
    const auto message = writer.finish();  // empty if it did not fit, or if a text contains a delimiter
    return std::string{message.value_or("")};
}

/// MessageTemplate: writes the same message with a few values changed in place.
std::string patch_order(const std::string& order, std::uint64_t number) {
    fix::MessageTemplate prepared{order};
    const auto sequence = prepared.slot(34);
    const auto price = prepared.slot(44);
    if (!sequence || !price) return {};
    if (!prepared.patch_number(*sequence, number) || !prepared.patch(*price, "101.50")) return {};
    return std::string{prepared.bytes()};
}

void use(std::string_view id, fix::Decimal price) {
    std::printf("order %.*s at %lld / 10^%d\n", static_cast<int>(id.size()), id.data(),
                static_cast<long long>(price.mantissa), static_cast<int>(price.decimals));
}

/// Reads the messages at the start of a stream. Returns the number of consumed bytes; the rest is passed again with the
/// bytes after it.
std::size_t read_stream(std::span<const std::byte> bytes) {
    std::size_t done = 0;
    // docs/internals/fix.md: reading
    fix::Parser parser;
    for (;;) {
        const auto frame = fix::next_frame(bytes.subspan(done));
        if (!frame) {
            if (frame.error().error == fix::FrameError::incomplete) break;  // read more, then call again
            done += frame.error().skip;                                     // garbled: the stream continues after it
            continue;
        }
        done += frame->bytes.size();
        const auto message = parser.parse(*frame);
        if (!message) continue;  // the CheckSum is wrong, for example: dropped
        const auto id = message->text(11);
        const auto price = message->decimal(44);  // {mantissa, decimals}, exact
        if (id && price) use(*id, *price);
    }
    // docs/internals/fix.md: end
    return done;
}

/// One end of a connection: `sent` has the session's output until the other end reads it.
class End final : public fix::SessionHandler {
public:
    End(fix::Role role, const char* own, const char* peer)
        : session_({.role = role, .sender_comp_id = own, .target_comp_id = peer}, dictionary_, nullptr, store_, *this,
                   now()) {}

    void send(std::uint64_t sequence, std::string_view bytes) override {
        sent_.emplace_back(bytes);
        if (sequence != 0) store_.mark_written(sequence);  // a socket would send them here
    }
    void disconnect(fix::Disconnect) override { session_.on_disconnect(now()); }
    void on_logon() override { std::printf("%s is logged on\n", session_.config().sender_comp_id.c_str()); }
    fix::Verdict on_message(const fix::Message& message) override {
        std::printf("%s received %.*s\n", session_.config().sender_comp_id.c_str(),
                    static_cast<int>(message.text(11).value_or("?").size()), message.text(11).value_or("?").data());
        return fix::Verdict::accepted;
    }

    [[nodiscard]] fix::Session& session() { return session_; }
    [[nodiscard]] bool give_to(End& other) {
        if (sent_.empty()) return false;
        const auto bytes = sent_.front();
        sent_.pop_front();
        static_cast<void>(other.session_.on_bytes(bytes_of(bytes), now()));
        return true;
    }
    static millpond::core::Moment now() { return {.utc_ns = kTime, .monotonic_ns = 1}; }

private:
    fix::Dictionary dictionary_ = fix::Dictionary::session_level(fix::Version::fix44);
    fix::MemoryStore store_{kTime, fix::ByteCount{std::size_t{1} << 20U}};
    std::deque<std::string> sent_;
    fix::Session session_;
};

/// Session: a Logon, an order and a Logout between two ends.
bool talk() {
    End desk{fix::Role::initiator, "DESK", "VENUE"};
    End venue{fix::Role::acceptor, "VENUE", "DESK"};
    const auto exchange = [&] {
        while (desk.give_to(venue) || venue.give_to(desk)) {
        }
    };
    venue.session().on_connect(End::now());
    desk.session().on_connect(End::now());
    exchange();
    const bool sent = desk.session().send("D", End::now(), [](fix::Writer& writer) {
        writer.add<11>("order-2").add<55>("MSFT").add<54>('1').add<38>(100).add<40>('1');
    });
    exchange();
    desk.session().logout("the end", End::now());
    exchange();
    return sent && desk.session().state() == fix::Session::State::disconnected;
}

}  // namespace

int main() {
    const auto order = write_order(100);
    const auto second = patch_order(order, 2);
    const auto stream = order +
                        "8=FIX.4.4\x01"
                        "9=garbled\x01" +
                        second;
    if (read_stream(bytes_of(stream)) != stream.size()) return 1;
    return talk() ? 0 : 1;
}
