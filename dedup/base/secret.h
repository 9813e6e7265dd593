#pragma once
// A text that must never be printed: a password, a connection string, a private key.
// A plain value. Text converts to it implicitly, but comes out only through reveal(), so that every
// place that handles the clear text can be found by that name; streams and logs get `***`.

#include <ostream>
#include <string>
#include <utility>

namespace onceward {

class Secret {
  public:
    Secret() = default;
    Secret(std::string text) : text_(std::move(text)) {}
    Secret(const char* text) : text_(text) {}
    const std::string& reveal() const { return text_; }
    bool empty() const { return text_.empty(); }
    friend bool operator==(const Secret&, const Secret&) = default;

  private:
    std::string text_;
};

inline std::string to_text(const Secret&) { return "***"; }
inline std::ostream& operator<<(std::ostream& stream, const Secret& secret) {
    return stream << to_text(secret);
}

}  // namespace onceward
