#include "sinks/outbox/outbox_sink.h"

#include <array>
#include <cstddef>

#include "dedup/base/trace_context.h"
#include "dedup/message/trace_state.h"
#include "dedup/sink/packed_headers.h"
#include "sinks/columns/encode_object.h"

namespace onceward {
namespace {

using Bytes = std::optional<std::string_view>;

constexpr Misfit missing = "is missing, and is marked `required`";

// `name`: the header's, if the part is one of several.
Rejection unmappable(std::string_view part, std::string_view what, std::string_view name = "") {
    return unmappable_value("outbox, " + std::string(part) + std::string(name), what);
}

// Text and bytes as they are, everything else as JSON. REQUIRES: there is something.
std::optional<Rejection> raw_bytes(std::string_view part, const Value& value,
                                   std::pmr::memory_resource& arena, Bytes& bytes,
                                   std::string_view name = "") {
    if (value.kind == Value::Kind::text || value.kind == Value::Kind::bytes) {
        bytes = value.text;
        return std::nullopt;
    }
    std::string text;
    if (const Misfit misfit = encode::json(value, Provenance::field, text); !misfit.empty()) {
        return unmappable(part, misfit, name);
    }
    bytes = keep(arena, text);
    return std::nullopt;
}

bool is_of_trace(std::string_view name) {
    return name == traceparent_header || name == tracestate_header;
}

std::vector<Header> headers_of(const RecordTrace& trace) {
    std::vector<Header> headers;
    if (!trace.parent.empty()) headers.push_back({traceparent_header, trace.parent});
    if (!trace.state.empty()) headers.push_back({tracestate_header, trace.state});
    return headers;
}

std::size_t bytes_of(const RecordTrace& trace) { return header_bytes(headers_of(trace)).size(); }

// `trace`: null if the record does not continue the message's.
std::optional<Rejection> append_headers(const std::vector<ColumnOptions>& wanted,
                                        std::span<const Value> values, const RecordTrace* trace,
                                        std::pmr::memory_resource& arena, OutboxRow& row) {
    std::vector<Header> headers;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string_view name = wanted[i].name;
        if (trace != nullptr && is_of_trace(name)) continue;
        Value from = values[i];
        if (wanted[i].conversion.changes_values()) {
            Provenance provenance = provenance_of(wanted[i].source.kind);
            const Misfit misfit = convert(wanted[i].conversion, TypeKind::text, from, provenance);
            if (!misfit.empty()) return unmappable("header ", misfit, name);
            from.text = keep(arena, from.text);  // the next header's conversion writes over it
        }
        if (from.kind == Value::Kind::absent) {
            if (wanted[i].required) return unmappable("header ", missing, name);
            continue;
        }
        Bytes value;
        if (from.kind != Value::Kind::null) {
            if (auto rejection = raw_bytes("header ", from, arena, value, name)) {
                return rejection;
            }
        }
        headers.push_back({name, value});
    }
    if (trace != nullptr) {
        for (const Header& header : headers_of(*trace)) headers.push_back(header);
    }
    if (!headers.empty()) row.headers = keep(arena, header_bytes(headers));
    return std::nullopt;
}

}  // namespace

OutboxSink::OutboxSink(OutboxOptions options, OutboxPlace place, std::size_t first_field)
    : options_(std::move(options)), place_(place), first_field_(first_field) {}

std::optional<Rejection> OutboxSink::make_row(const Message& message,
                                              std::pmr::memory_resource& arena,
                                              OutboxRow& row) const {
    const std::span<const Value> values = message.fields.subspan(first_field_);
    const bool removes = message.operation == Operation::remove;
    const std::size_t payload_values = options_.fields.empty() ? 1 : options_.fields.size();
    row.topic = options_.topic;
    if (!is_missing(values[0])) {
        if (auto rejection = raw_bytes("key", values[0], arena, row.key)) return rejection;
    } else if (removes) {
        return unmappable("key", "is missing, and a tombstone needs it to say what is removed");
    }
    row.order_key = row.key;
    if (!removes && options_.fields.empty()) {
        // Without a payload the record would be a tombstone, which was not requested.
        if (is_missing(values[1])) return unmappable("payload", "is missing");
        if (auto rejection = raw_bytes("payload", values[1], arena, row.payload)) return rejection;
    } else if (!removes) {
        std::string object;
        const auto where = [](const ColumnOptions& member) { return "outbox, " + member.name; };
        const auto append = [](const ColumnOptions&, const Value& value, std::string& out) {
            return encode::json(value, Provenance::field, out);
        };
        if (auto rejection = encode::object(options_.fields, values.subspan(1, payload_values),
                                            missing, where, append, object)) {
            return rejection;
        }
        row.payload = keep(arena, object);
    }
    std::optional<RecordTrace> trace;
    std::string state;  // which `trace` has a view of
    if (options_.traces) {
        state = state_to_continue(message);
        trace = RecordTrace{trace_to_continue(message).parent, state};
    }
    if (auto rejection = append_headers(options_.headers,
                                        values.subspan(1 + payload_values, options_.headers.size()),
                                        trace ? &*trace : nullptr, arena, row)) {
        return rejection;
    }
    // DANGER: do not count the bytes of the trace's headers. Whether a trace is recorded must not
    // decide whether its message is rejected.
    const std::size_t bytes = row.key.value_or("").size() + row.payload.value_or("").size() +
                              row.headers.size() - (trace ? bytes_of(*trace) : 0);
    if (bytes > options_.record_max) {
        return unmappable("record", "has " + std::to_string(bytes) + " bytes, above `record_max`");
    }
    row.id = outbox_id(options_.topic, place_, message.digest);
    return std::nullopt;
}

std::optional<Rejection> OutboxSink::encode(Message& message, std::pmr::memory_resource&) const {
    std::array<std::byte, 2048> room;
    std::pmr::monotonic_buffer_resource arena(room.data(), room.size());
    OutboxRow row;
    return make_row(message, arena, row);
}

std::vector<Preview> OutboxSink::preview(const Message& message) const {
    std::pmr::monotonic_buffer_resource arena;
    OutboxRow row;
    if (make_row(message, arena, row)) return {};
    const auto owned = [](Bytes bytes) {
        return bytes ? std::optional(std::string(*bytes)) : std::nullopt;
    };
    Preview record{.kind = Preview::Kind::record, .target = options_.topic};
    record.fields = {{"key", "", owned(row.key)}, {"payload", "", owned(row.payload)}};
    for (const Header& header : headers_of(row.headers)) {
        record.headers.push_back({std::string(header.name), "", owned(header.value)});
    }
    return {std::move(record)};
}

std::vector<Preview> AlsoPublishSink::preview(const Message& message) const {
    std::vector<Preview> all = sink_->preview(message);
    for (Preview& one : outbox_.preview(message)) all.push_back(std::move(one));
    return all;
}

void OutboxSink::write(Transaction& transaction, const BatchContext& context,
                       std::span<const Message* const> messages) {
    std::pmr::monotonic_buffer_resource arena;
    insert_outbox_rows(transaction, context.consumer_group, make_rows(messages, arena));
}

std::vector<SinkStatement> OutboxSink::part(const BatchContext& context,
                                            std::span<const Message* const> messages) {
    std::pmr::monotonic_buffer_resource arena;
    std::vector<SinkStatement> statements;
    statements.push_back(outbox_statement(context.consumer_group, make_rows(messages, arena)));
    return statements;
}

std::vector<OutboxRow> OutboxSink::make_rows(std::span<const Message* const> messages,
                                             std::pmr::memory_resource& arena) const {
    std::vector<OutboxRow> rows;
    rows.reserve(messages.size());
    for (const Message* message : messages) {
        if (const auto rejection = make_row(*message, arena, rows.emplace_back())) {
            // A data exception, so that the search finds this message and the dead letters get it.
            throw PostgresError({.sqlstate = "22000", .message = rejection->reason});
        }
    }
    return rows;
}

AlsoPublishSink::AlsoPublishSink(std::unique_ptr<Sink> sink, OutboxOptions options)
    : sink_(std::move(sink)),
      sink_fields_(sink_->fields()),
      outbox_(std::move(options), OutboxPlace::also_publish, sink_fields_.size()) {}

std::vector<FieldSource> AlsoPublishSink::fields() const {
    std::vector<FieldSource> all = sink_fields_;
    for (FieldSource& source : outbox_.fields()) all.push_back(std::move(source));
    return all;
}

std::optional<Rejection> AlsoPublishSink::encode(Message& message,
                                                 std::pmr::memory_resource& arena) const {
    if (auto rejection = sink_->encode(message, arena)) return rejection;
    return outbox_.encode(message, arena);
}

void AlsoPublishSink::write(Transaction& transaction, const BatchContext& context,
                            std::span<const Message* const> messages) {
    sink_->write(transaction, context, messages);
    outbox_.write(transaction, context, messages);
}

std::vector<SinkStatement> AlsoPublishSink::part(const BatchContext& context,
                                                 std::span<const Message* const> messages) {
    std::vector<SinkStatement> statements = sink_->part(context, messages);
    for (SinkStatement& one : outbox_.part(context, messages)) statements.push_back(std::move(one));
    return statements;
}

void AlsoPublishSink::part_written(std::span<const QueryResult> answers,
                                   std::span<const Message* const> messages) {
    sink_->part_written(answers.first(answers.size() - 1), messages);
}

}  // namespace onceward
