#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace millpond::memory {

/// Interface of pools for Pooled: releases blocks, whatever their contents.
class BlockHome {
public:
    virtual void release_block(void* block) noexcept = 0;

    /// True while the home itself destroys all its objects: owners must not.
    [[nodiscard]] bool is_ending() const noexcept { return ending_; }

protected:
    BlockHome() = default;
    ~BlockHome() = default;
    bool ending_{false};
};

/// Owner of an object in a pool: destroys the object and releases its block, like a unique_ptr.
///
/// Threads: one at a time; may be moved to another thread and destroyed there.
/// Memory:  two pointers.
template <class T>
class Pooled {
public:
    constexpr Pooled() noexcept = default;
    constexpr Pooled(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor): as unique_ptr
    /// Takes ownership of an object at the start of a block of `home`.
    Pooled(T* object, BlockHome& home) noexcept : object_(object), home_(&home) {}

    Pooled(Pooled&& other) noexcept : object_(std::exchange(other.object_, nullptr)), home_(other.home_) {}
    /// Converts from a derived class. The base needs a virtual destructor, as for unique_ptr; it also locates the
    /// block.
    template <class Derived>
        requires(!std::is_same_v<Derived, T> && std::is_convertible_v<Derived*, T*> && std::has_virtual_destructor_v<T>)
    Pooled(Pooled<Derived>&& other) noexcept  // NOLINT(google-explicit-constructor): as unique_ptr
        : home_(other.home_) {
        object_ = other.release();
    }
    Pooled& operator=(Pooled&& other) noexcept {
        Pooled(std::move(other)).swap(*this);
        return *this;
    }
    ~Pooled() { reset(); }

    /// Destroys the object and releases its block.
    void reset() noexcept {
        if (object_ == nullptr) return;
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (home_->is_ending()) [[unlikely]] {
                object_ = nullptr;
                return;
            }
        }
        void* block = nullptr;
        if constexpr (std::is_polymorphic_v<T>) {
            block = dynamic_cast<void*>(object_);  // The start of the whole object, whatever base this points to.
        } else {
            block = const_cast<std::remove_cv_t<T>*>(object_);
        }
        std::destroy_at(std::exchange(object_, nullptr));
        home_->release_block(block);
    }

    /// Gives up ownership, for a ring of raw pointers: pass the object to MessagePool::adopt or release later.
    [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }

    void swap(Pooled& other) noexcept {
        std::swap(object_, other.object_);
        std::swap(home_, other.home_);
    }

    [[nodiscard]] T* get() const noexcept { return object_; }
    [[nodiscard]] T& operator*() const noexcept { return *object_; }
    [[nodiscard]] T* operator->() const noexcept { return object_; }
    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
    [[nodiscard]] bool operator==(std::nullptr_t) const noexcept { return object_ == nullptr; }

private:
    template <class>
    friend class Pooled;

    T* object_{nullptr};
    BlockHome* home_{nullptr};
};

}  // namespace millpond::memory
