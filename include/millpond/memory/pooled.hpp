#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace millpond::memory {

/// Takes blocks back, whatever is in them.
class BlockHome {
public:
    virtual void release_block(void* block) noexcept = 0;

protected:
    BlockHome() = default;
    ~BlockHome() = default;
};

/// The owner of one object in a pool: destroys it and releases its block, like a unique_ptr.
///
/// Threads: one at a time; may be moved to another thread and end there.
/// Memory:  two pointers.
template <class T>
class Pooled {
public:
    constexpr Pooled() noexcept = default;
    constexpr Pooled(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor): as unique_ptr
    /// Takes ownership of an object at the start of a block of `home`.
    Pooled(T* object, BlockHome& home) noexcept : object_(object), home_(&home) {}

    Pooled(Pooled&& other) noexcept : object_(std::exchange(other.object_, nullptr)), home_(other.home_) {}
    /// From a derived class. The base needs a virtual destructor, as for unique_ptr, by which the block is found too.
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
        void* block = nullptr;
        if constexpr (std::is_polymorphic_v<T>) {
            block = dynamic_cast<void*>(object_);  // The start of the whole object, whatever base this points to.
        } else {
            block = const_cast<std::remove_cv_t<T>*>(object_);
        }
        std::destroy_at(std::exchange(object_, nullptr));
        home_->release_block(block);
    }

    /// Lets the object go, for a ring that carries raw pointers: MessagePool::adopt or release takes it from there.
    [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }

    void swap(Pooled& other) noexcept {
        std::swap(object_, other.object_);
        std::swap(home_, other.home_);
    }

    [[nodiscard]] T* get() const noexcept { return object_; }
    [[nodiscard]] T& operator*() const noexcept { return *object_; }
    [[nodiscard]] T* operator->() const noexcept { return object_; }
    [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    template <class>
    friend class Pooled;

    T* object_{nullptr};
    BlockHome* home_{nullptr};
};

}  // namespace millpond::memory
