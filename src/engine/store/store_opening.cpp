#include "src/engine/store/store_opening.hpp"

#include <stdexcept>
#include <string>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/store_identity.hpp>

namespace millpond::engine {
namespace {

fix::FileStore::Options file_options(const SessionOptions& options) {
    const auto& store = options.store;
    return {.data_bytes = store.bytes,
            .segments = store.segments,
            .min_bytes = fix::MessageStore::min_bytes(options.config.max_message_bytes),
            .keep_ns = store.keep.count(),
            .resident_bytes = store.resident_bytes,
            .durability = store.durability,
            .interval_ns = store.sync_interval.count(),
            .identity = fix::StoreIdentity::of(options.config),
            .file_mode = store.file_mode};
}

}  // namespace

void check_store(const SessionOptions& options) {
    constexpr std::size_t kMinGrowing = 4;
    const auto& store = options.store;
    const auto in_file = store.segments == 0 ? kMinGrowing : store.segments;
    const auto segments = store.file.empty() ? 1 : in_file;
    const auto max_bytes = options.config.max_message_bytes;
    if (fix::MessageStore::accepts(store.bytes / segments, max_bytes)) return;
    const auto in_segments = segments == 1 ? "" : " in " + std::to_string(segments) + " segments";
    throw std::invalid_argument(
        fix::StoreIdentity::of(options.config).name() + ": a store of " + std::to_string(store.bytes) + " bytes" +
        in_segments + " is too small for messages of " + std::to_string(max_bytes) + " bytes; it needs " +
        std::to_string(segments) + " times " + std::to_string(fix::MessageStore::min_bytes(max_bytes)));
}

std::unique_ptr<fix::MessageStore> open_store(const SessionOptions& options, std::int64_t utc_ns) {
    check_store(options);
    const auto& store = options.store;
    if (store.file.empty()) {
        auto memory = std::make_unique<fix::MemoryStore>(utc_ns, fix::ByteCount{store.bytes});
        if (store.next_sender != 1) memory->set_next_sender(store.next_sender);
        memory->set_next_target(store.next_target);
        return memory;
    }
    return std::make_unique<fix::FileStore>(store.file, utc_ns, file_options(options));
}

}  // namespace millpond::engine
