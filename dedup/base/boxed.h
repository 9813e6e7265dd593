#pragma once
// An optional for a value that is rarely present. The value is on the heap, so that an empty one
// adds only a pointer to its object. It owns the value, and can be moved but not copied. As
// thread-safe as std::unique_ptr.

#include <memory>
#include <optional>
#include <utility>

namespace onceward {

template <class T>
class Boxed {
  public:
    Boxed() = default;
    // Both are implicit, so that a value can be assigned as to an optional.
    Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Boxed(std::optional<T> value) {
        if (value) value_ = std::make_unique<T>(*std::move(value));
    }
    bool has_value() const { return value_ != nullptr; }
    explicit operator bool() const { return has_value(); }
    // REQUIRES: a value.
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }
    T* operator->() { return value_.get(); }
    const T* operator->() const { return value_.get(); }
    void reset() { value_.reset(); }

  private:
    std::unique_ptr<T> value_;
};

}  // namespace onceward
