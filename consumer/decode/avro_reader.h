#pragma once
// Reads Avro's binary encoding by the schema that it was written with. Lengths, counts, UTF-8,
// ranges, and that the value ends with the payload: all of this is checked even in skipped parts,
// so that the wanted fields do not decide which payloads are rejected.
// Belongs to one thread. Every function returns false after a fault; what was read means nothing
// then. Views point into the payload, or into the arena.

#include <cstdint>
#include <limits>
#include <memory_resource>
#include <string>
#include <string_view>

#include "consumer/decode/avro_schema.h"
#include "dedup/message/value.h"

namespace onceward {

class AvroReader {
  public:
    using NodeId = AvroSchema::NodeId;
    using Node = AvroSchema::Node;

    // `schema` and `arena` outlive it.
    AvroReader(const AvroSchema& schema, std::string_view payload, std::pmr::memory_resource& arena)
        : schema_(schema),
          arena_(arena),
          rest_(payload),
          // DANGER: a value may take no bytes, and a schema of thirty lines can ask for a thousand
          // million of such values. Only a limit on the number of visited values ends that.
          visits_left_(100'000 + 64 * payload.size()) {}

    bool skip(NodeId id);
    // A scalar, or a record, an array or a map in its JSON form.
    bool value(NodeId id, Value& value);
    // The branch of a union that the payload has.
    bool branch(const Node& choice, NodeId& id);
    bool key(std::string_view& key) { return text(key); }
    // Calls `item` for each item of an array, or each entry of a map; it reads the item, or with
    // key() the entry's key and then its value, and returns whether that was right.
    template <class Item>
    bool items(Item item);

    // For callers that read the fields of a record themselves: notes in which one the fault is.
    bool in_field(const Node& record, std::size_t field);
    bool fault(const char* what);
    // What is wrong; it contains nothing of the payload.
    std::string fault_text() const;

    std::string_view rest() const { return rest_; }
    // Goes back to what rest() was.
    void rewind(std::string_view rest) { rest_ = rest; }

    // Counts one level of nesting while it lives.
    class Level {
      public:
        explicit Level(AvroReader& reader) : reader_(reader), good_(reader.enter()) {}
        ~Level() { --reader_.depth_; }
        Level(const Level&) = delete;
        bool good() const { return good_; }

      private:
        AvroReader& reader_;
        bool good_;
    };

  private:
    // A whole number that fits into 64 or 32 bits.
    bool number(std::int64_t& number);
    bool number32(std::int64_t& number);
    bool take(std::size_t size, std::string_view& bytes);
    bool sized(std::string_view& bytes);
    bool text(std::string_view& text);
    bool boolean(bool& boolean);
    bool symbol(const Node& enumeration, std::size_t& position);
    template <class Real, class Bits>
    bool real(double& real);
    bool enter();
    bool block(std::int64_t& count, std::size_t& end);

    // A value that is neither a record, an array, a map nor a union. If its text is not a view of
    // the payload, it is in `made_`.
    bool scalar(const Node& node, Value& value);
    bool logical(const Node& node, std::int64_t number, Value& value);
    bool logical(const Node& node, std::string_view bytes, Value& value);
    bool connect(const Node& node, std::int64_t number, Value& value);
    bool moment(std::int64_t count, std::int64_t units_a_second, bool local, Value& value);
    Value made(Value::Kind kind) const { return {kind, {}, made_}; }
    bool json(NodeId id, std::string& out);
    bool json_of_record(const Node& node, std::string& out);
    bool variable_decimal(NodeId id, std::string& out);
    bool json_of_scalar(const Node& node, std::string& out);

    const AvroSchema& schema_;
    std::pmr::memory_resource& arena_;
    std::string_view rest_;
    std::uint64_t visits_left_;
    int depth_ = 0;
    const char* fault_ = nullptr;
    std::string where_;  // the fields around the fault, as a JSON pointer
    std::string made_;
};

template <class Item>
bool AvroReader::items(Item item) {
    constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();
    for (;;) {
        std::int64_t count = 0;
        std::size_t end = no_end;  // how many bytes are left after the block, if it says so
        if (!block(count, end)) return false;
        if (count == 0) return true;
        for (; count > 0; --count) {
            if (!item()) return false;
        }
        // Readers that skip a block by its size would continue elsewhere.
        if (end != no_end && rest_.size() != end) return fault("a block has another size");
    }
}

}  // namespace onceward
