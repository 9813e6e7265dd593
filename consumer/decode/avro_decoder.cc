#include "consumer/decode/avro_decoder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "consumer/decode/avro_reader.h"
#include "consumer/decode/avro_schema.h"
#include "consumer/decode/envelope.h"
#include "consumer/decode/json_trie.h"

namespace onceward {
namespace {

using Type = AvroSchema::Type;
using NodeId = AvroSchema::NodeId;
using PlanId = std::uint32_t;

// Nothing is wanted there: it is checked and skipped.
constexpr PlanId unwanted = std::numeric_limits<PlanId>::max();

// A type with something that is wanted, at it or below it. Made from the schema and the paths.
struct Plan {
    NodeId node = 0;
    std::vector<std::uint32_t> slots;  // where the value goes
    std::vector<std::uint32_t> seen;   // slots that only say whether it is present
    std::vector<PlanId> children;      // of a record's fields, or a union's branches
    // The wanted ones of an array's items, or of a map's entries.
    std::vector<JsonTrie::Child> entries;
    bool deeper = false;  // something below it is wanted
};

class AvroDecoder final : public Decoder {
  public:
    AvroDecoder(const WrittenSchema& schema, const FormatOptions& options,
                const std::vector<std::string>& paths)
        : Decoder(Framing::confluent),
          schema_(schema),
          envelope_(options.envelope, paths, trie_),
          slots_(envelope_.slots()) {
        root_ = plan(schema_.root(), JsonTrie::root);
    }

  private:
    // The recursion ends although a type may contain itself: each step, except into a union's
    // branch, is also a step along a path.
    PlanId plan(NodeId node, JsonTrie::NodeId place) {
        const auto [known, fresh] =
            plan_of_.try_emplace({node, place}, static_cast<PlanId>(plans_.size()));
        if (!fresh) return known->second;
        const PlanId id = known->second;
        plans_.emplace_back();
        Plan made;
        made.node = node;
        const JsonTrie::Node& wanted = trie_.node(place);
        for (const std::uint32_t slot : wanted.slots) {
            (envelope_.only_seen(slot) ? made.seen : made.slots).push_back(slot);
        }
        const std::vector<JsonTrie::Child> below = wanted.children;
        made.deeper = !below.empty();
        const AvroSchema::Node& type = schema_.node(node);
        switch (type.type) {
            case Type::choice:
                for (const NodeId branch : type.children)
                    made.children.push_back(plan(branch, place));
                break;
            case Type::record:
                for (std::size_t i = 0; i < type.children.size(); ++i) {
                    const auto child =
                        std::ranges::find(below, type.names[i], &JsonTrie::Child::name);
                    made.children.push_back(
                        child == below.end() ? unwanted : plan(type.children[i], child->node));
                }
                break;
            case Type::array:
            case Type::map:
                for (JsonTrie::Child entry : below) {
                    entry.node = plan(type.children[0], entry.node);
                    made.entries.push_back(std::move(entry));
                }
                break;
            default: made.deeper = false; break;
        }
        plans_[id] = std::move(made);
        return id;
    }

    Decoded read(const ConfluentFrame& frame, std::span<Value> values,
                 std::pmr::memory_resource& arena) override {
        const bool bare = envelope_.bare();
        const std::span<Value> slots = bare ? values : std::span<Value>(slots_);
        std::fill(slots.begin(), slots.end(), Value{});
        AvroReader reader(schema_, frame.payload, arena);
        bool good = walk(reader, root_, slots);
        // Bytes of another schema can often be read, but seldom to their exact end.
        if (good && !reader.rest().empty()) good = reader.fault("bytes follow its end");
        if (!good) {
            return undecodable("the payload is not the Avro that its schema describes: " +
                               reader.fault_text());
        }
        if (!bare) return envelope_.unwrap(slots_, values);
        const bool nothing = std::ranges::all_of(
            values, [](const Value& value) { return value.kind == Value::Kind::absent; });
        // Its row would have only NULLs.
        if (nothing && !values.empty() && !has_fields(frame.payload, arena)) {
            return undecodable("the payload is not a record and has none of the wanted fields");
        }
        return {};
    }

    bool has_fields(std::string_view payload, std::pmr::memory_resource& arena) const {
        NodeId id = schema_.root();
        AvroReader reader(schema_, payload, arena);
        if (schema_.node(id).type == Type::choice && !reader.branch(schema_.node(id), id)) {
            return false;
        }
        const Type type = schema_.node(id).type;
        return type == Type::record || type == Type::map;
    }

    bool walk(AvroReader& reader, PlanId id, std::span<Value> slots) {
        const Plan& plan = plans_[id];
        const AvroSchema::Node& node = schema_.node(plan.node);
        if (node.type == Type::choice) return walk_branch(reader, node, plan, slots);
        const Value::Kind seen = node.type == Type::null     ? Value::Kind::null
                                 : node.type == Type::record ? Value::Kind::json
                                                             : Value::Kind::bytes;
        for (const std::uint32_t slot : plan.seen) slots[slot] = {seen, {}, {}};
        if (!plan.slots.empty()) {
            const std::string_view begin = reader.rest();
            Value value;
            if (!reader.value(plan.node, value)) return false;
            for (const std::uint32_t slot : plan.slots) slots[slot] = value;
            if (!plan.deeper) return true;
            reader.rewind(begin);
        }
        const AvroReader::Level level(reader);
        if (!level.good()) return false;
        switch (node.type) {
            case Type::record: return walk_record(reader, node, plan, slots);
            case Type::array: return walk_array(reader, node, plan, slots);
            case Type::map: return walk_map(reader, node, plan, slots);
            default: return reader.skip(plan.node);
        }
    }

    bool walk_branch(AvroReader& reader, const AvroSchema::Node& node, const Plan& plan,
                     std::span<Value> slots) {
        NodeId chosen = 0;
        if (!reader.branch(node, chosen)) return false;
        const auto branch = std::ranges::find(node.children, chosen) - node.children.begin();
        return walk(reader, plan.children[static_cast<std::size_t>(branch)], slots);
    }

    bool walk_record(AvroReader& reader, const AvroSchema::Node& node, const Plan& plan,
                     std::span<Value> slots) {
        for (std::size_t i = 0; i < node.children.size(); ++i) {
            const PlanId child = plan.children[i];
            const bool good =
                child == unwanted ? reader.skip(node.children[i]) : walk(reader, child, slots);
            if (!good) return reader.in_field(node, i);
        }
        return true;
    }

    bool walk_array(AvroReader& reader, const AvroSchema::Node& node, const Plan& plan,
                    std::span<Value> slots) {
        std::uint64_t position = 0;
        return reader.items([&] {
            const auto entry =
                std::ranges::find(plan.entries, std::optional(position++), &JsonTrie::Child::index);
            return entry == plan.entries.end() ? reader.skip(node.children[0])
                                               : walk(reader, entry->node, slots);
        });
    }

    bool walk_map(AvroReader& reader, const AvroSchema::Node& node, const Plan& plan,
                  std::span<Value> slots) {
        std::vector<bool> met(plan.entries.size());
        return reader.items([&] {
            std::string_view key;
            if (!reader.key(key)) return false;
            const auto entry = std::ranges::find(plan.entries, key, &JsonTrie::Child::name);
            if (entry == plan.entries.end()) return reader.skip(node.children[0]);
            // DANGER: if two entries have one key, readers differ in which of them they take, and
            // an idempotency key that is read from the wrong one is another key.
            const auto at = static_cast<std::size_t>(entry - plan.entries.begin());
            if (met[at]) return reader.fault("a wanted key of a map is there twice");
            met[at] = true;
            return walk(reader, entry->node, slots);
        });
    }

    AvroSchema schema_;
    JsonTrie trie_;
    EnvelopeReader envelope_;
    std::vector<Value> slots_;
    std::vector<Plan> plans_;
    std::map<std::pair<NodeId, JsonTrie::NodeId>, PlanId> plan_of_;
    PlanId root_ = 0;
};

}  // namespace

void check_avro_paths(const FormatOptions& options, const std::vector<std::string>& paths) {
    if (options.envelope == Envelope::connect) {
        throw FormatError(
            "an Avro message has no Connect envelope: its schema is in the registry. Write "
            "`envelope: none`");
    }
    JsonTrie trie;
    const EnvelopeReader checked(options.envelope, paths, trie);
}

std::unique_ptr<Decoder> make_avro_decoder(const WrittenSchema& schema,
                                           const FormatOptions& options,
                                           const std::vector<std::string>& paths) {
    return std::make_unique<AvroDecoder>(schema, options, paths);
}

}  // namespace onceward
