#pragma once

#include <cstdint>
#include <memory>

#include <millpond/engine/session_options.hpp>
#include <millpond/fix/message_store.hpp>
#include <millpond/fix/store_identity.hpp>

namespace millpond::engine {

[[nodiscard]] fix::StoreIdentity identity_of(const fix::SessionConfig& config);

/// Throws std::invalid_argument that names the session if its store would be too small for its messages.
void check_store(const SessionOptions& options);

/// The session's store, in memory or in files. Throws as check_store and fix::FileStore do.
[[nodiscard]] std::unique_ptr<fix::MessageStore> open_store(const SessionOptions& options, std::int64_t utc_ns);

}  // namespace millpond::engine
