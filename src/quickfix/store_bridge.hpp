#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

// C++14: bridge between QuickFIX, which does not compile with a newer standard, and the component fix, which needs
// C++23.
namespace millpond {
namespace quickfix {

/// A millpond::fix::MessageStore with QuickFIX's order of calls: a message is set first, its number is incremented
/// later.
class StoreBridge {
public:
    /// Identity of the session of a file, with QuickFIX's names.
    struct Identity {
        std::string begin_string;
        std::string sender_comp_id;
        std::string target_comp_id;
        std::string qualifier;
    };

    /// file: empty: in memory.
    static std::unique_ptr<StoreBridge> open(const std::string& file, const Identity& identity, std::size_t data_bytes,
                                             bool sync_each, std::int64_t utc_ns);
    virtual ~StoreBridge() = default;

    /// Returns false if the store refuses the message.
    virtual bool set(std::uint64_t sequence, const std::string& message) = 0;
    virtual void get(std::uint64_t first, std::uint64_t last,
                     const std::function<void(const char*, std::size_t)>& visit) const = 0;
    virtual std::uint64_t next_sender() const = 0;
    virtual std::uint64_t next_target() const = 0;
    virtual void set_next_sender(std::uint64_t sequence) = 0;
    virtual void set_next_target(std::uint64_t sequence) = 0;
    virtual std::int64_t creation_utc_ns() const = 0;
    virtual void reset(std::int64_t utc_ns) = 0;
    virtual void refresh() = 0;
};

}  // namespace quickfix
}  // namespace millpond
