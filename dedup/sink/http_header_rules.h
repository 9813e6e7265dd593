#pragma once
// Which HTTP headers go where: the one place that says so, for results, webhooks and the front
// door. Pure; thread-safe; throws only std::bad_alloc.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceward {

// Whether two header names are the same one: ASCII letters in either case.
bool same_header(std::string_view left, std::string_view right);
// The same, also to a server that passes headers on as variables (CGI and its successors): there
// `-` and `_` are the same character.
bool same_variable(std::string_view left, std::string_view right);

// Without the blanks and tabs around it.
std::string_view without_blanks(std::string_view text);

// Whether this is a header's name (RFC 9110, 5.6.2), and a value that cannot begin another header.
bool valid_header_name(std::string_view name);
bool valid_header_value(std::string_view value);

// Whether it belongs to one hop (RFC 9110, 7.6.1), even if no Connection header names it.
bool is_of_one_hop(std::string_view name);
// The names in Connection headers, in lower case: these belong to the hop as well.
std::vector<std::string> names_of_the_hop(
    const std::vector<std::pair<std::string, std::string>>& headers);

// Headers of an answer that are never stored and never replayed, even if a list allows them:
// Set-Cookie, hop-by-hop headers, and those that reveal the caller.
bool is_never_stored(std::string_view name);
// Headers of a client's request that are never forwarded to an upstream: hop-by-hop headers, those
// of the call itself, those that say where the request came from or what it really asks for (a
// proxy's header, which would be trusted), and Onceward's own.
bool is_never_forwarded(std::string_view name);
// Headers by which a proxy informs the next server where a request came from, who sent it, or what
// it really asks for. They are passed on only if the configuration names them.
bool is_a_proxys_word(std::string_view name);
// Headers by which Onceward informs its upstream: the key and the tenant.
bool is_own_header(std::string_view name);
// Headers that a configuration must not set for a call: they belong to it or to its connection.
bool is_of_the_call(std::string_view name);

}  // namespace onceward
