#pragma once
// The whole configuration of a process, as the loader made it from a YAML file. A plain value. One
// table (cli/configuration/option_table.cc) says what each option means, its default and its cost;
// the loader, docs/configuration.md and schemas/config.schema.json are made from it.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/configuration/units.h"
#include "consumer/decode/format_options.h"
#include "consumer/intake/key_options.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/base/logging.h"
#include "dedup/ledger/ledger_options.h"
#include "dedup/message/batch.h"
#include "dedup/policy/topic_policy.h"
#include "dedup/postgres/connection.h"
#include "dedup/results/result_replay.h"
#include "gateway/requests/route_options.h"
#include "sinks/dead_letters/letter_headers.h"
#include "sinks/function/function_options.h"
#include "sinks/outbox/outbox_options.h"
#include "sinks/table/table_options.h"
#include "sinks/webhook/webhook_options.h"

namespace onceward {

// A place in the file: 1-based, 0 where there is none.
struct Mark {
    int line = 0;
    int column = 0;
};

// The name by which topics refer to the server in `postgres`.
inline constexpr const char* default_database = "postgres";

// Where an option's value came from.
struct OptionOrigin {
    enum class Source : std::uint8_t { file, environment, secret_file, standard };
    std::string path;  // such as `topics[0].key.preset`
    std::string value = {};
    bool secret = false;  // then without its value
    Source source = Source::file;
    std::string name = {};  // of the variable, or of the file that it is in
    Mark mark = {};         // where the option is in the configuration; none for a default
};

// A further PostgreSQL server.
struct DatabaseConfiguration {
    std::string name;
    Mark mark;
    Secret dsn;
    std::string schema;  // '': that of `postgres`
    Secret operator_dsn;  // for acts at the admin port; '': dsn
};

// A schema registry with Confluent's HTTP protocol.
struct RegistryConfiguration {
    std::string name;
    Mark mark;
    std::vector<std::string> urls;
    std::string username;  // with `password`, or a token, or nothing
    Secret password;
    Secret token;
    std::string token_file;
    std::string ca_file;  // '': the system's
    std::string certificate_file, key_file;
    std::chrono::milliseconds timeout{10'000};
    std::size_t schemas = 1000;
    std::size_t bytes = 64 << 20;
    std::chrono::milliseconds unknown_for{60'000};
};

// Who may do what at the admin port.
struct AdminConfiguration {
    struct Credentials {
        std::vector<std::pair<std::string, Secret>> tokens;  // by name
        std::vector<std::string> subjects;                   // of certificates
        bool any() const { return !tokens.empty() || !subjects.empty(); }
    };
    Credentials look;
    Credentials operate;
    bool metrics_need_look = false;
    std::string certificate_file, key_file;  // '': plain HTTP
    std::string client_ca_file;
};

using SinkOptions =
    std::variant<TableSinkOptions, OutboxOptions, FunctionSinkOptions, WebhookOptions>;

struct TopicConfiguration {
    std::string name;
    Mark mark;         // the topic's place in the file
    std::string path;  // such as `topics[0]`
    std::string database = default_database;
    FormatOptions
        format;          // with its tombstone policy; paths are resolved against the file's folder
    std::string registry;  // a name in Configuration::registries; '': its schemas are in files, or
                           // it needs none
    KeyOptions key;      // `operation` is filled in
    std::string ledger;  // a name in Configuration::ledgers
    Mark reach_mark;
    Mark retention_mark;
    SinkOptions sink;
    Mark sink_mark;
    std::optional<OutboxOptions> also_publish;  // in addition to the sink
    StartPosition start;
    OutOfRangePolicy on_out_of_range = OutOfRangePolicy::halt;
    RejectPolicy reject;
    std::optional<LetterTopic> dead_letters;  // where they are published, besides their table
    bool stores_results = false;
    ResultReplayOptions answers;  // if it does
};

struct RouteConfiguration {
    Mark mark;
    std::string path;  // of the option, such as `http.routes[0]`
    // Without its target, which is made of the members below.
    RouteOptions options;
    enum class Token : std::uint8_t { required, none };
    // nullopt: required if there are `http.tokens`, and no signature
    std::optional<Token> token;
    Secret secret;
    Secret previous_secret;
    RateLimit tenant_rate{.per_second = 0, .burst = 0};  // 0: without a limit
    RateLimit key_rate{.per_second = 0, .burst = 0};
    TopicTarget topic;  // with its name: a route to a topic
    bool bulk = false;  // of a route to a sink
    UpstreamTarget upstream;
};

struct HttpConfiguration {
    ServerOptions server;
    std::string listen_text;  // as it was written
    // Where the issuer's key set is: an address or a file. '': no tokens.
    std::string jwks;
    std::string jwks_ca_file;  // PEM, in place of the system's; '': the system's
    TokenOptions tokens;
    std::chrono::milliseconds jwks_refresh{std::chrono::minutes(15)};
    std::vector<RouteConfiguration> routes;  // in the file's order
};

// Whether a request to the route needs a bearer token.
inline bool needs_token(const HttpConfiguration& http, const RouteConfiguration& route) {
    if (route.token) return *route.token == RouteConfiguration::Token::required;
    return !http.jwks.empty() && !route.options.signature;
}

struct TracesConfiguration {
    std::string endpoint;  // '': by the environment; `off`: none
    std::vector<std::pair<std::string, Secret>> headers;
    double sampling = 0.01;
    std::string service_name;  // '': by the environment
    std::vector<std::pair<std::string, std::string>> resource;
    std::size_t queue = 8192;
    std::chrono::milliseconds timeout{5'000};
    std::string ca_file;  // '': the system's
    std::string problem;  // why the environment's endpoint is not used
};

struct Configuration {
    std::string file;   // for messages
    std::vector<OptionOrigin> origins;
    // Each option that has a value, given or default, by its path (`topics[0].order`), in one form:
    // `24h` and `1440m` are the same there. For comparisons alone; secrets are among them.
    std::map<std::string, Secret> values;
    std::string group;  // also kafka.group
    KafkaOptions kafka;
    Mark kafka_mark;
    ConnectionOptions postgres;
    Mark postgres_mark;
    std::string postgres_path = "postgres";
    std::string database = default_database;       // the name of that server
    std::vector<DatabaseConfiguration> databases;  // in the file's order; names are unique
    std::vector<RegistryConfiguration> registries;  // in the file's order; names are unique
    int workers = 1;
    BatchLimits batch;
    // How long a shutdown or a revoke waits for the batch in flight before it rolls back.
    std::chrono::milliseconds drain_timeout{10'000};
    // Bytes that the process may have in memory; 0: any. nullopt: 80% of what it is given.
    std::optional<std::int64_t> memory_budget;
    // Bytes of claims that the process may have in memory. nullopt: see claims_memory().
    std::optional<std::int64_t> claims_memory;
    LogOptions logging;
    // Where /metrics, /livez and /readyz are; nullopt: nowhere.
    std::optional<ListenAddress> admin;
    std::string admin_text;                        // as it was written
    std::optional<bool> admin_page;                // whether it has a page; nullopt: if on loopback
    AdminConfiguration admin_access;
    Secret operator_dsn;                           // as in DatabaseConfiguration
    std::vector<TopicConfiguration> topics;        // in the file's order; names are unique
    std::map<std::string, LedgerOptions> ledgers;  // by name; each is used by at least one topic
    TracesConfiguration traces;
    HttpConfiguration http;                        // no routes: no front door
    // The routes to a sink, by their index: a request is a message, and these are read like a
    // topic's.
    std::map<std::size_t, TopicConfiguration> route_sinks;
    // The routes to an upstream, in the same way: name, ledger and which answers are stored.
    std::map<std::size_t, TopicConfiguration> route_upstreams;
};

// Whether its messages are replied to.
inline bool replies(const TopicConfiguration& topic) {
    return topic.stores_results && !topic.answers.reply.topic.empty();
}

// What the sink's `columns` say: a table's or a function's; empty for other sinks.
std::vector<ColumnOptions> columns_of(const TopicConfiguration& topic);

// The outboxes that the topic's messages go through: its sink, also_publish, both or none.
std::vector<const OutboxOptions*> outboxes_of(const TopicConfiguration& topic);

// Whether anything of the topic goes through the outbox: messages, replies or dead letters.
inline bool publishes(const TopicConfiguration& topic) {
    return !outboxes_of(topic).empty() || replies(topic) || topic.dead_letters.has_value();
}

}  // namespace onceward
