#include "consumer/decode/avro/logical_types.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "dedup/base/iso_time.h"

namespace onceward::avro {
namespace {

constexpr std::int64_t micros_of_day = 86'400'000'000;
constexpr std::int64_t first_micro = -62'135'596'800'000'000;  // 0001-01-01
constexpr std::int64_t last_micro = 253'402'300'799'999'999;   // 9999-12-31T23:59:59.999999

// `number` with leading zeros, so that it has `digits` digits.
std::string padded(std::uint64_t number, std::size_t digits) {
    std::string text = std::to_string(number);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    return text;
}

// The digits of the magnitude of a number in two's complement.
std::string digits_of(std::string_view bytes, bool negative) {
    std::vector<std::uint32_t> limbs;  // big-endian; of a negative number those of its complement
    const std::size_t first = bytes.size() % 4;
    for (std::size_t at = 0; at < bytes.size();) {
        std::uint32_t limb = 0;
        for (const std::size_t end = at + (at == 0 && first != 0 ? first : 4); at < end; ++at) {
            const auto byte = static_cast<std::uint8_t>(bytes[at]);
            limb = limb << 8 | (negative ? static_cast<std::uint8_t>(~byte) : byte);
        }
        limbs.push_back(limb);
    }
    // The magnitude is the complement plus one. It is one limb longer if all bits of the complement
    // are set.
    for (auto limb = limbs.rbegin(); negative; ++limb) {
        if (limb == limbs.rend()) {
            limbs.insert(limbs.begin(), 1);
            break;
        }
        if (++*limb != 0) break;
    }
    constexpr std::uint64_t billion = 1'000'000'000;
    std::vector<std::uint64_t> groups;
    for (std::size_t begin = 0; begin < limbs.size();) {
        std::uint64_t rest = 0;
        for (std::size_t i = begin; i < limbs.size(); ++i) {
            rest = rest << 32 | limbs[i];
            limbs[i] = static_cast<std::uint32_t>(rest / billion);
            rest %= billion;
        }
        groups.push_back(rest);
        while (begin < limbs.size() && limbs[begin] == 0) ++begin;
    }
    std::string digits = groups.empty() ? "0" : std::to_string(groups.back());
    for (std::size_t i = groups.size(); i-- > 1;) digits += padded(groups[i - 1], 9);
    return digits;
}

}  // namespace

bool append_decimal(std::string_view bytes, std::size_t scale, std::string& out) {
    if (bytes.size() > longest_decimal || scale > longest_decimal) return false;
    const bool negative = !bytes.empty() && (static_cast<std::uint8_t>(bytes.front()) & 0x80) != 0;
    std::string digits = digits_of(bytes, negative);
    if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
    if (negative) out += '-';
    out.append(digits, 0, digits.size() - scale);
    if (scale == 0) return true;
    out += '.';
    out.append(digits, digits.size() - scale);
    return true;
}

bool append_date(std::int64_t days, std::string& out) {
    if (days < first_micro / micros_of_day || days > last_micro / micros_of_day) return false;
    out.append(iso_text(std::chrono::microseconds{days * micros_of_day}), 0, 10);
    return true;
}

bool append_time(std::int64_t micros, std::string& out) {
    if (micros < 0 || micros >= micros_of_day) return false;
    out.append(iso_text(std::chrono::microseconds{micros}), 11, 15);
    return true;
}

std::optional<FineMoment> fine_moment(std::int64_t count, std::int64_t units_a_second) {
    FineMoment moment{count, 0};
    if (units_a_second == 1'000 && __builtin_mul_overflow(count, 1'000, &moment.micros)) {
        return std::nullopt;
    }
    if (units_a_second == 1'000'000'000) {
        moment.nanos = (count % 1'000 + 1'000) % 1'000;
        moment.micros = count / 1'000 - (count % 1'000 < 0 ? 1 : 0);
    }
    return moment;
}

bool append_moment(std::int64_t micros, std::int64_t nanos, std::string_view zone,
                   std::string& out) {
    if (micros < first_micro || micros > last_micro) return false;
    const std::string text = iso_text(std::chrono::microseconds{micros});
    out.append(text, 0, text.size() - 1);
    if (nanos != 0) out += padded(static_cast<std::uint64_t>(nanos), 3);
    out += zone;
    return true;
}

void append_duration(std::string_view bytes, std::string& out) {
    std::uint32_t parts[3] = {};
    for (std::size_t i = 12; i-- > 0;) {
        parts[i / 4] = parts[i / 4] << 8 | static_cast<std::uint8_t>(bytes[i]);
    }
    out += 'P';
    if (parts[0] != 0) out += std::to_string(parts[0]) + 'M';
    if (parts[1] != 0 || (parts[0] == 0 && parts[2] == 0)) out += std::to_string(parts[1]) + 'D';
    if (parts[2] == 0) return;
    out += 'T' + std::to_string(parts[2] / 1000);
    if (parts[2] % 1000 != 0) out += '.' + padded(parts[2] % 1000, 3);
    out += 'S';
}

}  // namespace onceward::avro
