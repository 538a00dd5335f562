#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace millpond::engine {

/// Buffer of received bytes that are not a complete message yet.
///
/// Threads: one. Memory: allocated in the constructor.
class InputBuffer {
public:
    explicit InputBuffer(std::size_t bytes) : bytes_(bytes) {}

    [[nodiscard]] std::span<const std::byte> filled() const noexcept { return {bytes_.data() + begin_, end_ - begin_}; }
    /// Free space after the bytes; moves them to the start if it is too small.
    [[nodiscard]] std::span<std::byte> free_space() noexcept {
        if (begin_ != 0 && bytes_.size() - end_ < bytes_.size() / 2) {
            std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
        }
        return {bytes_.data() + end_, bytes_.size() - end_};
    }
    void add(std::size_t bytes) noexcept { end_ += bytes; }
    void consume(std::size_t bytes) noexcept {
        begin_ += bytes;
        if (begin_ == end_) begin_ = end_ = 0;
    }
    void clear() noexcept { begin_ = end_ = 0; }
    /// Replaces the contents by those of `other`. Returns false if they do not fit.
    [[nodiscard]] bool copy_from(const InputBuffer& other) noexcept {
        clear();
        const auto bytes = other.filled();
        if (bytes.size() > bytes_.size()) return false;
        std::memcpy(bytes_.data(), bytes.data(), bytes.size());
        end_ = bytes.size();
        return true;
    }

private:
    std::vector<std::byte> bytes_;
    std::size_t begin_{0};
    std::size_t end_{0};
};

}  // namespace millpond::engine
