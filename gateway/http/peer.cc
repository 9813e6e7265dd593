#include "gateway/http/peer.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

#include "gateway/http/server.h"

namespace onceward::serving {

void ask_for_certificates(ssl_ctx_st* context, const std::string& authorities) {
    if (SSL_CTX_load_verify_locations(context, authorities.c_str(), nullptr) != 1) {
        throw ServerError(authorities + " holds no certificates of authorities");
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    // Browsers choose a certificate by this list.
    SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(authorities.c_str()));
    // Without this context no session with a certificate can be resumed: its handshake fails.
    static constexpr unsigned char name[] = "onceward";
    SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
}

std::string verified_subject(ssl_st* session) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        SSL_get1_peer_certificate(session), &X509_free);
    if (!certificate || SSL_get_verify_result(session) != X509_V_OK) return "";
    const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new(BIO_s_mem()), &BIO_free);
    if (!text || X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate.get()), 0,
                                    XN_FLAG_RFC2253) < 0) {
        return "";
    }
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(text.get(), &bytes);
    return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace onceward::serving
