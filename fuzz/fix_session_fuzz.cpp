#include <algorithm>

#include <millpond/fix/session.hpp>

#include "fuzz/fix_input.hpp"
#include "fuzz/fuzz_target.hpp"
#include "fuzz/session_pair.hpp"

namespace {

using namespace millpond::fix;
namespace core = millpond::core;

/// The input's bytes, two at a time, followed by zeros.
class Choices {
public:
    explicit Choices(std::span<const std::byte> bytes) : left_(bytes) {}
    std::uint32_t operator()() {
        if (left_.size() < 2) return calm_ += 7;
        const auto number = std::to_integer<std::uint32_t>(left_[0]) | (std::to_integer<std::uint32_t>(left_[1]) << 8U);
        left_ = left_.subspan(2);
        return number;
    }

private:
    std::span<const std::byte> left_;
    std::uint32_t calm_{0};
};

/// Accepts every message of a hostile peer, and checks that each send of the session is one message.
class Target final : public SessionHandler {
public:
    explicit Target(MessageStore& store) : store_(&store) {}
    void send(std::uint64_t sequence, std::string_view bytes) override {
        const auto frame = next_frame(std::as_bytes(std::span{bytes.data(), bytes.size()}), bytes.size());
        require(frame && frame->bytes.size() == bytes.size(), "what is sent is one message");
        if (sequence != 0) store_->mark_written(sequence);
    }
    void disconnect(Disconnect) override { closed_ = true; }
    Verdict on_message(const Message& message) override {
        const auto sequence = message.unsigned_integer(tag::kMsgSeqNum).value_or(0);
        require(sequence == store_->next_target(), "messages are delivered in their turn");
        return static_cast<Verdict>(static_cast<int>(sequence % 3) - 1);
    }
    MessageStore* store_;
    bool closed_{false};
};

constexpr core::Moment kNow{.utc_ns = 1'704'164'645'000'000'000, .monotonic_ns = 1'000'000'000'000};

/// An order with a group, in two versions with different required fields.
Dictionary order_dictionary(Tag required) {
    Dictionary dictionary{"FIX.Latest"};
    dictionary.define_field(11, "ClOrdID", FieldType::text);
    dictionary.define_field(40, "OrdType", FieldType::character).values = {{"1", ""}, {"2", ""}};
    dictionary.define_field(448, "PartyID", FieldType::text);
    dictionary.define_field(453, "NoPartyIDs", FieldType::group_count);
    auto& order = dictionary.define_message("D", "NewOrderSingle", false).fields;
    order.add(11, required == 11);
    order.add(40, required == 40);
    order.add_group(453, false).add(448, true);
    return dictionary;
}

/// Sends messages whose bodies are the input's lines to a session that is logged on. logon: additional fields of its
/// Logon.
void play_hostile(std::span<const std::byte> input, SessionConfig config, std::string_view logon) {
    static const auto of_fix44 = Dictionary::session_level(Version::fix44);
    static const auto of_fixt = Dictionary::session_level(Version::fixt11);
    const auto& dictionary = config.version == Version::fixt11 ? of_fixt : of_fix44;
    const auto begin = begin_string(config.version);
    MemoryStore store{kNow.utc_ns, ByteCount{1U << 16U}};
    Target target{store};
    config.sender_comp_id = "WE";
    config.target_comp_id = "YOU";
    config.max_message_bytes = 4096;
    Session session{std::move(config), dictionary, nullptr, store, target, kNow};
    session.on_connect(kNow);
    const auto give = [&](const std::string& bytes) {
        if (target.closed_) {
            session.on_disconnect(kNow);
            target.closed_ = false;
            session.on_connect(kNow);
        }
        static_cast<void>(session.on_bytes(bytes_of(bytes), kNow));
    };
    const std::string header =
        "\x01"
        "49=YOU\x01"
        "52=20240102-03:04:05\x01"
        "56=WE\x01";
    give(
        framed("35=A\x01"
               "34=1" +
                   header +
                   "98=0\x01"
                   "108=30\x01" +
                   std::string{logon},
               begin));
    const auto text = fields_of(input);
    auto now = kNow;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = text.substr(at, end - at);
        // type, number, an optional delimiter, rest of the body
        if (line.size() > 2) {
            const auto number = std::to_string(static_cast<unsigned char>(line[1]) % 32U);
            give(framed("35=" + line.substr(0, 1) +
                            "\x01"
                            "34=" +
                            number + header + line.substr(2),
                        begin));
        }
        if (session.next_deadline_ns() != INT64_MAX && line.size() % 3 == 0) {
            now = now.after(std::max<std::int64_t>(session.next_deadline_ns() - now.monotonic_ns, 0));
            session.on_timer(now);
        }
        at = end + 1;
    }
}

}  // namespace

/// Random event sequences keep the invariants: between two sessions over a bad network, and with hostile peers.
MILLPOND_FUZZ_TARGET {
    SessionPair<Choices> pair{{.calm = 8}, Choices{input}};
    for (std::size_t i = 0; i < input.size() / 4 + 8 && pair.broken().empty(); ++i) pair.step(false);
    const bool ended = pair.finish();
    require(pair.broken().empty(), pair.broken().c_str());
    require(ended, "what was sent arrives");
    require(pair.delivered() == pair.orders(), "every order is delivered once");
    play_hostile(input, {.version = Version::fix44}, "");
    static const auto of_44 = order_dictionary(40);
    static const auto of_latest = order_dictionary(11);
    play_hostile(input,
                 {.version = Version::fixt11,
                  .default_appl_ver_id = "9",
                  .further_versions = {{ApplicationVersion::fix44, &of_44}, {ApplicationVersion::latest, &of_latest}}},
                 "1137=9\x01");
}
