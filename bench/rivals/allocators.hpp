#pragma once

#include <cstddef>
#include <cstdlib>

#include <dlfcn.h>

#ifdef MILLPOND_RIVAL_CRATES
extern "C" {
void* mi_malloc(std::size_t bytes);
void mi_free(void* block);
void* sn_rust_alloc(std::size_t alignment, std::size_t bytes);
void sn_rust_dealloc(void* block, std::size_t alignment, std::size_t bytes);
}
#endif

/// General allocators with the interface of a pool: blocks of one size, acquired and released on any thread.
namespace millpond::bench {

/// The C library's.
class GlibcBlocks {
public:
    GlibcBlocks(std::size_t bytes, std::size_t) : bytes_(bytes) {}
    void* acquire() { return std::malloc(bytes_); }
    void release(void* block) { std::free(block); }

private:
    std::size_t bytes_;
};

#ifdef MILLPOND_RIVAL_CRATES
/// mimalloc 3 of the crate libmimalloc-sys.
class Mimalloc3Blocks {
public:
    Mimalloc3Blocks(std::size_t bytes, std::size_t) : bytes_(bytes) {}
    void* acquire() { return mi_malloc(bytes_); }
    void release(void* block) { mi_free(block); }

private:
    std::size_t bytes_;
};

/// snmalloc 0.7 of the crate snmalloc-sys.
class SnmallocBlocks {
public:
    SnmallocBlocks(std::size_t bytes, std::size_t) : bytes_(bytes) {}
    void* acquire() { return sn_rust_alloc(kAlignment, bytes_); }
    void release(void* block) { sn_rust_dealloc(block, kAlignment, bytes_); }

private:
    static constexpr std::size_t kAlignment = 16;
    std::size_t bytes_;
};
#endif

/// The two functions of an allocator in a shared library, loaded when the bench runs.
struct LibraryAllocator {
    const char* name;
    void* (*allocate)(std::size_t bytes){nullptr};
    void (*deallocate)(void* block){nullptr};

    LibraryAllocator(const char* allocator, const char* library, const char* allocate_name, const char* deallocate_name)
        : name(allocator) {
        void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) return;
        allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(handle, allocate_name));
        deallocate = reinterpret_cast<void (*)(void*)>(dlsym(handle, deallocate_name));
    }
    [[nodiscard]] bool present() const { return allocate != nullptr && deallocate != nullptr; }
};

class LibraryBlocks {
public:
    LibraryBlocks(const LibraryAllocator& allocator, std::size_t bytes) : allocator_(allocator), bytes_(bytes) {}
    void* acquire() { return allocator_.allocate(bytes_); }
    void release(void* block) { allocator_.deallocate(block); }

private:
    LibraryAllocator allocator_;
    std::size_t bytes_;
};

/// jemalloc's own functions, which have flags.
struct Jemalloc {
    using Mallocx = void* (*)(std::size_t, int);
    using Sdallocx = void (*)(void*, std::size_t, int);
    Mallocx allocate{nullptr};
    Sdallocx deallocate{nullptr};

    Jemalloc() {
        // The program is linked with it because its thread-local storage must be reserved at program start.
        void* const handle = dlopen("libjemalloc.so.2", RTLD_NOW | RTLD_NOLOAD);
        if (handle == nullptr) return;
        allocate = reinterpret_cast<Mallocx>(dlsym(handle, "mallocx"));
        deallocate = reinterpret_cast<Sdallocx>(dlsym(handle, "sdallocx"));
    }
    [[nodiscard]] bool present() const { return allocate != nullptr && deallocate != nullptr; }
};

class JemallocBlocks {
public:
    JemallocBlocks(const Jemalloc& allocator, std::size_t bytes) : allocator_(allocator), bytes_(bytes) {}
    void* acquire() { return allocator_.allocate(bytes_, 0); }
    void release(void* block) { allocator_.deallocate(block, bytes_, 0); }

private:
    Jemalloc allocator_;
    std::size_t bytes_;
};

}  // namespace millpond::bench
