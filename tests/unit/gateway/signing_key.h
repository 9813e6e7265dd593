#pragma once
// Makes tokens for tests, as an issuer does. Used by one thread; failures are std::runtime_errors.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

struct _cjose_jwk_int;

namespace onceward::test {

class SigningKey {
  public:
    static SigningKey rsa(const std::string& id, std::size_t bits = 2048);
    static SigningKey p256(const std::string& id);
    // A secret that both sides know.
    static SigningKey symmetric(const std::string& secret);

    // What a key set has of it.
    nlohmann::json public_part() const;
    // `header`: in addition to `kid`.
    std::string sign(const nlohmann::json& claims, const std::string& algorithm,
                     const nlohmann::json& header = nlohmann::json::object()) const;

  private:
    struct Release {
        void operator()(_cjose_jwk_int* key) const;
    };
    SigningKey(_cjose_jwk_int* key, std::string id);
    std::unique_ptr<_cjose_jwk_int, Release> key_;
    std::string id_;
};

std::string key_set(const std::vector<nlohmann::json>& keys);
std::string base64url(const std::string& bytes);

}  // namespace onceward::test
