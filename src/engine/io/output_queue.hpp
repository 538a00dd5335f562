#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace millpond::engine {

/// Output of a connection, in order: messages in the session's store, and copies of bytes that are not in the store
/// (resends). Bounded in pieces and in copied bytes. The newest pieces may be held back until they are released.
///
/// Threads: one. Memory: allocated in the constructor.
class OutputQueue {
public:
    OutputQueue(std::size_t pieces, std::size_t copy_bytes) : pieces_(pieces), copies_(copy_bytes) {}

    /// Adds bytes that must not move until they are written. Returns false if there are too many pieces.
    [[nodiscard]] bool add_stored(std::uint64_t sequence, std::string_view bytes) noexcept {
        if (count_ == pieces_.size()) return false;
        push({.bytes = bytes, .sequence = sequence, .copy_end = 0});
        return true;
    }
    /// Adds a copy of the bytes. Returns false if it does not fit.
    [[nodiscard]] bool add_copy(std::string_view bytes) noexcept { return add_copies(bytes, {}); }
    /// Adds a copy of `bytes` and `more` as one piece. Returns false if it does not fit.
    [[nodiscard]] bool add_copies(std::string_view bytes, std::string_view more) noexcept {
        const auto size = bytes.size() + more.size();
        if (count_ == pieces_.size() || size > copies_.size()) return false;
        auto begin = copy_end_;
        const auto place = begin % copies_.size();
        if (place + size > copies_.size()) begin += copies_.size() - place;  // a piece is contiguous
        if (begin + size - copy_begin_ > copies_.size()) return false;
        auto* const to = copies_.data() + begin % copies_.size();
        std::memcpy(to, bytes.data(), bytes.size());
        if (!more.empty()) std::memcpy(to + bytes.size(), more.data(), more.size());
        copy_end_ = begin + size;
        push({.bytes = {to, size}, .sequence = 0, .copy_end = copy_end_});
        return true;
    }

    /// Holds back the newest piece.
    void hold_newest() noexcept {
        ++held_;
        held_bytes_ += at(count_ - 1).bytes.size();
    }
    /// Releases the oldest pieces that are held back, so that they may be written.
    void release(std::size_t pieces) noexcept {
        for (; pieces != 0 && held_ != 0; --pieces, --held_) held_bytes_ -= at(count_ - held_).bytes.size();
    }
    [[nodiscard]] std::size_t held() const noexcept { return held_; }
    [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }

    /// A copy of all bytes that may be written.
    [[nodiscard]] std::vector<char> copy() const { return copied(0, count_ - held_); }
    /// A copy of all bytes that are held back.
    [[nodiscard]] std::vector<char> copy_held() const { return copied(count_ - held_, count_); }
    void clear() noexcept {
        first_ = count_ = bytes_ = 0;
        held_ = held_bytes_ = 0;
        copy_begin_ = copy_end_ = 0;
    }

    /// Stores the first pieces in `into`, as many as fit. Returns their number.
    [[nodiscard]] std::size_t front(std::span<std::string_view> into) const noexcept {
        const auto count = std::min(into.size(), count_ - held_);
        for (std::size_t i = 0; i < count; ++i) into[i] = at(i).bytes;
        return count;
    }
    /// Removes the first `bytes`, which were written. Returns the number of the last message that is completely
    /// written; 0 if there is none.
    std::uint64_t written(std::size_t bytes) noexcept {
        std::uint64_t last = 0;
        bytes_ -= bytes;
        while (count_ != 0 && bytes >= at(0).bytes.size()) {
            const auto& piece = at(0);
            bytes -= piece.bytes.size();
            if (piece.sequence != 0) last = piece.sequence;
            if (piece.copy_end != 0) copy_begin_ = piece.copy_end;
            first_ = (first_ + 1) % pieces_.size();
            --count_;
        }
        if (bytes != 0) pieces_[first_].bytes.remove_prefix(bytes);
        return last;
    }

    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    /// Whether any bytes may be written.
    [[nodiscard]] bool is_ready() const noexcept { return count_ != held_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t pieces() const noexcept { return count_; }
    [[nodiscard]] std::size_t max_pieces() const noexcept { return pieces_.size(); }
    [[nodiscard]] bool copies_are_half_full() const noexcept { return (copy_end_ - copy_begin_) > copies_.size() / 2; }

private:
    struct Piece {
        std::string_view bytes{};
        std::uint64_t sequence{0};  // 0: the piece is a copy
        std::size_t copy_end{0};    // end of the copy; 0: the piece is in the store
    };
    [[nodiscard]] std::vector<char> copied(std::size_t from, std::size_t to) const {
        std::vector<char> kept;
        kept.reserve(bytes_);
        for (auto i = from; i < to; ++i) kept.insert(kept.end(), at(i).bytes.begin(), at(i).bytes.end());
        return kept;
    }
    void push(const Piece& piece) noexcept {
        pieces_[(first_ + count_) % pieces_.size()] = piece;
        ++count_;
        bytes_ += piece.bytes.size();
    }
    [[nodiscard]] const Piece& at(std::size_t i) const noexcept { return pieces_[(first_ + i) % pieces_.size()]; }

    std::vector<Piece> pieces_;
    std::size_t first_{0};
    std::size_t count_{0};
    std::size_t bytes_{0};
    std::size_t held_{0};  // number of pieces held back, at the end
    std::size_t held_bytes_{0};
    std::vector<char> copies_;
    std::size_t copy_begin_{0};  // positions only grow; the index is the position modulo the size
    std::size_t copy_end_{0};
};

}  // namespace millpond::engine
