#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <millpond/feed/iex_snap.hpp>

#include "fuzz/fuzz_target.hpp"

namespace {

namespace feed = millpond::feed;

void keep(bool kept, const char* promise) { feed::require_kept(kept ? "" : promise); }

struct Outcome {
    std::string messages;
    feed::IexSnapFailure failure;
    bool is_complete;
    std::uint64_t number;
    std::size_t read;
    bool operator==(const Outcome&) const = default;
};

/// Passes the bytes on in pieces of this length.
Outcome play(std::span<const std::byte> input, std::size_t piece) {
    feed::IexSnapshot snapshot{feed::iex_layout::kDeep, {.session = {.number = 1, .channel = 1}, .minimum = 2}};
    std::string messages;
    std::uint64_t newest = 0;
    std::vector<std::byte> waiting;
    std::size_t read = 0;
    while (!input.empty()) {
        const auto bytes = input.first(std::min(piece, input.size()));
        input = input.subspan(bytes.size());
        waiting.insert(waiting.end(), bytes.begin(), bytes.end());
        const auto taken = snapshot.receive(waiting, [&](std::span<const std::byte> message, std::uint64_t number) {
            newest = std::max(newest, number);
            messages += std::to_string(number) + ":";
            messages.append(reinterpret_cast<const char*>(message.data()), message.size());
        });
        keep(taken <= waiting.size(), "only received bytes are read");
        read += taken;
        waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(taken));
        if (snapshot.is_complete() || snapshot.failure() != feed::IexSnapFailure::none) break;
    }
    keep(!snapshot.is_complete() || snapshot.failure() == feed::IexSnapFailure::none,
         "a whole snapshot has not failed");
    keep(!snapshot.is_complete() || (snapshot.number() >= newest && snapshot.number() >= 2),
         "a snapshot has no message above its number, which is at least the requested one");
    return {messages, snapshot.failure(), snapshot.is_complete(), snapshot.is_complete() ? snapshot.number() : 0, read};
}

}  // namespace

/// Arbitrary bytes of a server: what is read does not depend on how TCP cuts them. And arbitrary requests.
MILLPOND_FUZZ_TARGET {
    const auto whole = play(input, input.size() + 1);
    for (const std::size_t piece : {1U, 3U, 50U})
        keep(play(input, piece) == whole, "the outcome does not depend on pieces");
    static_cast<void>(feed::IexSnapRequest::read(input));
}
