#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/millpond/traffic/source.hpp"

namespace millpond::traffic::test {

/// A source of listed datagrams that reuses one buffer, like a file reader.
class ListSource final : public Source {
public:
    struct Item {
        std::int64_t due_ns;
        std::string text;
        std::uint32_t messages{1};
    };

    explicit ListSource(std::vector<Item> items) : items_(std::move(items)) {}

    [[nodiscard]] bool next(Outgoing& out) override {
        if (at_ == items_.size()) return false;
        const auto& item = items_[at_++];
        buffer_.assign(item.text.begin(), item.text.end());
        out = {item.due_ns, std::as_bytes(std::span(buffer_)), item.messages};
        return true;
    }

private:
    std::vector<Item> items_;
    std::size_t at_{0};
    std::string buffer_;
};

/// All datagrams of a source as texts, in order.
inline std::vector<std::string> texts_of(Source& source) {
    std::vector<std::string> texts;
    Outgoing datagram;
    while (source.next(datagram))
        texts.emplace_back(reinterpret_cast<const char*>(datagram.bytes.data()), datagram.bytes.size());
    return texts;
}

}  // namespace millpond::traffic::test
