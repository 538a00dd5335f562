#include "output_path.hpp"

#include <algorithm>

namespace millpond::engine {
namespace {

constexpr std::size_t kOutputPieces = 8192;
constexpr std::size_t kMessagesCopied = 4;  // of the longest, where that is more than may wait

}  // namespace

OutputPath::OutputPath(HostConnection& connection, fix::MessageStore& store, fix::FileStore* file,
                       const std::string& name, const SessionLimits& limits, std::size_t longest_message,
                       const core::Moment& stamp)
    : connection_(&connection),
      store_(&store),
      durable_(file != nullptr && file->durability() == fix::Durability::message ? file : nullptr),
      name_(&name),
      stamp_(&stamp),
      pending_bytes_(limits.pending_bytes),
      stalled_ns_(limits.stalled.count()),
      queue_(kOutputPieces, std::max(limits.pending_bytes, kMessagesCopied * longest_message)) {}

void OutputPath::clear() noexcept {
    queue_.clear();
    moved_ns_ = 0;
}

void OutputPath::make_durable() noexcept {
    if (durable_->sync_newest()) connection_->cut(Closed::store_failed);
}

/// What waits lay in a store that was reset and may overwrite it. False: it is lost.
bool OutputPath::survive_reset() {
    resets_seen_ = store_->counters().resets.read();
    if (queue_.empty()) return true;
    const auto left = queue_.copy();
    queue_.clear();
    return queue_.add_copy({left.data(), left.size()});
}

}  // namespace millpond::engine
