#pragma once
// Who is at the other end of a TLS connection, by OpenSSL alone: Boost's headers are for server.cc.
// Used by the thread that has the connection.

#include <string>

struct ssl_st;
struct ssl_ctx_st;

namespace onceward::serving {

// Asks peers for a certificate of these authorities (a PEM file). A peer without one is served,
// too: the handler decides what it may do. Throws ServerError if the file cannot be used.
void ask_for_certificates(ssl_ctx_st* context, const std::string& authorities);

// The subject of the certificate that the peer has shown, as RFC 2253 writes it; '' if it has shown
// none, or none that a trusted authority has signed.
std::string verified_subject(ssl_st* session);

}  // namespace onceward::serving
