#include "gateway/http/request_head.h"

#include <algorithm>
#include <vector>

#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

// 19 digits fit into 64 bits.
constexpr std::size_t most_length_digits = 19;

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

// RFC 3986, 3.2.2: letters, digits, marks and percent signs with two hex digits.
bool valid_registered_name(std::string_view name) {
    constexpr std::string_view marks = "-._~!$&'()*+;=%";  // without `,`: it joins two fields
    return percent_decoded(name) && std::ranges::all_of(name, [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit_char(c) ||
                      marks.find(c) != std::string_view::npos;
           });
}

}  // namespace

bool valid_authority(std::string_view text) {
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos || end == 1) return false;
        const std::string_view address = text.substr(1, end - 1);
        if (address.find_first_not_of("0123456789abcdefABCDEF:.") != address.npos) return false;
        port = text.substr(end + 1);
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        if (!valid_registered_name(text.substr(0, colon))) return false;
        port = text.substr(colon);
    }
    if (port.empty()) return true;
    return port.front() == ':' && std::ranges::all_of(port.substr(1), is_digit_char);
}

std::optional<TargetParts> parts_of_target(std::string_view target) {
    if (target.starts_with('/') || target == "*") return TargetParts{{}, std::string(target)};
    const std::size_t mark = target.find("://");
    if (mark == std::string_view::npos) return std::nullopt;
    const std::string_view scheme = target.substr(0, mark);
    if (!same_header(scheme, "http") && !same_header(scheme, "https")) return std::nullopt;
    const std::string_view rest = target.substr(mark + 3);
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    const std::string_view authority = rest.substr(0, end);
    if (authority.empty() || authority.front() == ':' || !valid_authority(authority)) {
        return std::nullopt;
    }
    std::string path(rest.substr(end));
    if (!path.starts_with('/')) path.insert(0, "/");
    return TargetParts{std::string(authority), std::move(path)};
}

HeadScan::State HeadScan::refuse(ProblemKind problem) {
    problem_ = problem;
    return State::refused;
}

HeadScan::State HeadScan::look(std::string_view bytes) {
    for (; at_ < bytes.size(); ++at_) {
        const char c = bytes[at_];
        // DANGER: a CR or an LF alone ends a line for some readers and not for others.
        const bool after_cr = at_ > line_ && bytes[at_ - 1] == '\r';
        if (after_cr != (c == '\n')) return refuse(ProblemKind::malformed_request);
        if (c == '\r') continue;
        if (!valid_header_value({&c, 1}) && c != '\n') {
            return refuse(ProblemKind::malformed_request);
        }
        if (c != '\n') continue;
        const std::string_view line = bytes.substr(line_, at_ - 1 - line_);
        line_ = at_ + 1;
        if (line.empty() && !in_fields_) {
            begin_ = line_;
            continue;
        }
        const Fault fault = line.empty() ? judge() : take_line(line);
        if (fault) return refuse(*fault);
        if (line.empty()) return State::whole;
    }
    return State::unfinished;
}

HeadScan::Fault HeadScan::take_line(std::string_view line) {
    if (in_fields_) return take_field(line);
    in_fields_ = true;
    return take_request_line(line);
}

HeadScan::Fault HeadScan::take_request_line(std::string_view line) {
    const std::size_t first = std::min(line.find(' '), line.size());
    const std::size_t last = line.rfind(' ');
    if (first == line.size() || first == last) return ProblemKind::malformed_request;
    const std::string_view method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, last - first - 1);
    const std::string_view version = line.substr(last + 1);
    const bool named = version.size() == 8 && version.starts_with("HTTP/") &&
                       is_digit_char(version[5]) && version[6] == '.' && is_digit_char(version[7]);
    if (!named || !valid_header_name(method) ||
        target.find_first_of(" \t") != std::string_view::npos) {
        return ProblemKind::malformed_request;
    }
    http_1_0_ = version == "HTTP/1.0";
    if (!http_1_0_ && version != "HTTP/1.1") return ProblemKind::version_unknown;
    if (!parts_of_target(target) || (target == "*" && method != "OPTIONS")) {
        return ProblemKind::malformed_request;
    }
    return std::nullopt;
}

// A continuation line begins with a blank, and so has no name.
HeadScan::Fault HeadScan::take_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !valid_header_name(line.substr(0, colon))) {
        return ProblemKind::malformed_request;
    }
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = without_blanks(line.substr(colon + 1));
    if (same_header(name, "Host")) {
        ++hosts_;
        if (!valid_authority(value)) return ProblemKind::malformed_request;
    }
    if (same_header(name, "Content-Length")) {
        ++lengths_;
        if (value.empty() || value.size() > most_length_digits ||
            !std::ranges::all_of(value, is_digit_char)) {
            return ProblemKind::malformed_request;
        }
    }
    if (same_header(name, "Transfer-Encoding")) {
        codings_ = codings_ ? *codings_ + "," + std::string(value) : std::string(value);
    }
    return std::nullopt;
}

HeadScan::Fault HeadScan::judge() const {
    if (hosts_ > 1 || (hosts_ == 0 && !http_1_0_) || lengths_ > 1) {
        return ProblemKind::malformed_request;
    }
    return codings_ ? judge_codings() : std::nullopt;
}

// DANGER: RFC 9112, 6.1 and 6.3. If a proxy before us finds the end of the body elsewhere than we
// do, the rest of the body is a request that was never checked.
HeadScan::Fault HeadScan::judge_codings() const {
    if (http_1_0_ || lengths_ > 0) return ProblemKind::malformed_request;
    std::vector<std::string_view> codings;
    std::string_view rest = *codings_;
    while (true) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        codings.push_back(without_blanks(rest.substr(0, comma)));
        if (comma == rest.size()) break;
        rest.remove_prefix(comma + 1);
    }
    const auto chunked = [](std::string_view coding) { return same_header(coding, "chunked"); };
    if (!std::ranges::all_of(codings, valid_header_name) || !chunked(codings.back()) ||
        std::ranges::count_if(codings, chunked) > 1) {
        return ProblemKind::malformed_request;
    }
    if (codings.size() > 1) return ProblemKind::coding_unknown;
    return std::nullopt;
}

}  // namespace onceward
