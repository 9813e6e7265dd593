#include "tests/conformance/test_messages.h"

#include <memory>

namespace onceward::support {
namespace {

Value with_text(Value::Kind kind, std::string_view text) {
    Value value;
    value.kind = kind;
    value.text = text;
    return value;
}

Value with_integer(Value::Kind kind, std::int64_t integer) {
    Value value;
    value.kind = kind;
    value.integer = integer;
    return value;
}

}  // namespace

Value null_value() { return with_text(Value::Kind::null, {}); }
Value boolean(bool truth) {
    Value value;
    value.kind = Value::Kind::boolean;
    value.boolean = truth;
    return value;
}
Value integer(std::int64_t value) { return with_integer(Value::Kind::integer, value); }
Value natural(std::uint64_t number) {
    Value value;
    value.kind = Value::Kind::natural;
    value.natural = number;
    return value;
}
Value real(double number) {
    Value value;
    value.kind = Value::Kind::real;
    value.real = number;
    return value;
}
Value number(std::string_view text) { return with_text(Value::Kind::number, text); }
Value text(std::string_view text) { return with_text(Value::Kind::text, text); }
Value bytes(std::string_view text) { return with_text(Value::Kind::bytes, text); }
Value json(std::string_view text) { return with_text(Value::Kind::json, text); }
Value timestamp(std::int64_t microseconds) {
    return with_integer(Value::Kind::timestamp, microseconds);
}

Message& TestMessages::add(const std::vector<Value>& fields) {
    Message& message = *messages_.emplace_back(std::make_unique<Message>());
    message.record.partition = Partition{0};
    message.record.offset = next_offset_;
    next_offset_ = next(next_offset_);
    auto* copies = static_cast<Value*>(
        arena_.allocate(sizeof(Value) * std::max<std::size_t>(fields.size(), 1), alignof(Value)));
    std::uninitialized_copy(fields.begin(), fields.end(), copies);
    for (std::size_t at = 0; at < fields.size(); ++at) {
        if (!copies[at].text.empty()) copies[at].text = keep(arena_, copies[at].text);
    }
    message.fields = {copies, fields.size()};
    return message;
}

Message& TestMessages::remove(const std::vector<Value>& fields) {
    Message& message = add(fields);
    message.operation = Operation::remove;
    return message;
}

int TestMessages::encode(const Sink& sink) {
    int rejected = 0;
    for (const auto& message : messages_) {
        if (auto rejection = sink.encode(*message, arena_)) {
            message->rejection = std::move(rejection);
            ++rejected;
        }
    }
    return rejected;
}

std::vector<const Message*> TestMessages::all() const {
    std::vector<const Message*> pointers;
    for (const auto& message : messages_) pointers.push_back(message.get());
    return pointers;
}

}  // namespace onceward::support
