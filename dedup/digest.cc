#include "dedup/digest.h"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

#include "dedup/mutants.h"

namespace onceward {
namespace {

struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// One context for each thread: making one costs more than hashing a key. The method is fetched
// once, since OpenSSL 3 looks it up anew for each EVP_sha256().
class Hasher {
  public:
    Hasher() : context_(EVP_MD_CTX_new()), method_(EVP_MD_fetch(nullptr, "SHA256", nullptr)) {
        if (!context_ || method_ == nullptr) throw std::runtime_error("OpenSSL has no SHA-256");
    }
    ~Hasher() { EVP_MD_free(method_); }
    Hasher(const Hasher&) = delete;
    Hasher& operator=(const Hasher&) = delete;
    void begin() { check(EVP_DigestInit_ex2(context_.get(), method_, nullptr)); }
    void add(std::string_view bytes) {
        check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
    }
    void add_part(std::string_view part) {
        const auto size = static_cast<std::uint64_t>(part.size());
        char prefix[8];
        for (int i = 0; i < 8; ++i) prefix[i] = static_cast<char>(size >> (56 - 8 * i));
        add({prefix, sizeof prefix});
        add(part);
    }
    Digest end() {
        std::array<unsigned char, 32> whole;
        unsigned int size = 0;
        check(EVP_DigestFinal_ex(context_.get(), whole.data(), &size));
        Digest digest;
        std::memcpy(digest.bytes.data(), whole.data(), digest.bytes.size());
        return digest;
    }

  private:
    static void check(int result) {
        if (result != 1) throw std::runtime_error("OpenSSL failed to compute SHA-256");
    }
    std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
    EVP_MD* method_;
};

Hasher& hasher() {
    thread_local Hasher hasher;
    hasher.begin();
    return hasher;
}

constexpr char digits[] = "0123456789abcdef";

}  // namespace

Digest digest_of(const IdempotencyKey& key) {
    Hasher& hash = hasher();
    hash.add_part(key.operation);
    hash.add_part(key.tenant);
    hash.add_part(key.kind);
    if (mutant(Mutant::text_keys_cut_at_nul)) {
        hash.add_part(key.text.substr(0, key.text.find('\0')));
    } else {
        hash.add_part(key.text);
    }
    return hash.end();
}

Digest digest_of_bytes(std::string_view bytes) {
    Hasher& hash = hasher();
    hash.add(bytes);
    return hash.end();
}

std::string hex(const Digest& digest) {
    std::string text;
    for (const std::uint8_t byte : digest.bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::string uuid_text(const Digest& digest) {
    std::string text = hex(digest);
    for (const std::size_t position : {8U, 13U, 18U, 23U}) text.insert(position, 1, '-');
    return text;
}

}  // namespace onceward
