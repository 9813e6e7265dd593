#include "gateway/to_upstream/upstream_rules.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <set>

#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

using std::chrono::seconds;

// Forwarded only if they are named.
constexpr std::array<std::string_view, 3> credentials{"authorization", "cookie", "cookie2"};

bool is_among(std::string_view name, const auto& names) {
    return std::ranges::any_of(names,
                               [&](std::string_view known) { return same_header(known, name); });
}

bool underscored(std::string_view name) { return name.find('_') != std::string_view::npos; }

std::string dashes_in(std::string_view name) {
    std::string dashed = lower_case(std::string(name));
    std::ranges::replace(dashed, '_', '-');
    return dashed;
}

seconds whole_seconds(std::chrono::milliseconds time) {
    return std::max(seconds(1), std::chrono::ceil<seconds>(time));
}

// Whether a server may read this as `.` or `..`, even if it first removes parameters (`..;a`), or
// blanks and dots at the end.
bool is_dots(std::string_view part) {
    part = part.substr(0, part.find(';'));
    return part.find('.') != std::string_view::npos &&
           part.find_first_not_of(". \t") == std::string_view::npos;
}

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
}

// Whether a second decoding would give a dot, a slash, a backslash or another percent sign.
bool is_written_twice(std::string_view decoded) {
    for (std::size_t at = decoded.find('%'); at != std::string_view::npos;
         at = decoded.find('%', at + 1)) {
        const std::string code = lower_case(std::string(decoded.substr(at, 3)));
        if (code == "%2e" || code == "%2f" || code == "%5c" || code == "%25") return true;
    }
    return false;
}

}  // namespace

CallEnd end_of(const UpstreamAnswer& answer, const UpstreamTarget& upstream) {
    if (answer.status == 0) return answer.carried ? CallEnd::unknown : CallEnd::never_sent;
    const int status = answer.status;
    if (std::ranges::find(upstream.free_on, status) != upstream.free_on.end()) {
        return CallEnd::turned_down;
    }
    const bool passing = status == 408 || status == 425 || status == 429;
    if (status >= 200 && status < 500 && !passing) return CallEnd::final_answer;
    // DANGER: a 500 is often sent after the effect, and a 502 or 504 by a gateway on the way, which
    // does not know of the effect. Only an upstream that knows the downstream key may be called
    // again.
    return upstream.honours_key ? CallEnd::turned_down : CallEnd::in_doubt;
}

KeyFate fate_of(CallEnd end, const UpstreamTarget& upstream) {
    if (end == CallEnd::final_answer) return KeyFate::stored;
    if (end == CallEnd::turned_down || end == CallEnd::never_sent) return KeyFate::released;
    // DANGER: it may have taken effect. Only an upstream that knows the downstream key makes one
    // effect of a second call.
    const bool release =
        upstream.on_unknown == UpstreamTarget::OnUnknown::release && upstream.honours_key;
    return release ? KeyFate::released : KeyFate::held;
}

KeyedOutcome outcome_of(const LeaseAnswer& answer, const UpstreamTarget& upstream,
                        const std::optional<MessageResult>& stored) {
    switch (answer.verdict) {
        case LeaseVerdict::conflict: return KeyedAnswer{.state = KeyState::conflict};
        case LeaseVerdict::late: return problem_of(Verdict::late);
        case LeaseVerdict::early: return problem_of(Verdict::early);
        case LeaseVerdict::done:
        case LeaseVerdict::failed:
            if (!stored) return Problem{.kind = ProblemKind::answer_gone};
            return KeyedAnswer{.state = KeyState::replayed, .result = response_of(*stored)};
        case LeaseVerdict::mine:
        case LeaseVerdict::in_flight: break;
    }
    // Its lease has ended without an answer, and the call must not be repeated.
    if (answer.left.count() == 0 && !upstream.honours_key) {
        return Problem{.kind = ProblemKind::outcome_unknown,
                       .detail =
                           "The call with this key got no answer, so it is not known whether it "
                           "took effect. It is not made again until an operator has checked that "
                           "and freed the key."};
    }
    return KeyedAnswer{.state = KeyState::in_flight, .retry_after = whole_seconds(answer.left)};
}

KeyStatus status_of_lease(const LeaseSeen& lease) {
    if (!lease.in_flight) return {.state = KeyStatus::State::completed, .status = lease.status};
    if (lease.left.count() == 0) return {.state = KeyStatus::State::outcome_unknown};
    return {.state = KeyStatus::State::in_flight, .retry_after = whole_seconds(lease.left)};
}

MessageResult result_of(UpstreamAnswer answer, const ResultLimits& limits) {
    const int status = answer.status;
    MessageResult kept =
        storable({.kind = status >= 400 ? MessageResult::Kind::failed : MessageResult::Kind::done,
                  .status = status,
                  .headers = std::move(answer.headers),
                  .body = std::move(answer.body)},
                 limits)
            .value_or(MessageResult{});
    kept.status = status;
    if (answer.too_large) {
        kept.headers = {
            {std::string(dropped_header), "more than " + std::to_string(limits.max_bytes)}};
    }
    return kept;
}

KeyedOutcome passed_on(UpstreamAnswer answer, const UpstreamTarget& upstream,
                       const ResultLimits& limits, std::chrono::milliseconds lease) {
    const CallEnd end = end_of(answer, upstream);
    switch (end) {
        case CallEnd::never_sent:
            return Problem{.kind = ProblemKind::upstream_unreachable,
                           .detail = "Nothing was carried out; send it again with the same key.",
                           .retry_after = seconds(1)};
        case CallEnd::unknown: {
            const bool held = fate_of(end, upstream) == KeyFate::held;
            return Problem{.kind = ProblemKind::upstream_unanswered,
                           .detail =
                               "Whether it took effect is not known; ask again with the "
                               "same key.",
                           .retry_after = held ? whole_seconds(lease) : seconds(1)};
        }
        case CallEnd::turned_down:
        case CallEnd::in_doubt:
        case CallEnd::final_answer: break;
    }
    std::vector<std::string> allowed = limits.headers;
    allowed.emplace_back("retry-after");
    return KeyedAnswer{.state = KeyState::fresh,
                       .result = {.status = answer.status,
                                  .headers = kept_headers(answer.headers, allowed),
                                  .body = std::move(answer.body)}};
}

KeyedOutcome passed_on_without_key(UpstreamAnswer answer, const ResultLimits& limits) {
    const CallEnd end = end_of(answer, {});
    if (end == CallEnd::final_answer) {
        // Like the answer to a request with a key, it is cut to what would be stored.
        return KeyedAnswer{.state = KeyState::fresh,
                           .result = response_of(result_of(std::move(answer), limits))};
    }
    KeyedOutcome outcome = passed_on(std::move(answer), {}, limits, {});
    if (auto* problem = std::get_if<Problem>(&outcome)) {
        const bool sent = end == CallEnd::unknown;
        problem->detail = sent ? "Whether it took effect is not known; without a key a second "
                                 "request would be a second operation."
                               : "Nothing was carried out; send it again.";
        if (sent) problem->retry_after.reset();
    }
    return outcome;
}

HttpHeaders forwarded_headers(const HttpHeaders& headers, const std::string& key_header,
                              std::span<const std::string> named) {
    const std::vector<std::string> hop = names_of_the_hop(headers);
    std::set<std::string> dashed;
    for (const auto& [name, value] : headers) {
        if (!underscored(name)) dashed.insert(lower_case(name));
    }
    HttpHeaders kept;
    for (const auto& [name, value] : headers) {
        const bool wants_a_name = is_among(name, credentials) || is_a_proxys_word(name);
        const bool credential = wants_a_name && !is_among(name, named);
        const bool never = is_never_forwarded(name) && !is_a_proxys_word(name);
        const bool shadows = underscored(name) && dashed.contains(dashes_in(name));
        if (credential || shadows || never || is_among(name, hop) ||
            same_variable(name, key_header) || !valid_header_value(value)) {
            continue;
        }
        kept.emplace_back(name, value);
    }
    return kept;
}

bool may_be_forwarded(std::string_view target) {
    const std::string_view path = path_of(target);
    if (!path.starts_with('/') || target.find('#') != std::string_view::npos) return false;
    // DANGER: the route's pattern was compared with the parts of the path between slashes. If an
    // upstream splits the path in another way, it runs another operation, without that one's
    // limits.
    std::string_view rest = path.substr(1);
    while (true) {
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        const std::optional<std::string> part = percent_decoded(rest.substr(0, slash));
        // Only UTF-8: some decoders read a dot or a slash in invalid bytes.
        if (!part || !simdjson::validate_utf8(*part) || is_dots(*part) || is_written_twice(*part) ||
            part->find_first_of("/\\") != std::string::npos ||
            std::ranges::any_of(*part, is_control)) {
            return false;
        }
        if (slash == rest.size()) break;
        if (part->empty()) return false;  // `//`, which many servers read as `/`
        rest.remove_prefix(slash + 1);
    }
    return std::ranges::all_of(target, [](char c) {
        return static_cast<unsigned char>(c) > ' ' && static_cast<unsigned char>(c) < 0x7F;
    });
}

}  // namespace onceward
