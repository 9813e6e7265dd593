#include "tests/support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace onceward::support {
namespace {

struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(FILE* file) const { std::fclose(file); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

constexpr long day = 24 * 60 * 60;

void check(bool succeeded) {
    if (!succeeded) throw std::runtime_error("OpenSSL made no certificate");
}

void add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
    check(extension != nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

Certificate make(EVP_PKEY* key, const char* name, X509* issuer, EVP_PKEY* issuer_key,
                 bool expired) {
    Certificate certificate(X509_new());
    check(certificate != nullptr);
    X509_set_version(certificate.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), issuer == nullptr ? 1 : 2);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -10 * day);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), expired ? -day : 10 * day);
    X509_set_pubkey(certificate.get(), key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    X509* signer = issuer == nullptr ? certificate.get() : issuer;
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
    if (issuer == nullptr) {
        add_extension(certificate.get(), signer, NID_basic_constraints, "critical,CA:TRUE");
    } else {
        add_extension(certificate.get(), signer, NID_subject_alt_name,
                      "IP:127.0.0.1,DNS:localhost");
    }
    check(X509_sign(certificate.get(), issuer_key, EVP_sha256()) > 0);
    return certificate;
}

std::unique_ptr<FILE, Free> open_for_writing(const std::filesystem::path& path) {
    std::unique_ptr<FILE, Free> file(std::fopen(path.c_str(), "we"));
    if (!file) throw std::runtime_error("cannot write " + path.string());
    return file;
}

}  // namespace

void write_certificates(const std::filesystem::path& folder, bool expired) {
    const Key ca_key(EVP_EC_gen("P-256"));
    const Key server_key(EVP_EC_gen("P-256"));
    check(ca_key != nullptr && server_key != nullptr);
    const Certificate ca = make(ca_key.get(), "onceward tests", nullptr, ca_key.get(), false);
    const Certificate server = make(server_key.get(), "127.0.0.1", ca.get(), ca_key.get(), expired);
    const auto ca_file = open_for_writing(folder / "ca.pem");
    check(PEM_write_X509(ca_file.get(), ca.get()) == 1);
    const auto server_file = open_for_writing(folder / "server.pem");
    check(PEM_write_PKCS8PrivateKey(server_file.get(), server_key.get(), nullptr, nullptr, 0,
                                    nullptr, nullptr) == 1);
    check(PEM_write_X509(server_file.get(), server.get()) == 1);
    check(PEM_write_X509(server_file.get(), ca.get()) == 1);
}

}  // namespace onceward::support
