#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <millpond/queue/broadcast_layout.hpp>
#include <millpond/queue/broadcast_reader.hpp>

/// Messages whose words all follow from their number, so that lost, repeated or mixed ones are detected.
namespace millpond::queue {

inline constexpr std::uint32_t kContent = 77;
inline constexpr std::uint64_t kEpoch = 5;

/// Plain memory for a ring; copies are copies of the bytes.
class RingMemory {
public:
    explicit RingMemory(std::uint64_t capacity) : blocks_(broadcast_bytes(capacity) / sizeof(Block)) {}
    [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{blocks_}); }
    [[nodiscard]] std::span<Word> words() {
        return {reinterpret_cast<Word*>(blocks_.data()), blocks_.size() * sizeof(Block) / sizeof(Word)};
    }
    [[nodiscard]] BroadcastHeader& header() { return *reinterpret_cast<BroadcastHeader*>(blocks_.data()); }
    [[nodiscard]] BroadcastEntry& entry(std::size_t index) {
        return reinterpret_cast<BroadcastEntry*>(bytes().data() + sizeof(BroadcastHeader))[index];
    }

private:
    struct alignas(kBroadcastAlignment) Block {
        std::array<std::byte, kBroadcastAlignment> bytes;
    };
    std::vector<Block> blocks_;
};

template <std::size_t kWords>
struct Pattern {
    std::array<std::uint64_t, kWords> words;

    static Pattern of(std::uint64_t number) {
        Pattern pattern{};
        for (std::size_t i = 0; i < kWords; ++i) pattern.words[i] = number * 1'000 + i;
        return pattern;
    }
    friend bool operator==(const Pattern&, const Pattern&) = default;
};
using Small = Pattern<2>;
using Full = Pattern<kBroadcastPayloadWords>;

/// Odd numbers are Small of kind 1, even ones Full of kind 2.
template <class Writer>
void publish_pattern(Writer& writer) {
    const auto number = writer.next();
    if (number % 2 == 1) {
        writer.publish(1, Small::of(number));
    } else {
        writer.publish(2, Full::of(number));
    }
}

/// True if the message equals, word for word, the one that publish_pattern wrote under its number.
[[nodiscard]] inline bool whole(const BroadcastMessage& message) {
    if (message.number % 2 == 1) {
        return message.kind == 1 && message.bytes == sizeof(Small) && message.as<Small>() == Small::of(message.number);
    }
    return message.kind == 2 && message.bytes == sizeof(Full) && message.as<Full>() == Full::of(message.number);
}

}  // namespace millpond::queue
