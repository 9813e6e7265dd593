#include "tests/unit/gateway/signing_key.h"

#include <cjose/cjose.h>

#include <cstdlib>
#include <stdexcept>

namespace onceward::test {
namespace {

template <class Pointer>
Pointer there(Pointer pointer) {
    if (pointer == nullptr) throw std::runtime_error("cjose refused it");
    return pointer;
}

}  // namespace

void SigningKey::Release::operator()(_cjose_jwk_int* key) const { cjose_jwk_release(key); }

SigningKey::SigningKey(_cjose_jwk_int* key, std::string id) : key_(there(key)), id_(std::move(id)) {
    cjose_err error{};
    if (!id_.empty()) cjose_jwk_set_kid(key_.get(), id_.data(), id_.size(), &error);
}

SigningKey SigningKey::rsa(const std::string& id, std::size_t bits) {
    static const std::uint8_t exponent[] = {1, 0, 1};
    cjose_err error{};
    return {cjose_jwk_create_RSA_random(bits, exponent, sizeof exponent, &error), id};
}

SigningKey SigningKey::p256(const std::string& id) {
    cjose_err error{};
    return {cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error), id};
}

SigningKey SigningKey::symmetric(const std::string& secret) {
    cjose_err error{};
    return {cjose_jwk_create_oct_spec(reinterpret_cast<const std::uint8_t*>(secret.data()),
                                      secret.size(), &error),
            ""};
}

nlohmann::json SigningKey::public_part() const {
    cjose_err error{};
    char* text = there(cjose_jwk_to_json(key_.get(), false, &error));
    nlohmann::json part = nlohmann::json::parse(text);
    std::free(text);
    return part;
}

std::string SigningKey::sign(const nlohmann::json& claims, const std::string& algorithm,
                             const nlohmann::json& more) const {
    cjose_err error{};
    cjose_header_t* header = there(cjose_header_new(&error));
    cjose_header_set(header, CJOSE_HDR_ALG, algorithm.c_str(), &error);
    if (!id_.empty()) cjose_header_set(header, CJOSE_HDR_KID, id_.c_str(), &error);
    for (const auto& [name, value] : more.items()) {
        cjose_header_set_raw(header, name.c_str(), value.dump().c_str(), &error);
    }
    const std::string text = claims.dump();
    cjose_jws_t* token =
        there(cjose_jws_sign(key_.get(), header, reinterpret_cast<const std::uint8_t*>(text.data()),
                             text.size(), &error));
    const char* written = nullptr;
    cjose_jws_export(token, &written, &error);
    std::string result = there(written);
    cjose_jws_release(token);
    cjose_header_release(header);
    return result;
}

std::string key_set(const std::vector<nlohmann::json>& keys) {
    return nlohmann::json{{"keys", keys}}.dump();
}

std::string base64url(const std::string& bytes) {
    constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text;
    unsigned bits = 0;
    int count = 0;
    for (const char byte : bytes) {
        bits = bits << 8 | static_cast<unsigned char>(byte);
        for (count += 8; count >= 6; count -= 6) text += digits[bits >> (count - 6) & 63];
    }
    if (count > 0) text += digits[bits << (6 - count) & 63];
    return text;
}

}  // namespace onceward::test
