#include <algorithm>
#include <deque>

#include "cli/configuration/listen_address.h"
#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"

namespace onceward {
namespace {

constexpr std::int64_t second = 1000;
constexpr std::int64_t day = 86'400 * second;

// Null if the route has no scheme, so that there is no signature to store it in.
template <class Member>
Member* of_signature(To& to, Member SignatureOptions::*member) {
    std::optional<SignatureOptions>& signature = to.route->options.signature;
    return signature ? &(*signature.*member) : nullptr;
}

const std::vector<OptionSpec> server_entries = {
    {.path = "http.listen",
     .default_text = "127.0.0.1:8080",
     .meaning = "Where the front door listens, if there are routes: an address and a port. Port 0 "
                "lets the system choose one, which is logged.",
     .bind = {OptionType::text,
              [](To& to, const In& value) {
                  HttpConfiguration& http = to.configuration.http;
                  http.listen_text = std::get<std::string>(value);
                  if (const auto address = parse_listen_address(http.listen_text)) {
                      http.server.host = address->host;
                      http.server.port = address->port;
                  }
              }}},
    {.path = "http.access_log",
     .default_text = "off",
     .meaning = "`on` writes a line for each request to the log (`http.request`, level info): its "
                "route, status and milliseconds, and whether it was a repeat. Neither its path nor "
                "its headers.",
     .cost = "Some thousand lines a second under load.",
     .bind = into([](To& to) { return &to.configuration.http.server.access_log; }),
     .choices = {"off", "on"}},
    {.path = "http.tls.certificate",
     .meaning = "A PEM file with the certificate and its chain; relative to this configuration's "
                "folder. Without it the front door speaks plain HTTP.",
     .bind = into([](To& to) { return &to.configuration.http.server.certificate_file; })},
    {.path = "http.tls.key",
     .meaning = "The PEM file with the certificate's private key.",
     .bind = into([](To& to) { return &to.configuration.http.server.key_file; })},
};

const std::vector<OptionSpec> token_entries = {
    {.path = "http.tokens.jwks",
     .meaning =
         "The key set that bearer tokens are verified against: an `https://` address, or a "
         "file. With it a token is needed on each route that has no signature and does not say "
         "`token: none`. RS256 and ES256 alone.",
     .bind = into([](To& to) { return &to.configuration.http.jwks; })},
    {.path = "http.tokens.ca_file",
     .meaning = "A file of PEM certificates to trust in place of the system's when the key set is "
                "fetched; relative to this configuration's folder.",
     .bind = into([](To& to) { return &to.configuration.http.jwks_ca_file; })},
    {.path = "http.tokens.issuer",
     .meaning = "The `iss` that a token must have.",
     .cost = "Without it any token that the key set has signed is accepted.",
     .bind = into([](To& to) { return &to.configuration.http.tokens.issuer; })},
    {.path = "http.tokens.audiences",
     .meaning = "A token's `aud` must have one of these.",
     .cost = "Without it a token that was made for another service is accepted here.",
     .bind = into([](To& to) { return &to.configuration.http.tokens.audiences; })},
    {.path = "http.tokens.leeway",
     .default_text = "60s",
     .meaning = "How far the issuer's clock may be from this one.",
     .bind = into([](To& to) { return &to.configuration.http.tokens.leeway; }),
     .limits = {0, 600 * second}},
    {.path = "http.tokens.refresh",
     .default_text = "15m",
     .meaning = "How often the key set is fetched; also when a token names a key that is not "
                "there.",
     .cost = "Longer accepts a withdrawn key for longer.",
     .bind = into([](To& to) { return &to.configuration.http.jwks_refresh; }),
     .limits = {10 * second, day}},
};

const std::vector<OptionSpec> route_entries = {
    {.path = "http.routes[].method",
     .required = true,
     .meaning = "The request's method, in capitals, such as `POST`.",
     .bind = into([](To& to) { return &to.route->options.pattern.method; })},
    {.path = "http.routes[].path",
     .required = true,
     .meaning = "The request's path; `{name}` stands for any part between two slashes. Keys belong "
                "to the operation, which is method and path as written here.",
     .cost = "Another path makes every key new.",
     .bind = into([](To& to) { return &to.route->options.pattern.path; })},
    {.path = "http.routes[].topic",
     .meaning = "The topic that the request's body is produced to, under the key. Answered with "
                "202 once the log has it.",
     .bind = into([](To& to) { return &to.route->topic.topic; })},
    {.path = "http.routes[].forward_headers",
     .meaning = "To a topic: headers of the request that go with the record, in lower case.",
     .bind = into([](To& to) { return &to.route->topic.forwarded; })},
    {.path = "http.routes[].body",
     .default_text = "item",
     .meaning = "To a sink: the body is one `item`, or in `bulk` an array of items, "
                "`[{\"key\": TEXT, \"body\": ANY}, ...]`, 1000 at most, in one transaction; each "
                "has an answer of its own (207).",
     .bind = into([](To& to) { return &to.route->bulk; }),
     .choices = {"item", "bulk"}},
    {.path = "http.routes[].at_once",
     .default_text = "0",
     .meaning = "Most requests of the route that are under way at once, from their last byte to "
                "their answer; each holds one of `http.limits.connections`. A further one gets 503 "
                "and Retry-After at once. 0: four times the connections that no request holds, so "
                "one busy route gets four fifths of all, and two get four ninths each.",
     .cost = "More than `connections` less what other routes need lets a slow target stop them. "
             "Fewer refuses requests that the target could have taken.",
     .bind = into([](To& to) { return &to.route->options.at_once; }),
     .limits = {0, 100'000}},
    {.path = "http.routes[].wait",
     .default_text = "0s",
     .meaning = "To a sink or an upstream: how long a repeat waits while the first request still "
                "runs, before it is answered with 409 and Retry-After.",
     .cost = "Each that waits holds its connection.",
     .bind = into([](To& to) { return &to.route->options.wait; }),
     .limits = {0, 30 * second}},
    {.path = "http.routes[].status_path",
     .meaning = "To a sink or an upstream: a path where GET returns what became of a key: "
                "`in-flight`, `completed` with its answer's status, for an upstream also "
                "`outcome-unknown`; 410 if the answer is no longer kept, else 404. It takes the "
                "key in its header, and the same token and tenant.",
     .bind = into([](To& to) { return &to.route->options.status_path; })},
    {.path = "http.routes[].fingerprint",
     .default_text = "request",
     .meaning = "To a sink or an upstream: what has to be the same in a repeat. `request`: path, "
                "query and raw body; a difference is a conflict (422). `none`: any request under "
                "the same key is a repeat.",
     .bind = {OptionType::choice,
              [](To& to, const In& value) {
                  to.route->options.fingerprint = std::get<Choice>(value).index == 0;
              }},
     .choices = {"request", "none"}},
    {.path = "http.routes[].key.use",
     .default_text = "required",
     .meaning = "Whether a request must have a key. `forbidden` refuses a request that has one, "
                "because nothing would be kept under it.",
     .cost = "With `optional` a repeat without a key takes effect twice.",
     .bind = into([](To& to) { return &to.route->options.key.use; }),
     .choices = {"required", "optional", "forbidden"}},
    {.path = "http.routes[].key.header",
     .default_text = "Idempotency-Key",
     .meaning = "The header that has the key. GitHub's is `X-GitHub-Delivery`.",
     .bind = into([](To& to) { return &to.route->options.key.header; })},
    {.path = "http.routes[].key.field",
     .meaning = "Instead of a header: where the key is in a JSON body (RFC 6901), such as `/id` "
                "of Stripe's events.",
     .bind = into([](To& to) { return &to.route->options.key_field; })},
    {.path = "http.routes[].key.format",
     .default_text = "either",
     .meaning = "`structured`: a string in double quotes (RFC 8941), as the IETF's draft has it. "
                "`plain`: as it is. `either`: both; they are the same key.",
     .bind = into([](To& to) { return &to.route->options.key.format; }),
     .choices = {"either", "structured", "plain"}},
    {.path = "http.routes[].key.charset",
     .default_text = "any",
     .meaning = "What a key may be: anything that is printable ASCII, or a `uuid` alone.",
     .bind = into([](To& to) { return &to.route->options.key.uuid; }),
     .choices = {"any", "uuid"}},
    {.path = "http.routes[].key.length_min",
     .default_text = "1",
     .meaning = "Shortest key, in bytes.",
     .bind = into([](To& to) { return &to.route->options.key.length_min; }),
     .limits = {1, 1024}},
    {.path = "http.routes[].key.length_max",
     .default_text = "255",
     .meaning = "Longest key, in bytes.",
     .bind = into([](To& to) { return &to.route->options.key.length_max; }),
     .limits = {1, 1024}},
    {.path = "http.routes[].tenant.header",
     .meaning = "The header that has the tenant, if keys are unique only within a tenant. A "
                "request without it is refused.",
     .cost = "Any client that reaches the front door can name any tenant: use it only for clients "
             "that you trust.",
     .bind =
         {OptionType::text,
          [](To& to, const In& value) {
              to.route->options.tenant = {TenantSource::Kind::header, std::get<std::string>(value)};
          }}},
    {.path = "http.routes[].tenant.claim",
     .meaning = "The claim of the token that has the tenant.",
     .bind =
         {OptionType::text,
          [](To& to, const In& value) {
              to.route->options.tenant = {TenantSource::Kind::claim, std::get<std::string>(value)};
          }}},
    {.path = "http.routes[].token",
     .default_text = "<required, where there are http.tokens and no signature>",
     .meaning = "Whether a bearer token is needed.",
     .bind = into([](To& to) { return &to.route->token; }),
     .choices = {"required", "none"}},
    {.path = "http.routes[].signature.scheme",
     .meaning = "A signature over the raw body, verified before anything else: `stripe` "
                "(`Stripe-Signature`), `github` (`X-Hub-Signature-256`), or `hmac`, HMAC-SHA256 in "
                "hex in a header of its own.",
     .bind = into([](To& to) { return &to.route->options.signature.emplace().scheme; }),
     .choices = {"stripe", "github", "hmac"}},
    {.path = "http.routes[].signature.secret",
     .meaning = "What it is signed with. Never printed.",
     .bind = into([](To& to) { return &to.route->secret; })},
    {.path = "http.routes[].signature.previous_secret",
     .meaning = "A second secret that is accepted too, while the secret is being changed.",
     .bind = into([](To& to) { return &to.route->previous_secret; })},
    {.path = "http.routes[].signature.header",
     .meaning = "For `hmac`: the header that has the signature, with or without `sha256=` before "
                "it. `X-Signature` by default.",
     .bind = into([](To& to) { return of_signature(to, &SignatureOptions::header); })},
    {.path = "http.routes[].signature.time_header",
     .meaning = "For `hmac`: the header that has the time, in seconds since 1970 UTC; then "
                "`TIME.BODY` is what is signed.",
     .cost = "Without it a recorded request can be sent again at any time; only its key protects, "
             "within the retention.",
     .bind = into([](To& to) { return of_signature(to, &SignatureOptions::time_header); })},
    {.path = "http.routes[].signature.tolerance",
     .default_text = "5m",
     .meaning = "How far the signed time may be from now.",
     .bind = into([](To& to) { return of_signature(to, &SignatureOptions::tolerance); }),
     .limits = {second, day}},
    {.path = "http.routes[].rate.tenant",
     .default_text = "0",
     .meaning = "Requests a second of one tenant (of all clients, if the route has no tenants); "
                "each item of a bulk counts. Further ones get 429 and Retry-After. 0: no limit. "
                "Counted in each process.",
     .bind = into([](To& to) { return &to.route->tenant_rate.per_second; }),
     .limits = {0, 1'000'000}},
    {.path = "http.routes[].rate.tenant_burst",
     .default_text = "0",
     .meaning = "How many may come at once after a pause; 0: those of one second.",
     .bind = into([](To& to) { return &to.route->tenant_rate.burst; }),
     .limits = {0, 1'000'000}},
    {.path = "http.routes[].rate.key",
     .default_text = "0",
     .meaning = "The same for one key, also for each item of a bulk: against a client that repeats "
                "a request without a pause.",
     .bind = into([](To& to) { return &to.route->key_rate.per_second; }),
     .limits = {0, 1'000'000}},
    {.path = "http.routes[].rate.key_burst",
     .default_text = "0",
     .meaning = "As `tenant_burst`.",
     .bind = into([](To& to) { return &to.route->key_rate.burst; }),
     .limits = {0, 1'000'000}},
};

// To a sink a request is a message, with the options that a topic's messages have.
constexpr std::string_view shared_with_topics[] = {
    "topics[].format",         "topics[].protobuf.",         "topics[].sink.",
    "topics[].ledger.",        "topics[].results.max_bytes", "topics[].also_publish.",
    "topics[].results.headers"};

void add_shared(const std::vector<OptionSpec>& of_topics, std::vector<OptionSpec>& options) {
    static std::deque<std::string> paths;  // what the views are of
    for (OptionSpec spec : of_topics) {
        const bool shared = std::ranges::any_of(shared_with_topics, [&](std::string_view path) {
            return path.ends_with('.') ? spec.path.starts_with(path) : spec.path == path;
        });
        if (!shared) continue;
        spec.path = paths.emplace_back("http.routes[]" + std::string(spec.path.substr(8)));
        spec.required = false;  // not of a route to a topic
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
        }
        options.push_back(std::move(spec));
    }
}

}  // namespace

std::vector<OptionSpec> http_options() {
    std::vector<OptionSpec> options;
    for (const auto& part :
         {server_entries, http_limit_options, token_entries, route_entries, upstream_options}) {
        options.insert(options.end(), part.begin(), part.end());
    }
    for (const auto& part :
         {topic_options, sink_options, outbox_options(), key_and_ledger_options, result_options}) {
        add_shared(part, options);
    }
    return options;
}

}  // namespace onceward
