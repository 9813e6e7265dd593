#include "consumer/decode/avro_reader.h"

#include <algorithm>
#include <limits>

#include "consumer/decode/decoder.h"
#include "dedup/message/message.h"

namespace onceward {
namespace {

using Type = AvroSchema::Type;

constexpr const char* cut_short = "it ends too early";

}  // namespace

bool AvroReader::fault(const char* what) {
    if (fault_ == nullptr) fault_ = what;
    return false;
}

bool AvroReader::in_field(const Node& record, std::size_t field) {
    // For a fault deep inside, only the outer fields are named.
    if (depth_ < 8) where_.insert(0, "/" + record.names[field]);
    return false;
}

std::string AvroReader::fault_text() const {
    std::string text = fault_ == nullptr ? "" : fault_;
    if (!where_.empty()) text += ", in `" + where_ + "`";
    return text;
}

bool AvroReader::enter() {
    if (++depth_ > AvroSchema::max_depth) return fault("it nests too deep");
    if (visits_left_ == 0) return fault("it has far more values than bytes");
    --visits_left_;
    return true;
}

bool AvroReader::number(std::int64_t& number) {
    std::uint64_t raw = 0;
    const std::size_t most = std::min<std::size_t>(rest_.size(), 10);
    for (std::size_t i = 0; i < most; ++i) {
        const auto byte = static_cast<std::uint8_t>(rest_[i]);
        if (i == 9 && byte > 1) break;
        raw |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) != 0) continue;
        rest_.remove_prefix(i + 1);
        number = static_cast<std::int64_t>((raw >> 1) ^ (0U - (raw & 1U)));
        return true;
    }
    return fault(most < 10 ? cut_short : "a number has more than 64 bits");
}

bool AvroReader::number32(std::int64_t& value) {
    if (!number(value)) return false;
    if (value >= std::numeric_limits<std::int32_t>::min() &&
        value <= std::numeric_limits<std::int32_t>::max()) {
        return true;
    }
    return fault("an int has more than 32 bits");
}

bool AvroReader::take(std::size_t size, std::string_view& bytes) {
    if (size > rest_.size()) return fault(cut_short);
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
}

bool AvroReader::sized(std::string_view& bytes) {
    std::int64_t size = 0;
    if (!number(size)) return false;
    if (size < 0) return fault("a length is negative");
    return take(static_cast<std::size_t>(size), bytes);
}

bool AvroReader::text(std::string_view& text) {
    if (!sized(text)) return false;
    return is_utf8(text) || fault("a string is not UTF-8");
}

bool AvroReader::boolean(bool& boolean) {
    std::string_view byte;
    if (!take(1, byte)) return false;
    boolean = byte.front() == '\1';
    return boolean || byte.front() == '\0' || fault("a boolean is neither 0 nor 1");
}

bool AvroReader::symbol(const Node& enumeration, std::size_t& position) {
    std::int64_t number = 0;
    if (!number32(number)) return false;
    position = static_cast<std::size_t>(number);
    if (number >= 0 && position < enumeration.names.size()) return true;
    return fault("an enum has a symbol that its schema lacks");
}

bool AvroReader::branch(const Node& choice, NodeId& id) {
    std::int64_t position = 0;
    if (!number(position)) return false;
    if (position < 0 || static_cast<std::uint64_t>(position) >= choice.children.size()) {
        return fault("a union has a branch that its schema lacks");
    }
    id = choice.children[static_cast<std::size_t>(position)];
    return true;
}

bool AvroReader::block(std::int64_t& count, std::size_t& end) {
    if (!number(count)) return false;
    if (count >= 0) return true;
    if (count == std::numeric_limits<std::int64_t>::min()) return fault("a block is too long");
    count = -count;
    std::int64_t size = 0;
    if (!number(size)) return false;
    if (size < 0 || static_cast<std::uint64_t>(size) > rest_.size()) {
        return fault("a block has another size");
    }
    end = rest_.size() - static_cast<std::size_t>(size);
    return true;
}

bool AvroReader::skip(NodeId id) {
    const Level level(*this);
    if (!level.good()) return false;
    const Node& node = schema_.node(id);
    std::string_view bytes;
    std::int64_t ignored = 0;
    switch (node.type) {
        case Type::null: return true;
        case Type::boolean: {
            bool either = false;
            return boolean(either);
        }
        case Type::int32: return number32(ignored);
        case Type::int64: return number(ignored);
        case Type::float32: return take(4, bytes);
        case Type::float64: return take(8, bytes);
        case Type::bytes: return sized(bytes);
        case Type::string: return text(bytes);
        case Type::fixed: return take(node.size, bytes);
        case Type::enumeration: {
            std::size_t position = 0;
            return symbol(node, position);
        }
        case Type::record:
            for (std::size_t i = 0; i < node.children.size(); ++i) {
                if (!skip(node.children[i])) return in_field(node, i);
            }
            return true;
        case Type::array: return items([&] { return skip(node.children[0]); });
        case Type::map: return items([&] { return text(bytes) && skip(node.children[0]); });
        case Type::choice: {
            NodeId chosen = 0;
            return branch(node, chosen) && skip(chosen);
        }
    }
    return fault("its schema has an unknown type");
}

bool AvroReader::value(NodeId id, Value& value) {
    const Level level(*this);
    if (!level.good()) return false;
    const Node& node = schema_.node(id);
    if (node.type == Type::choice) {
        NodeId chosen = 0;
        return branch(node, chosen) && this->value(chosen, value);
    }
    if (node.type == Type::record || node.type == Type::array || node.type == Type::map) {
        std::string text;
        if (!json(id, text)) return false;
        const bool number = node.connect == ConnectType::variable_decimal;
        value = {number ? Value::Kind::number : Value::Kind::json, {}, keep(arena_, text)};
        return true;
    }
    if (!scalar(node, value)) return false;
    if (value.text.data() == made_.data() || node.type == Type::enumeration) {
        // DANGER: copy a symbol too. It belongs to the schema, which may be gone before its
        // messages are written.
        value.text = keep(arena_, value.text);
    }
    return true;
}

}  // namespace onceward
