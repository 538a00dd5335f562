#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "apps/millpond/traffic/soupbin_server.hpp"

namespace millpond::traffic {

/// Messages that are all there from the start.
class FixedStream final : public SoupBinStream {
public:
    explicit FixedStream(std::vector<std::vector<std::byte>> messages) : messages_(std::move(messages)) {}
    [[nodiscard]] std::uint64_t available() const override { return messages_.size(); }
    [[nodiscard]] std::span<const std::byte> message(std::uint64_t number) const override {
        return messages_[number - 1];
    }
    [[nodiscard]] bool has_ended() const override { return true; }

private:
    std::vector<std::vector<std::byte>> messages_;
};

}  // namespace millpond::traffic
