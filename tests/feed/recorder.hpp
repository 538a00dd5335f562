#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/feed/event.hpp>

namespace millpond::feed {

/// Keeps every event of a decoder.
struct Recorder {
    std::vector<Quote> quotes;
    std::vector<Trade> trades;
    std::vector<TradeBreak> trade_breaks;
    std::vector<Status> statuses;
    std::vector<Gap> gaps;
    std::vector<Clear> clears;
    std::vector<EventKind> order;

    void on(const Quote& event) { keep(quotes, event); }
    void on(const Trade& event) { keep(trades, event); }
    void on(const TradeBreak& event) { keep(trade_breaks, event); }
    void on(const Status& event) { keep(statuses, event); }
    void on(const Gap& event) { keep(gaps, event); }
    void on(const Clear& event) { keep(clears, event); }

private:
    template <class Event>
    void keep(std::vector<Event>& events, const Event& event) {
        events.push_back(event);
        order.push_back(Event::kKind);
    }
};

/// A heap copy of exactly the given bytes, so that AddressSanitizer detects a read one byte outside.
class ExactCopy {
public:
    explicit ExactCopy(std::span<const std::byte> bytes) : size_(bytes.size()), bytes_(new std::byte[bytes.size()]) {
        for (std::size_t i = 0; i < size_; ++i) bytes_[i] = bytes[i];
    }
    [[nodiscard]] std::span<const std::byte> span() const { return {bytes_.get(), size_}; }
    [[nodiscard]] std::span<std::byte> writable() { return {bytes_.get(), size_}; }

private:
    std::size_t size_;
    std::unique_ptr<std::byte[]> bytes_;
};

/// The bytes of a hexadecimal text; blanks are skipped.
[[nodiscard]] inline std::vector<std::byte> from_hex(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::vector<std::byte> bytes;
    int high = -1;
    for (const char c : text) {
        const auto digit = kDigits.find(c);
        if (digit == std::string_view::npos) continue;
        if (high < 0) {
            high = static_cast<int>(digit);
        } else {
            bytes.push_back(static_cast<std::byte>(high * 16 + static_cast<int>(digit)));
            high = -1;
        }
    }
    return bytes;
}

}  // namespace millpond::feed
