#pragma once
// What one option allows of another: combinations that cannot work, and those that only look as if
// they did. Pure but for looking whether files that are named exist; opens no connection.

#include "cli/configuration/report.h"

namespace onceward {

void check_combinations(const Configuration& configuration, Report& report);

// Its parts.
void check_kafka(const Configuration& configuration, Report& report);
void check_postgres(const Configuration& configuration, Report& report);
// Where a server is; `path` is `postgres` or an entry of `databases`.
void check_server_address(const Secret& dsn, const std::string& schema, const std::string& path,
                          Report& report);
// Whether a call there may be allowed, judged by the address alone: a name may mean any address.
bool may_reach(const std::string& host, const std::vector<std::string>& allow_private);
// `http.routes[].upstream`.
void check_upstream_route(const RouteConfiguration& route, const LedgerOptions& ledger,
                          const ResultLimits& limits, Report& report);
// What of a route is kept, whatever carries its requests out.
void check_kept_headers(const ResultLimits& limits, const std::string& route_path, Report& report);
void check_ledger(const LedgerOptions& ledger, const std::string& topic_path, Report& report);
void check_http(const Configuration& configuration, Report& report);
void check_databases(const Configuration& configuration, Report& report);
void check_topic(const TopicConfiguration& topic, const LedgerOptions& ledger,
                 const std::string& path, Report& report);
// `topics[].sink.outbox` and `topics[].also_publish`.
void check_outboxes(const TopicConfiguration& topic, const std::string& path, Report& report);
bool valid_topic_name(const std::string& name);
// Whether a path in the payload looks like the format's paths.
void check_field_path(const std::string& text, Format format, const std::string& path,
                      Report& report);
void check_function_sink(const TopicConfiguration& topic, const FunctionSinkOptions& sink,
                         const std::string& path, Report& report);
// Whether the topic can store results and reply.
void check_answers(const TopicConfiguration& topic, const LedgerOptions& ledger,
                   const std::string& path, Report& report);
void check_webhook(const TopicConfiguration& topic, const WebhookOptions& webhook,
                   const LedgerOptions& ledger, const std::string& topic_path, Report& report);
void check_lease(const TopicConfiguration& topic, const LedgerOptions& ledger,
                 const std::string& topic_path, Report& report);
// What a topic has in common with a route to a sink: format, ledger, sink.
void check_message(const TopicConfiguration& message, const LedgerOptions& ledger,
                   const std::string& path, Report& report);
void check_table_sink(const TopicConfiguration& topic, const TableSinkOptions& sink,
                      const std::string& path, Report& report);

}  // namespace onceward
