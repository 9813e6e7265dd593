#include "tests/support/frontend_parser.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace onceward::support {
namespace {

constexpr std::size_t length_size = 4;
constexpr std::uint32_t ssl_request = 80877103;
constexpr std::uint32_t gss_request = 80877104;

std::uint32_t big_endian(std::string_view bytes) {
    std::uint32_t value = 0;
    for (const char byte : bytes.substr(0, length_size))
        value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

bool ends_with_commit(std::string_view sql) {
    const auto is_end = [](char character) {
        return character == ';' || std::isspace(static_cast<unsigned char>(character)) != 0;
    };
    while (!sql.empty() && is_end(sql.back())) sql.remove_suffix(1);
    constexpr std::string_view word = "COMMIT";
    if (sql.size() < word.size()) return false;
    const std::string_view tail = sql.substr(sql.size() - word.size());
    const bool same = std::equal(tail.begin(), tail.end(), word.begin(), [](char left, char right) {
        return std::toupper(static_cast<unsigned char>(left)) == right;
    });
    return same && (sql.size() == word.size() || is_end(sql[sql.size() - word.size() - 1]));
}

// The text of a Query (`Q`), or of a Parse (`P`), where it follows the statement's name.
std::string_view sql_of(std::string_view message) {
    std::string_view body = message.substr(1 + length_size);
    if (message[0] == 'P') body.remove_prefix(std::min(body.size(), body.find('\0') + 1));
    return body.substr(0, body.find('\0'));
}

std::string parameter(std::string_view startup, const std::string& name) {
    std::string_view rest = startup.substr(2 * length_size);
    const auto next = [&rest] {
        const std::string_view text = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(rest.size(), text.size() + 1));
        return text;
    };
    while (!rest.empty() && rest.front() != '\0') {
        const std::string_view key = next();
        const std::string_view value = next();
        if (key == name) return std::string(value);
    }
    return {};
}

}  // namespace

std::vector<FrontendParser::Piece> FrontendParser::take(std::string_view bytes) {
    buffer_ += bytes;
    std::vector<Piece> pieces;
    while (started_ ? take_message(pieces) : take_startup(pieces)) {
    }
    return pieces;
}

bool FrontendParser::take_startup(std::vector<Piece>& pieces) {
    if (buffer_.size() < 2 * length_size) return false;
    const std::size_t size = big_endian(buffer_);
    if (buffer_.size() < size) return false;
    const std::uint32_t code = big_endian(std::string_view(buffer_).substr(length_size));
    started_ = code != ssl_request && code != gss_request;
    if (started_)
        application_name_ =
            parameter(std::string_view(buffer_).substr(0, size), "application_name");
    pieces.push_back({buffer_.substr(0, size), false});
    buffer_.erase(0, size);
    return true;
}

bool FrontendParser::take_message(std::vector<Piece>& pieces) {
    if (pass_ > 0) {
        const std::size_t size = std::min(pass_, buffer_.size());
        if (size == 0) return false;
        pieces.push_back({buffer_.substr(0, size), false});
        buffer_.erase(0, size);
        pass_ -= size;
        return true;
    }
    if (buffer_.size() < 1 + length_size) return false;
    const std::size_t size = 1 + big_endian(std::string_view(buffer_).substr(1));
    const char type = buffer_[0];
    if (type != 'Q' && type != 'P' && extended_commit_.empty()) {
        pass_ = size;
        return true;
    }
    if (buffer_.size() < size) return false;
    const std::string message = buffer_.substr(0, size);
    buffer_.erase(0, size);
    const bool begins_commit = extended_commit_.empty() && (type == 'Q' || type == 'P') &&
                               ends_with_commit(sql_of(message));
    if (begins_commit && type == 'Q') {
        pieces.push_back({message, true});
    } else if (begins_commit || !extended_commit_.empty()) {
        extended_commit_ += message;
        if (type == 'S') pieces.push_back({std::exchange(extended_commit_, {}), true});
    } else {
        pieces.push_back({message, false});
    }
    return true;
}

}  // namespace onceward::support
