#include <millpond/memory/owner_lock.hpp>

#include <unistd.h>

#include <cerrno>

#include "named_object.hpp"

namespace millpond::memory {

OwnerLock OwnerLock::acquire(std::string_view name) {
    auto lock = try_acquire(name);
    if (!lock) fail(EBUSY, lock.path_ + ": another process owns it");
    return lock;
}

OwnerLock OwnerLock::try_acquire(std::string_view name) {
    auto object = try_open_lock_object(name);
    OwnerLock lock;
    lock.descriptor_ = std::move(object.descriptor);
    lock.name_ = name;
    lock.path_ = std::move(object.path);
    lock.removed_ = std::move(object.removed);
    lock.pid_ = getpid();
    return lock;
}

OwnerLock::~OwnerLock() {
    if (descriptor_ && is_ours() && leads_to(path_, descriptor_.get())) unlink(path_.c_str());
}

bool OwnerLock::is_ours() const noexcept { return pid_ == getpid(); }

}  // namespace millpond::memory
