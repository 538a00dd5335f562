#pragma once

#include <cstdint>
#include <memory>

#include <millpond/engine/session_options.hpp>
#include <millpond/fix/message_store.hpp>

namespace millpond::engine {

/// Throws std::invalid_argument that names the session if its store is too small for its messages.
void check_store(const SessionOptions& options);

/// Opens the session's store, in memory or in files. Throws like check_store and fix::FileStore.
[[nodiscard]] std::unique_ptr<fix::MessageStore> open_store(const SessionOptions& options, std::int64_t utc_ns);

}  // namespace millpond::engine
