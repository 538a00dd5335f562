#pragma once

#include <cstddef>
#include <string>

#include <quickfix/MessageStore.h>
#include <quickfix/SessionID.h>

// C++14: QuickFIX's headers do not compile with a newer standard.
namespace millpond {
namespace quickfix {

struct StoreOptions {
    /// Folder of the sessions' files, which are named after their ids; empty: in memory.
    std::string folder{};
    /// Capacity for messages; the oldest are overwritten.
    std::size_t data_bytes = std::size_t{64} << 20U;
    /// Whether to wait for the disk after each message.
    bool sync_each = false;
};

/// millpond's message stores for sessions of QuickFIX: pass it to FIX::Initiator or FIX::Acceptor in place of
/// FIX::FileStoreFactory. Link millpond::quickfix, which exists if QuickFIX was found.
///
/// Threads: QuickFIX calls a session's store under the session's lock.
/// Memory:  data_bytes and an index for each session, allocated when it is created.
class StoreFactory : public FIX::MessageStoreFactory {
public:
    explicit StoreFactory(const StoreOptions& options) : options_(options) {}

    /// Throws std::exception with the file's name if it cannot be opened.
    FIX::MessageStore* create(const FIX::SessionID& session) override;
    void destroy(FIX::MessageStore* store) override;

private:
    StoreOptions options_;
};

}  // namespace quickfix
}  // namespace millpond
