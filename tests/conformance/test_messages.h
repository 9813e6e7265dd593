#pragma once
// Messages for tests of sinks: made of values, owned by the object. Used by one thread at a time.

#include <memory>
#include <string_view>
#include <vector>

#include "dedup/sink/sink.h"

namespace onceward::support {

Value null_value();
Value boolean(bool value);
Value integer(std::int64_t value);
Value natural(std::uint64_t value);
Value real(double value);
Value number(std::string_view text);
Value text(std::string_view text);
Value bytes(std::string_view text);
Value json(std::string_view text);
Value timestamp(std::int64_t microseconds);

class TestMessages {
  public:
    // A message of partition 0 at the next offset; texts are copied.
    Message& add(const std::vector<Value>& fields);
    Message& remove(const std::vector<Value>& fields);
    // Runs Sink::encode() on each; the number of rejections.
    int encode(const Sink& sink);
    std::vector<const Message*> all() const;
    Message& operator[](std::size_t index) { return *messages_[index]; }
    std::pmr::memory_resource& arena() { return arena_; }

  private:
    std::pmr::monotonic_buffer_resource arena_;
    std::vector<std::unique_ptr<Message>> messages_;
    Offset next_offset_{0};
};

}  // namespace onceward::support
