#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/core/descriptor.hpp>

namespace millpond::memory {

/// Exclusive ownership of the shared memory object `name` on this machine, until the holder ends or dies.
///
/// Implemented as a write lock on the lock object /dev/shm/NAME.lock, which only its user may open. On the object
/// itself every user that may read it could hold a read lock and keep the owner out.
///
/// Threads: one makes, moves and destroys it.
/// Memory:  an empty file in shared memory, removed with the lock. After fork the child keeps the lock until it ends or
///          calls exec, but does not remove the file.
/// Source:  "Open file description locks" in fcntl(2).
class OwnerLock {
public:
    /// Owns nothing.
    OwnerLock() noexcept = default;

    /// Throws RegionError: EBUSY if another process holds the lock; EPERM, naming the user, if the lock object belongs
    /// to another user. Root removes such an object instead. Throws std::invalid_argument for names that Region::shared
    /// refuses.
    [[nodiscard]] static OwnerLock acquire(std::string_view name);

    /// Like acquire, but returns a lock that owns nothing if another process holds it.
    [[nodiscard]] static OwnerLock try_acquire(std::string_view name);

    OwnerLock(OwnerLock&& other) noexcept { swap(other); }
    OwnerLock& operator=(OwnerLock&& other) noexcept {
        OwnerLock(std::move(other)).swap(*this);
        return *this;
    }
    ~OwnerLock();

    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }
    /// Name of the shared object.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Objects of other users that acquire has removed, each with its path and user.
    [[nodiscard]] const std::vector<std::string>& removed() const noexcept { return removed_; }
    /// False in a process that was forked since.
    [[nodiscard]] bool is_ours() const noexcept;

private:
    void swap(OwnerLock& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        name_.swap(other.name_);
        path_.swap(other.path_);
        std::swap(pid_, other.pid_);
        removed_.swap(other.removed_);
    }

    core::Descriptor descriptor_;
    std::string name_;
    std::string path_;
    int pid_{0};
    std::vector<std::string> removed_;
};

}  // namespace millpond::memory
