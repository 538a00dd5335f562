#include "src/engine/session/output_path.hpp"

#include <algorithm>

namespace millpond::engine {
namespace {

constexpr std::size_t kOutputPieces = 8192;
constexpr std::size_t kMessagesCopied = 4;  // minimum, in messages of maximum size
constexpr std::size_t kMaxSealed = 1024;    // beyond this number the newest messages share a serial

}  // namespace

OutputPath::OutputPath(HostConnection& connection, fix::MessageStore& store, fix::FileStore* file,
                       const std::string& name, const SessionLimits& limits, std::size_t max_message_bytes,
                       const core::Moment& stamp)
    : connection_(&connection),
      store_(&store),
      durable_(file != nullptr && file->durability() == fix::Durability::message ? file : nullptr),
      name_(&name),
      stamp_(&stamp),
      pending_bytes_(limits.pending_bytes),
      stalled_ns_(limits.stalled.count()),
      queue_(kOutputPieces, std::max(limits.pending_bytes, kMessagesCopied * max_message_bytes)) {}

void OutputPath::clear() noexcept {
    queue_.clear();
    moved_ns_ = 0;
    sealed_.clear();
    sealed_pieces_ = 0;
}

void OutputPath::set_holding(bool holding) noexcept {
    holding_ = holding;
    if (holding) {
        sealed_.reserve(kMaxSealed);
        return;
    }
    if (queue_.held() != 0 && moved_ns_ == 0) moved_ns_ = stamp_->monotonic_ns;
    queue_.release(queue_.held());
    sealed_.clear();
    sealed_pieces_ = 0;
}

void OutputPath::seal(std::uint64_t serial) noexcept {
    const auto pieces = queue_.held() - sealed_pieces_;
    if (pieces == 0) return;
    sealed_pieces_ += pieces;
    if (sealed_.size() < kMaxSealed) {
        sealed_.push_back({serial, pieces});
        return;
    }
    sealed_.back() = {serial, sealed_.back().pieces + pieces};
}

void OutputPath::release(std::uint64_t serial) noexcept {
    std::size_t pieces = 0;
    const auto first_left = std::ranges::find_if(sealed_, [&](const Sealed& one) {
        if (one.serial > serial) return true;
        pieces += one.pieces;
        return false;
    });
    if (pieces == 0) return;
    sealed_.erase(sealed_.begin(), first_left);
    sealed_pieces_ -= pieces;
    queue_.release(pieces);
    if (moved_ns_ == 0) moved_ns_ = stamp_->monotonic_ns;
}

void OutputPath::make_durable() noexcept {
    if (durable_->sync_newest()) connection_->cut(Closed::store_failed);
}

/// Copies queued messages, which the reset store may overwrite. Returns false if they do not fit.
bool OutputPath::survive_reset() {
    const auto held_before = queue_.held();
    resets_seen_ = store_->counters().resets.read();
    if (queue_.empty()) return true;
    const auto left = queue_.copy();
    const auto held = queue_.copy_held();
    queue_.clear();
    const auto add = [&](const std::vector<char>& bytes) {
        return bytes.empty() || queue_.add_copy({bytes.data(), bytes.size()});
    };
    if (!add(left) || !add(held)) return false;
    if (held.empty()) return true;
    // Earlier messages wait for the newest serial too; messages added in this action are sealed with it.
    queue_.hold_newest();
    const bool all_sealed = !sealed_.empty() && sealed_pieces_ == held_before;
    const auto newest = sealed_.empty() ? 0 : sealed_.back().serial;
    sealed_.clear();
    sealed_pieces_ = 0;
    if (all_sealed) {
        sealed_.push_back({newest, 1});
        sealed_pieces_ = 1;
    }
    return true;
}

}  // namespace millpond::engine
