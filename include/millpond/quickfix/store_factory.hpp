#pragma once

#include <cstddef>
#include <string>

#include <quickfix/MessageStore.h>
#include <quickfix/SessionID.h>

// C++14, because QuickFIX's headers cannot be compiled as anything newer.
namespace millpond {
namespace quickfix {

struct StoreOptions {
    /// Where each session has its files, named after its ids; empty: in memory.
    std::string folder;
    /// Of messages; the oldest make room for the newest.
    std::size_t data_bytes = std::size_t{64} << 20U;
    /// Whether the disk is waited for after each message.
    bool sync_each = false;
};

/// millpond's message stores for sessions of QuickFIX: FIX::Initiator and FIX::Acceptor take it as they take
/// FIX::FileStoreFactory. Link millpond::quickfix, which is there where QuickFIX was found.
///
/// Threads: as QuickFIX uses its stores: a session's is called under the session's lock.
/// Memory:  data_bytes and an index a session, taken when it is created.
class StoreFactory : public FIX::MessageStoreFactory {
public:
    explicit StoreFactory(const StoreOptions& options) : options_(options) {}

    /// Throws std::exception with the file's name when it cannot be had.
    FIX::MessageStore* create(const FIX::SessionID& session) override;
    void destroy(FIX::MessageStore* store) override;

private:
    StoreOptions options_;
};

}  // namespace quickfix
}  // namespace millpond
