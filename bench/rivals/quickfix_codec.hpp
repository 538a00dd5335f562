#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

// QuickFIX's headers need C++14 at most, so QuickFIX has a separate translation unit, and this bridge to it is C++14
// too.
namespace millpond {
namespace bench {

/// A field to read from a message, and its type.
struct WantedField {
    enum Kind { text, integer, decimal, character };
    int tag;
    Kind kind;
    bool of_first_entry;  ///< Whether the field is in the first instance of the group that tag 268 counts.
};

/// Decoded values, so that all contenders' answers can be compared. Decimals are in 1/10000.
inline std::uint64_t digest_text(const char* text, std::size_t size) {
    const auto at = [text](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])); };
    return size == 0 ? 0 : size * 65536 + at(0) * 256 + at(size - 1);
}

/// An order to write.
struct OrderValues {
    std::uint64_t sequence;
    std::uint64_t id;
    std::int64_t price;  ///< In 1/100.
    std::int64_t quantity;
    std::int64_t utc_ns;
};

/// Debian's QuickFIX, with its dictionary of FIX 4.4, which its sessions parse and write with, or without one.
class QuickfixCodec {
public:
    /// Checks of read() beyond BodyLength and CheckSum.
    enum class Checks { dictionary, none };

    QuickfixCodec();
    ~QuickfixCodec();
    QuickfixCodec(const QuickfixCodec&) = delete;
    QuickfixCodec& operator=(const QuickfixCodec&) = delete;

    /// The sum of the values; 0 if the message is refused. Without a dictionary QuickFIX knows no groups: no field may
    /// then be of_first_entry.
    std::uint64_t read(Checks checks, const char* bytes, std::size_t size, const WantedField* wanted,
                       std::size_t count);
    /// Number of bytes written to `out`.
    std::size_t write(const OrderValues& order, char* out);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace bench
}  // namespace millpond
