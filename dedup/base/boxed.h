#pragma once
// A value that is hardly ever there: an optional that keeps it on the heap, so that an object which
// has an empty one is larger by a pointer alone. It owns the value, and can be moved only. Use by
// several threads: as that of std::unique_ptr.

#include <memory>
#include <optional>
#include <utility>

namespace onceward {

template <class T>
class Boxed {
  public:
    Boxed() = default;
    // Both implicit, so that it can be assigned to as an optional can.
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
