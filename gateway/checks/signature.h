#pragma once
// Whether a request was signed by the sender that it claims to come from: an HMAC-SHA256 over its
// raw body. Pure, but for OpenSSL's own state; thread-safe. Secrets are never printed.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/base/secret.h"
#include "dedup/message/digest.h"
#include "gateway/http/http.h"

namespace onceward {

struct SignatureOptions {
    // stripe: `Stripe-Signature: t=TIME,v1=HEX,...` over `TIME.BODY`.
    // github: `X-Hub-Signature-256: sha256=HEX` over the body.
    // hmac: a header of your own has the signature in hex, with or without `sha256=` before it. It
    // is over the body, or over `TIME.BODY` if a header has the time.
    // standard_webhooks (standardwebhooks.com): `webhook-signature: v1,BASE64 ...` over
    // `ID.TIME.BODY`, with the headers `webhook-id` and `webhook-timestamp`.
    enum class Scheme : std::uint8_t {
        stripe,
        github,
        hmac,
        standard_webhooks
    } scheme = Scheme::hmac;
    // Any of them will do, so that a secret can be changed without a gap.
    std::vector<Secret> secrets;
    // hmac: where the signature is, and the time (seconds since 1970 UTC); '': no time is signed.
    std::string header = "X-Signature";
    std::string time_header{};
    // How far the signed time may be from now, in either direction. A longer time tolerates worse
    // clocks and later deliveries. Within the retention a repeated request is a duplicate in any
    // case.
    std::chrono::seconds tolerance{300};
};

enum class SignatureVerdict : std::uint8_t {
    good,
    missing,
    malformed,  // not of the scheme's form
    stale,      // well signed, but too long ago, or too far ahead
    wrong,
};

// The headers that have the signature and its time; '': no time is signed in a header of its own.
std::string_view signature_header(const SignatureOptions& options);
std::string signed_time_header(const SignatureOptions& options);
// The header with an id that is signed too; '': none is.
std::string_view signed_id_header(const SignatureOptions& options);

SignatureVerdict verify_signature(const SignatureOptions& options, const HttpHeaders& headers,
                                  std::string_view body, std::chrono::seconds now);

}  // namespace onceward
