#include "tests/integration/gateway/order_sink.h"

#include "gateway/requests/keyed_request.h"

namespace onceward::support {

void OrderSink::write(Transaction& transaction, const BatchContext&,
                      std::span<const Message* const> messages) {
    results_.clear();
    std::vector<std::optional<std::string_view>> keys, bodies;
    for (const Message* message : messages) {
        keys.emplace_back(message->key_text);
        bodies.emplace_back(message->record.payload.value());
        MessageResult& result = results_.emplace_back();
        const bool failed = message->record.payload->starts_with("fail");
        result.kind = failed ? MessageResult::Kind::failed : MessageResult::Kind::done;
        result.status = failed ? 402 : 201;
        result.headers = {{"content-type", "text/plain"}};
        result.body = std::string(failed ? "no " : "made ") + std::string(message->key_text);
    }
    transaction.query("INSERT INTO " + table_ + " SELECT * FROM unnest($1::text[], $2::text[])",
                      Parameters{}.texts(keys).texts(bodies));
}

std::string order_table(FreshSchema& schema) {
    return schema.user_table("orders", "key text, body text CHECK (body NOT LIKE 'bad%')");
}

SinkBatcherOptions order_batcher(const FreshSchema& schema, const std::string& table,
                                 StoreKind store) {
    SinkBatcherOptions options;
    options.postgres = schema.worker();
    options.postgres.application_name = "orders";
    options.ledger.name = "orders";
    options.ledger.store = store;
    options.ledger.stores_results = true;
    options.service = "shop";
    options.name = "POST /orders/{id}";
    options.log_windows = std::make_shared<LogWindows>();
    options.intake = [table] {
        SinkIntake intake;
        intake.sink = std::make_unique<OrderSink>(table);
        intake.take = [](Record record, const MessageKey& key, Chunk& chunk) {
            Message& message = chunk.messages.emplace_back();
            message.record = std::move(record);
            message.digest = key.digest;
            message.fingerprint = key.fingerprint;
            message.key_text = key.text;
        };
        return intake;
    };
    return options;
}

KeyedRequest order(const std::string& key, const std::string& body) {
    RouteOptions route;
    route.pattern = {"POST", "/orders/{id}"};
    KeyedRequest request;
    request.request = {"POST", "/orders/1", {{"Content-Type", "text/plain"}}, body};
    request.key = key;
    request.digest = request_digest(route, "", key);
    request.fingerprint = request_fingerprint(request.request);
    return request;
}

}  // namespace onceward::support
