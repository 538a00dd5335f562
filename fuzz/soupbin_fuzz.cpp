#include <algorithm>
#include <string>
#include <vector>

#include <millpond/net/soupbin_session.hpp>

#include "fuzz/fuzz_target.hpp"

namespace {

using millpond::net::SoupBinFailure;
using millpond::net::SoupBinSession;

/// Texts of the events, which must be in the order of the protocol.
struct Recorder {
    std::string events;
    bool logged_in{false};
    bool ended{false};
    std::uint64_t next{0};

    static void keep(bool kept, const char* promise) { millpond::feed::require_kept(kept ? "" : promise); }
    void on_login(const millpond::net::soupbin::Session& session, std::uint64_t number) {
        keep(!logged_in, "one login is accepted");
        keep(!session.empty() && number != 0, "a login names a session and a number");
        logged_in = true;
        next = number;
        events += "L" + std::string{session.view()} + std::to_string(number);
    }
    void on_message(std::span<const std::byte> bytes, std::uint64_t number) {
        keep(logged_in && !ended, "messages come between the login and the end of the session");
        keep(number == next++, "each message has the next number");
        events += "M" + std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    void on_heartbeat() {
        keep(logged_in && !ended, "heartbeats come between the login and the end of the session");
        events += "H";
    }
    void on_end_of_session() {
        keep(logged_in && !ended, "a session ends once");
        ended = true;
        events += "Z";
    }
};

struct Outcome {
    std::string events;
    SoupBinFailure failure;
    std::size_t read;
    bool operator==(const Outcome&) const = default;
};

/// Passes the bytes on in pieces of this length.
Outcome play(std::span<const std::byte> input, std::size_t piece) {
    SoupBinSession session{1};
    static_cast<void>(session.begin({}));
    Recorder recorder;
    std::vector<std::byte> waiting;
    std::size_t read = 0;
    while (!input.empty()) {
        const auto bytes = input.first(std::min(piece, input.size()));
        input = input.subspan(bytes.size());
        waiting.insert(waiting.end(), bytes.begin(), bytes.end());
        const auto taken = session.receive(waiting, recorder);
        Recorder::keep(taken <= waiting.size(), "only received bytes are read");
        read += taken;
        waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(taken));
        if (session.failure() != SoupBinFailure::none || recorder.ended) break;
    }
    return {recorder.events, session.failure(), read};
}

}  // namespace

/// Arbitrary bytes of a server: the events follow the protocol, and are the same however TCP cuts the bytes.
MILLPOND_FUZZ_TARGET {
    const auto whole = play(input, input.size() + 1);
    for (const std::size_t piece : {1, 3, 50})
        Recorder::keep(play(input, piece) == whole, "the events do not depend on the pieces");
}
