#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>

#include <millpond/memory/residency.hpp>

namespace millpond::memory {

/// Zeroed pages that become present when they are used. Neighbours share a mapping in the kernel's list.
///
/// Threads: see OnDemandArray.
/// Memory:  address space; present pages only as far as they are used.
class OnDemandPages {
public:
    OnDemandPages() noexcept = default;
    /// Throws RegionError if there is no address space. bytes: 0 maps nothing.
    explicit OnDemandPages(std::size_t bytes);
    OnDemandPages(OnDemandPages&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    OnDemandPages& operator=(OnDemandPages&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~OnDemandPages();

    /// Releases ownership: the caller unmaps them.
    [[nodiscard]] std::span<std::byte> release() noexcept { return std::exchange(bytes_, {}); }
    /// Whole pages.
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

private:
    std::span<std::byte> bytes_;
};

/// Resource of which each allocation is OnDemandPages. Allocation throws RegionError.
[[nodiscard]] std::pmr::memory_resource* on_demand_resource() noexcept;

/// Array whose first elements are present from the start, and the others when they are used or asked for. All bytes are
/// zero at first, which must be a valid element.
///
/// Threads: one uses it; make_present on any.
/// Memory:  the pages that are present; see residency.hpp for what that means.
template <class T>
class OnDemandArray {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    OnDemandArray() noexcept = default;
    /// present: elements at the start that do not fault. Throws RegionError.
    explicit OnDemandArray(std::size_t size, std::size_t present = 0)
        : pages_(size * sizeof(T)),
          data_(reinterpret_cast<T*>(pages_.bytes().data())),
          size_(size),
          kept_bytes_(pages_end(pages_.bytes(), present * sizeof(T))) {
        if (kept_bytes_ != 0) memory::make_present(pages_.bytes().first(kept_bytes_), true);
    }

    [[nodiscard]] T* data() noexcept { return data_; }
    [[nodiscard]] const T* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
    [[nodiscard]] T* begin() noexcept { return data_; }
    [[nodiscard]] T* end() noexcept { return data_ + size_; }

    /// Makes all elements present, without changing them. Throws RegionError if memory is short.
    void make_present() const {
        if (size_ != 0) memory::make_present(pages_.bytes(), true);
    }
    /// Returns the pages after the first `present` elements to the kernel: their bytes are zero afterwards.
    void give_back() noexcept {
        if (kept_bytes_ < pages_.bytes().size()) drop_pages(pages_.bytes().subspan(kept_bytes_));
    }

private:
    OnDemandPages pages_;
    T* data_{nullptr};
    std::size_t size_{0};
    std::size_t kept_bytes_{0};
};

}  // namespace millpond::memory
