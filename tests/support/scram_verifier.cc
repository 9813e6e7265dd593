#include "tests/support/scram_verifier.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>
#include <span>
#include <stdexcept>
#include <string_view>

namespace onceward::support {
namespace {

constexpr int rounds = 1;
using Hash = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

std::string base64(std::span<const unsigned char> bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                                     static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

Hash keyed_hash(const Hash& key, std::string_view text) {
    Hash hash;
    unsigned int size = 0;
    if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data(),
             &size) == nullptr) {
        throw std::runtime_error("cannot make the verifier of a password");
    }
    return hash;
}

}  // namespace

// Section 3 of RFC 5802: SaltedPassword, StoredKey and ServerKey.
std::string scram_verifier(const std::string& password) {
    std::array<unsigned char, 16> salt;
    Hash salted;
    if (RAND_bytes(salt.data(), static_cast<int>(salt.size())) != 1 ||
        PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), salt.data(),
                          static_cast<int>(salt.size()), rounds, EVP_sha256(),
                          static_cast<int>(salted.size()), salted.data()) != 1) {
        throw std::runtime_error("cannot make the verifier of a password");
    }
    const Hash client_key = keyed_hash(salted, "Client Key");
    Hash stored_key;
    SHA256(client_key.data(), client_key.size(), stored_key.data());
    return "SCRAM-SHA-256$" + std::to_string(rounds) + ":" + base64(salt) + "$" +
           base64(stored_key) + ":" + base64(keyed_hash(salted, "Server Key"));
}

}  // namespace onceward::support
