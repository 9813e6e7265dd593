#include <algorithm>

#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

// Null if the route has no scheme, so that there is no signature to store it in.
template <class Member>
Member* of_signature(To& to, Member SignatureOptions::* member) {
    std::optional<SignatureOptions>& signature = to.route->options.signature;
    return signature ? &(*signature.*member) : nullptr;
}

std::string* tenant_name(To& to, TenantSource::Kind kind) {
    to.route->options.tenant.kind = kind;
    return &to.route->options.tenant.name;
}

const std::vector<OptionSpec> http_entries = {
    {"http.listen", "127.0.0.1:8080",
     into([](To& to) { return &to.configuration.http.listen_text; }),
     "Where the front door listens, if there are routes: an address and a port. Port 0 lets the "
     "system choose one, which is logged."},
    {"http.access_log", "off",
     into([](To& to) { return &to.configuration.http.server.access_log; }, {"off", "on"}),
     "`on` writes a line for each request to the log (`http.request`, level info): its route, "
     "status and milliseconds, and whether it was a repeat. Neither its path nor its headers.",
     "Some thousand lines a second under load."},
    {"http.tls.certificate", "",
     into([](To& to) { return &to.configuration.http.server.certificate_file; }),
     "A PEM file with the certificate and its chain; relative to this configuration's folder. "
     "Without it the front door speaks plain HTTP."},
    {"http.tls.key", "", into([](To& to) { return &to.configuration.http.server.key_file; }),
     "The PEM file with the certificate's private key."},
    {"http.limits.body", "1MiB",
     into_size([](To& to) { return &to.configuration.http.server.limits.body_bytes; },
               {1, std::int64_t{1} << 30}),
     "The largest body of a request; a larger one is answered with 413.",
     "Each connection may hold one in memory."},
    {"http.limits.headers", "16KiB",
     into_size([](To& to) { return &to.configuration.http.server.limits.header_bytes; },
               {1024, 1 << 20}),
     "Most bytes of a request's first line and header fields; more is answered with 431, and so "
     "are more than 256 fields."},
    {"http.limits.connections", "1000",
     into([](To& to) { return &to.configuration.http.server.limits.connections; }, {1, 100'000}),
     "Most connections at once. Further ones wait in the kernel's queue. For each of them the "
     "server closes the connection that has been idle longest. If none is idle, it closes one "
     "whose request arrives slowly: its head took more than 1 s, or the request more than 5 s. If "
     "there is none either, it closes one that reads its answer for more than 5 s.",
     "Each takes a file descriptor, and memory for a request."},
    {"http.limits.head_time", "10s",
     into([](To& to) { return &to.configuration.http.server.limits.head_time; }, {100, hour}),
     "How long a request's head (its first line and header fields) may take from its first byte; a "
     "slower one is answered with 408.",
     "With a longer value slow senders hold connections for longer."},
    {"http.limits.request_time", "30s",
     into([](To& to) { return &to.configuration.http.server.limits.request_time; }, {100, hour}),
     "How long a request may take from its first byte to its last; a slower one is answered with "
     "408."},
    {"http.limits.idle_time", "15s",
     into([](To& to) { return &to.configuration.http.server.limits.idle_time; }, {100, hour}),
     "How long a connection may be idle between two requests before it is closed.",
     "A longer value saves clients new connections, and keeps one of `connections` occupied."},
    {"http.tokens.jwks", "", into([](To& to) { return &to.configuration.http.jwks; }),
     "The key set that bearer tokens are verified against: an `https://` address, or a file. With "
     "it a token is needed on each route that has no signature and does not say `token: none`. "
     "RS256 and ES256 alone."},
    {"http.tokens.ca_file", "", into([](To& to) { return &to.configuration.http.jwks_ca_file; }),
     "A file of PEM certificates to trust in place of the system's when the key set is fetched; "
     "relative to this configuration's folder."},
    {"http.tokens.issuer", "", into([](To& to) { return &to.configuration.http.tokens.issuer; }),
     "The `iss` that a token must have.",
     "Without it any token that the key set has signed is accepted."},
    {"http.tokens.audiences", "",
     into([](To& to) { return &to.configuration.http.tokens.audiences; }),
     "A token's `aud` must have one of these.",
     "Without it a token that was made for another service is accepted here."},
    {"http.tokens.leeway", "60s",
     into([](To& to) { return &to.configuration.http.tokens.leeway; }, {0, 600 * second}),
     "How far the issuer's clock may be from this one."},
    {"http.tokens.refresh", "15m",
     into([](To& to) { return &to.configuration.http.jwks_refresh; }, {10 * second, day}),
     "How often the key set is fetched; also when a token names a key that is not there.",
     "With a longer value a withdrawn key is accepted for longer."},
    {"http.routes[].method", must_be_given,
     into([](To& to) { return &to.route->options.pattern.method; }),
     "The request's method, in capitals, such as `POST`."},
    {"http.routes[].path", must_be_given,
     into([](To& to) { return &to.route->options.pattern.path; }),
     "The request's path; `{name}` stands for any part between two slashes. Keys belong to the "
     "operation, which is method and path as written here.",
     "Another path makes every key new."},
    {"http.routes[].topic", "", into([](To& to) { return &to.route->topic.topic; }),
     "The topic that the request's body is produced to, under the key. Answered with 202 once the "
     "log has it."},
    {"http.routes[].forward_headers", "", into([](To& to) { return &to.route->topic.forwarded; }),
     "To a topic: headers of the request that go with the record, in lower case."},
    {"http.routes[].body", "item", into([](To& to) { return &to.route->bulk; }, {"item", "bulk"}),
     "To a sink: the body is one `item`, or in `bulk` an array of items, `[{\"key\": TEXT, "
     "\"body\": ANY}, ...]`, 1000 at most, in one transaction; each has an answer of its own "
     "(207)."},
    {"http.routes[].at_once", "0",
     into([](To& to) { return &to.route->options.at_once; }, {0, 100'000}),
     "Most requests of the route that are under way at once, from their last byte to their answer; "
     "each holds one of `http.limits.connections`. A further one gets 503 and Retry-After at once. "
     "0: four times the connections that no request holds, so one busy route gets four fifths of "
     "all, and two get four ninths each.",
     "Leave enough of `connections` for the other routes. Otherwise one slow target can block "
     "them. A number that is too small refuses requests that the target could have taken."},
    {"http.routes[].wait", "0s",
     into([](To& to) { return &to.route->options.wait; }, {0, 30 * second}),
     "To a sink or an upstream: how long a repeat waits while the first request still runs, before "
     "it is answered with 409 and Retry-After.",
     "Each that waits holds its connection."},
    {"http.routes[].replay_header", "Idempotent-Replayed",
     into([](To& to) { return &to.route->options.replay_header; }),
     "To a sink or an upstream: the header that says, with `true`, that an answer is an earlier "
     "request's. A stored answer never brings one of that name.",
     "The [clients](clients.md) read the default only."},
    {"http.routes[].window_header", "",
     into([](To& to) { return &to.route->options.window_header; }),
     "To a sink or an upstream: a header, such as `Idempotency-Key-Window`, of each answer to a "
     "request with a key. It says for how many seconds the key is known at least: the ledger's "
     "retention."},
    {"http.routes[].status_path", "", into([](To& to) { return &to.route->options.status_path; }),
     "To a sink or an upstream: a path where GET returns what became of a key: `in-flight`, "
     "`completed` with its answer's status, for an upstream also `outcome-unknown`; 410 if the "
     "answer is no longer kept, else 404. It takes the key in its header, and the same token and "
     "tenant."},
    {"http.routes[].fingerprint",
     "request",
     {OptionType::fingerprint,
      [](To& to, const In& value) {
          const auto& fingerprint = std::get<FingerprintOptions>(value);
          to.topic->key.fingerprint = fingerprint;
          to.route->options.fingerprint = fingerprint.of != FingerprintOptions::Of::none;
          to.route->options.fingerprint_fields = fingerprint.fields;
      },
      {"request"}},
     "To a sink or an upstream: what has to be the same in a repeat. `request`: path, query and "
     "raw body, byte by byte; a difference is a conflict (422). `{fields: [...]}`: path, query and "
     "these fields of the body (paths, as for a column) in canonical form (RFC 8785), so that the "
     "order of members, white space and other fields do not count; a body that is not of the "
     "route's format gets 400. `none`: any request under the same key is a repeat.",
     "With `fields` each body is read, a repeat's too. If you change the fingerprint, each repeat "
     "of a claimed key is a conflict: write `none` for one retention in between."},
    {"http.routes[].key.use", "required",
     into([](To& to) { return &to.route->options.key.use; }, {"required", "optional", "forbidden"}),
     "Whether a request must have a key. `forbidden` refuses a request that has one, because "
     "nothing would be kept under it.",
     "With `optional` a repeat without a key takes effect twice."},
    {"http.routes[].key.header", "Idempotency-Key",
     into([](To& to) { return &to.route->options.key.header; }),
     "The header that has the key. GitHub's is `X-GitHub-Delivery`."},
    {"http.routes[].key.field", "", into([](To& to) { return &to.route->options.key_field; }),
     "Instead of a header: where the key is in a JSON body (RFC 6901), such as `/id` of Stripe's "
     "events."},
    {"http.routes[].key.minted_at", "none",
     into([](To& to) { return &to.route->options.minted_at; }),
     "Where the time is at which a key was minted, as for a topic; `field` is a place in a JSON "
     "body. A key that is older than what the ledger remembers gets 412 `key-expired`, and nothing "
     "is carried out.",
     "As for a topic."},
    {"http.routes[].key.format", "either",
     into([](To& to) { return &to.route->options.key.format; }, {"either", "structured", "plain"}),
     "`structured`: a string in double quotes (RFC 8941), as the IETF's draft has it. `plain`: as "
     "it is. `either`: both; they are the same key."},
    {"http.routes[].key.charset", "any",
     into([](To& to) { return &to.route->options.key.uuid; }, {"any", "uuid"}),
     "What a key may be: anything that is printable ASCII, or a `uuid` alone."},
    {"http.routes[].key.length_min", "1",
     into([](To& to) { return &to.route->options.key.length_min; }, {1, 1024}),
     "Shortest key, in bytes."},
    {"http.routes[].key.length_max", "255",
     into([](To& to) { return &to.route->options.key.length_max; }, {1, 1024}),
     "Longest key, in bytes."},
    {"http.routes[].tenant.header", "",
     into([](To& to) { return tenant_name(to, TenantSource::Kind::header); }),
     "The header that has the tenant, if keys are unique only within a tenant. A request without "
     "it is refused.",
     "Any client that reaches the front door can name any tenant: use it only for clients that you "
     "trust."},
    {"http.routes[].tenant.claim", "",
     into([](To& to) { return tenant_name(to, TenantSource::Kind::claim); }),
     "The claim of the token that has the tenant."},
    {"http.routes[].token", "<required, where there are http.tokens and no signature>",
     into([](To& to) { return &to.route->token; }, {"required", "none"}),
     "Whether a bearer token is needed."},
    {"http.routes[].signature.scheme", "",
     into([](To& to) { return &to.route->options.signature.emplace().scheme; },
          {"stripe", "github", "hmac", "standard_webhooks"}),
     "A signature over the raw body, verified before anything else: `stripe` (`Stripe-Signature`), "
     "`github` (`X-Hub-Signature-256`), `hmac`, HMAC-SHA256 in hex in a header of its own, or "
     "`standard_webhooks` (`webhook-signature`), which signs `webhook-id` and `webhook-timestamp` "
     "too: its key is `key: {header: webhook-id}`."},
    {"http.routes[].signature.secret", "", into([](To& to) { return &to.route->secret; }),
     "The secret that the signature is made with. For `standard_webhooks` write it as the provider "
     "shows it, `whsec_...`. It is never printed."},
    {"http.routes[].signature.previous_secret", "",
     into([](To& to) { return &to.route->previous_secret; }),
     "A second secret that is accepted too, while the secret is being changed."},
    {"http.routes[].signature.header", "",
     into([](To& to) { return of_signature(to, &SignatureOptions::header); }),
     "For `hmac`: the header that has the signature, with or without `sha256=` before it. "
     "`X-Signature` by default."},
    {"http.routes[].signature.time_header", "",
     into([](To& to) { return of_signature(to, &SignatureOptions::time_header); }),
     "For `hmac`: the header that has the time, in seconds since 1970 UTC; then `TIME.BODY` is "
     "what is signed.",
     "Without it a recorded request can be sent again at any time; only its key protects, within "
     "the retention."},
    {"http.routes[].signature.tolerance", "5m",
     into([](To& to) { return of_signature(to, &SignatureOptions::tolerance); }, {second, day}),
     "How far the signed time may be from now."},
    {"http.routes[].rate.tenant", "0",
     into([](To& to) { return &to.route->tenant_rate.per_second; }, {0, 1'000'000}),
     "Requests a second of one tenant (of all clients, if the route has no tenants); each item of "
     "a bulk counts. Further ones get 429 and Retry-After. 0: no limit. Counted in each process."},
    {"http.routes[].rate.tenant_burst", "0",
     into([](To& to) { return &to.route->tenant_rate.burst; }, {0, 1'000'000}),
     "How many may come at once after a pause; 0: those of one second."},
    {"http.routes[].rate.key", "0",
     into([](To& to) { return &to.route->key_rate.per_second; }, {0, 1'000'000}),
     "The same for one key, also for each item of a bulk: against a client that repeats a request "
     "without a pause."},
    {"http.routes[].rate.key_burst", "0",
     into([](To& to) { return &to.route->key_rate.burst; }, {0, 1'000'000}), "As `tenant_burst`."},
};

// To a sink a request is a message, with the options that a topic's messages have.
constexpr std::string_view shared_with_topics[] = {
    "topics[].format",          "topics[].protobuf.",         "topics[].sink.",
    "topics[].ledger.",         "topics[].results.max_bytes", "topics[].also_publish.",
    "topics[].results.headers", "topics[].results.cache"};

void add_shared(const std::vector<OptionSpec>& of_topics, std::vector<OptionSpec>& options) {
    for (OptionSpec spec : of_topics) {
        const bool shared = std::ranges::any_of(shared_with_topics, [&](std::string_view path) {
            return path.ends_with('.') ? spec.path.starts_with(path) : spec.path == path;
        });
        if (!shared) continue;
        spec.path = "http.routes[]" + spec.path.substr(8);
        // A route to a topic does not have it.
        if (spec.required()) spec.default_text.clear();
        if (spec.path == "http.routes[].sink.table") {
            spec.meaning =
                "The table that requests are written to: `name` or `schema.name`. A "
                "sink has either this or `function`, with `columns`, or `outbox`.";
        } else if (spec.path == "http.routes[].results.max_bytes") {
            spec.meaning =
                "The answer to each request is stored with its claim and replayed to its repeats. "
                "This is the most that headers and body of one may take; above that both are "
                "dropped, in the first answer and in the replays, with the header "
                "`onceward-body-dropped`.";
        } else if (spec.path == "http.routes[].results.cache") {
            spec.meaning =
                "To a sink: most bytes of answers that a process remembers, so that what is "
                "repeated often is not read each time. One is used only after the ledger has said "
                "that the key is a repeat; erased, forgotten and expired answers are never sent.";
        }
        options.push_back(std::move(spec));
    }
}

}  // namespace

std::vector<OptionSpec> http_options() {
    std::vector<OptionSpec> options = http_entries;
    options.insert(options.end(), upstream_options.begin(), upstream_options.end());
    for (const auto& part :
         {topic_options, sink_options, outbox_options(), key_and_ledger_options, result_options}) {
        add_shared(part, options);
    }
    return options;
}

}  // namespace onceward
