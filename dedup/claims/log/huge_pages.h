#pragma once
// Allocator for large arrays that are read at random: from 2 MiB on it asks the kernel for pages of
// that size (madvise(2), MADV_HUGEPAGE), as otherwise nearly each look misses the processor's table
// of pages too. Where the kernel gives none the memory is as any other. Thread-safe; throws
// std::bad_alloc.

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace onceward {

template <class T>
struct HugePages {
    using value_type = T;
    static constexpr std::size_t page_bytes = std::size_t{2} << 20;

    T* allocate(std::size_t count) {
        if (count * sizeof(T) < page_bytes) return std::allocator<T>().allocate(count);
        void* const memory = std::aligned_alloc(page_bytes, whole_pages(count));
        if (memory == nullptr) throw std::bad_alloc();
        madvise(memory, whole_pages(count), MADV_HUGEPAGE);
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) {
        if (count * sizeof(T) < page_bytes) return std::allocator<T>().deallocate(memory, count);
        std::free(memory);
    }
    friend bool operator==(HugePages, HugePages) { return true; }

  private:
    static std::size_t whole_pages(std::size_t count) {
        return (count * sizeof(T) + page_bytes - 1) / page_bytes * page_bytes;
    }
};

}  // namespace onceward
