#include "sinks/function/function_sink.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "dedup/base/mutants.h"
#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"
#include "schemas/queries.h"
#include "sinks/columns/catalog.h"
#include "sinks/columns/encode_object.h"

namespace onceward {
namespace {

// Fixed in PostgreSQL's catalog (pg_type.dat).
constexpr std::uint32_t jsonb_type = 3802;
constexpr std::uint32_t jsonb_array_type = 3807;
constexpr char jsonb_version = 1;

// HTTP's statuses; those below 200 are no final answers.
constexpr int lowest_status = 200;
constexpr int highest_status = 599;
constexpr int reset_content = 205;

Parameters name_of(const std::string& function) {
    const auto [schema, name] = schema_and_name(function);
    return Parameters{schema, name};
}

// What is wrong with the one function that takes a jsonb[]; '' if nothing is.
std::string fault_of(const QueryResult& found, int row) {
    const std::string_view kind = found.text(row, 3);
    if (kind != "f") return "is not a plain function";
    if (!found.boolean(row, 7)) return "refuses EXECUTE (or its schema USAGE) to this role";
    if (!found.boolean(row, 4)) {
        return "does not return a set; declare it RETURNS TABLE (...) or RETURNS SETOF, one row "
               "for each "
               "message";
    }
    if (found.boolean(row, 8)) return "does not say which columns it returns; declare them";
    if (found.text(row, 5) != "v") {
        return "is declared STABLE or IMMUTABLE, so that it may change nothing; make it VOLATILE";
    }
    if (found.text(row, 6) != "u") {
        return "is declared PARALLEL SAFE or RESTRICTED, which nothing that writes may be; make it "
               "PARALLEL UNSAFE";
    }
    return "";
}

Misfit append_member(const ColumnOptions& column, const Value& value, std::string& out) {
    Provenance provenance = Provenance::field;
    // A value that a conversion has made is no longer the bytes that came whole.
    if (column.conversion.changes_values()) return encode::json(value, provenance, out);
    switch (column.source.kind) {
        case FieldSource::Kind::field:
        case FieldSource::Kind::metadata: break;
        // It is JSON already, and the server checks it.
        case FieldSource::Kind::payload: provenance = Provenance::whole; break;
        case FieldSource::Kind::header:
        case FieldSource::Kind::record_key:
        case FieldSource::Kind::constant:
        case FieldSource::Kind::key:
            if (value.kind == Value::Kind::bytes) return "is not valid UTF-8";
            break;
    }
    return encode::json(value, provenance, out);
}

// What this column says is the function's responsibility, not a message's.
bool flag_in(std::string_view text) {
    if (text != "true" && text != "false") {
        throw ResultMismatch("the function's column result_failed is not a boolean");
    }
    return text == "true";
}

int status_in(std::string_view text) {
    const auto status = number_of<int>(text);
    if (!status) {
        throw ResultMismatch("the function's column result_status is not an integer");
    }
    // If such a status were committed, the request would never have an answer.
    if (*status != 0 && (*status < lowest_status || *status > highest_status)) {
        throw ResultMismatch("the function's column result_status is " + std::to_string(*status) +
                             "; it has to be 200 to 599, or 0 for none");
    }
    return *status;
}

bool names_its_type(const ResultHeaders& headers) {
    return std::ranges::any_of(
        headers, [](const auto& header) { return same_header(header.first, "Content-Type"); });
}

MessageResult result_of(const QueryResult& rows, int row) {
    MessageResult result;
    if (flag_in(rows.text(row, 1))) result.kind = MessageResult::Kind::failed;
    result.status = status_in(rows.text(row, 2));
    try {
        result.headers = headers_from_json(rows.text(row, 3));
    } catch (const std::runtime_error& error) {
        throw ResultMismatch(std::string("the function's column result_headers: ") + error.what());
    }
    result.body = rows.text(row, 4);
    if (result.status == reset_content && !result.body.empty()) {
        throw ResultMismatch("the function's column result_status is 205, which has no body");
    }
    const bool json = rows.text(row, 5) == "true" && !result.body.empty();
    if (json && !names_its_type(result.headers)) {
        result.headers.emplace_back("content-type", "application/json");
    }
    return result;
}

}  // namespace

FunctionSink::FunctionSink(FunctionSinkOptions options) : options_(std::move(options)) {}

void FunctionSink::prepare(Connection& connection) {
    const QueryResult found = connection.query(sql::sink_function, name_of(options_.function));
    std::string others;
    int ours = -1;
    for (int row = 0; row < found.rows(); ++row) {
        if (found.boolean(row, 2)) {
            if (ours >= 0) {
                throw SinkMismatch("there is more than one function `" + options_.function +
                                   "` that takes a jsonb[]; name its schema");
            }
            ours = row;
            continue;
        }
        others += (others.empty() ? "" : ", ") + options_.function + "(" +
                  std::string(found.text(row, 1)) + ")";
    }
    if (ours < 0) {
        throw SinkMismatch("there is no function `" + options_.function +
                           "` that takes one jsonb[] and nothing else" +
                           (others.empty() ? "" : "; there is " + others));
    }
    if (const std::string fault = fault_of(found, ours); !fault.empty()) {
        throw SinkMismatch("function " + std::string(found.text(ours, 0)) + " " + fault);
    }
    function_ = found.text(ours, 0);
    numbers_its_rows_ = found.boolean(ours, 9);
}

std::string FunctionSink::target_state(Connection& connection) {
    const QueryResult state =
        connection.query(sql::sink_function_state, name_of(options_.function));
    return std::string(state.text(0, 0));
}

std::optional<Rejection> FunctionSink::encode(Message& message,
                                              std::pmr::memory_resource& arena) const {
    if (message.operation == Operation::remove) {
        return Rejection{
            .kind = Rejection::Kind::unmappable,
            .reason = "a function does not receive removals; use another tombstone policy"};
    }
    thread_local std::string document;
    document.assign(1, jsonb_version);
    const auto where = [](const ColumnOptions& column) { return "member `" + column.name + "`"; };
    if (auto rejection = encode::object(options_.columns, message.fields,
                                        "is missing, and the column is marked `required`", where,
                                        append_member, document)) {
        return rejection;
    }
    message.encoded = keep(arena, document);
    return std::nullopt;
}

std::vector<Preview> FunctionSink::preview(const Message& message) const {
    const std::string document(message.encoded.substr(1));  // without jsonb's version
    return {{Preview::Kind::call, options_.function, {{"document", "jsonb", document}}, {}}};
}

void FunctionSink::write(Transaction& transaction, const BatchContext& context,
                         std::span<const Message* const> messages) {
    results_.clear();
    for (const SinkStatement& call : part(context, messages)) {
        take_answer(transaction.prepared(call.sql, call.parameters, call.names, true),
                    in_a_call(messages.size()));
    }
}

// How many of these messages go in one call.
std::size_t FunctionSink::in_a_call(std::size_t messages) const {
    // DANGER: PostgreSQL may return rows without a number in any order. In one call an answer could
    // be stored and returned under another message's key.
    const bool together =
        numbers_its_rows_ || !options_.answers || mutant("answers_by_the_order_of_rows");
    return together ? messages : 1;
}

std::vector<SinkStatement> FunctionSink::part(const BatchContext&,
                                              std::span<const Message* const> messages) {
    std::vector<SinkStatement> calls;
    std::vector<std::optional<std::string_view>> documents;
    for (const Message* message : messages) {
        documents.emplace_back(message->encoded);
        if (documents.size() < in_a_call(messages.size())) continue;
        calls.push_back(
            {sql::sink_function_call,
             std::move(Parameters{}.binary_array(jsonb_array_type, jsonb_type, documents)),
             {{"function", function_}, {"unless", numbers_its_rows_ ? "-- " : ""}}});
        documents.clear();
    }
    return calls;
}

void FunctionSink::part_written(std::span<const QueryResult> answers,
                                std::span<const Message* const> messages) {
    results_.clear();
    for (const QueryResult& rows : answers) take_answer(rows, in_a_call(messages.size()));
}

// Takes the rows of one call with so many messages.
void FunctionSink::take_answer(const QueryResult& rows, std::size_t messages) {
    const auto refuse = [&](const std::string& what) {
        return ResultMismatch("function " + function_ + " " + what + " for " +
                              std::to_string(messages) +
                              " messages; it has to return one row for each");
    };
    if (rows.rows() != static_cast<int>(messages)) {
        throw refuse("returned " + std::to_string(rows.rows()) + " rows");
    }
    std::vector<std::optional<MessageResult>> by_message(messages);
    for (int row = 0; row < rows.rows(); ++row) {
        const std::int64_t number = rows.is_null(row, 0) ? 0 : rows.binary_integer(row, 0);
        const bool known = number >= 1 && number <= rows.rows();
        if (!known || by_message[static_cast<std::size_t>(number - 1)]) {
            throw refuse("returned a row with `ordinality` " + std::to_string(number) +
                         (known ? " twice" : ""));
        }
        by_message[static_cast<std::size_t>(number - 1)] = result_of(rows, row);
    }
    for (std::optional<MessageResult>& result : by_message) {
        results_.push_back(std::move(*result));
    }
}

std::vector<MessageResult> FunctionSink::take_results() { return std::exchange(results_, {}); }

}  // namespace onceward
