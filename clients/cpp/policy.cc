#include "clients/cpp/policy.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace onceward::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool asks_for_another_try(int status) { return status == 408 || status == 425 || status == 429; }

milliseconds random_up_to(milliseconds most) {
    thread_local std::minstd_rand random(std::random_device{}());
    return milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, most.count())(random));
}

// The parts of a comma-separated list, without surrounding blanks; at least one.
std::vector<std::string_view> parts_of(std::string_view list) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t comma = std::min(list.find(','), list.size());
        std::string_view part = list.substr(0, comma);
        while (part.starts_with(' ') || part.starts_with('\t')) part.remove_prefix(1);
        while (part.ends_with(' ') || part.ends_with('\t')) part.remove_suffix(1);
        parts.push_back(part);
        if (comma == list.size()) return parts;
        list.remove_prefix(comma + 1);
    }
}

std::optional<seconds> seconds_of(std::string_view text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
    text = text.substr(0, 9);
    seconds::rep count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return seconds(count);
}

}  // namespace

Verdict judge(const Reading& reading) {
    if (reading.status < 400) return Verdict::done;
    if (reading.replayed) return Verdict::refused;  // stored under the key: it never changes
    if (reading.status == 409 &&
        (reading.problem == "key-in-flight" || (reading.problem.empty() && reading.retry_after))) {
        return Verdict::in_flight;
    }
    if (asks_for_another_try(reading.status) || reading.status >= 500) return Verdict::again;
    return Verdict::refused;
}

bool leaves_doubt(int status) { return status == 408 || status == 409 || status >= 500; }

// DANGER: after an attempt in doubt a 401, a 404 or a balancer's 302 says nothing of that attempt.
// A new key would be a second operation.
bool settles(int status, bool replayed, bool in_doubt) {
    if (status < 300 || replayed || status == 410 || status == 422) return true;
    return status < 500 && status != 409 && !asks_for_another_try(status) && !in_doubt;
}

milliseconds pause(const Retries& retries, int failures,
                   std::optional<milliseconds> retry_after) {
    // 2 to the 1024 is infinite, and without any backoff the product would be no number.
    const int doublings = std::clamp(failures - 1, 0, 1023);
    const double doubled = static_cast<double>(retries.backoff.count()) * std::exp2(doublings);
    const double bounded = std::min(doubled, static_cast<double>(retries.backoff_max.count()));
    const milliseconds whole(static_cast<milliseconds::rep>(bounded));
    return retry_after.value_or(milliseconds(0)) + whole / 2 + random_up_to(whole - whole / 2);
}

milliseconds in_flight_pause(const Retries& retries,
                             std::optional<milliseconds> retry_after) {
    return retry_after.value_or(milliseconds(1000)) + random_up_to(retries.backoff);
}

bool parse_replayed(std::string_view value) {
    return std::ranges::all_of(parts_of(value), [](std::string_view part) {
        return std::ranges::equal(part, std::string_view("true"), {}, [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
    });
}

std::optional<milliseconds> parse_retry_after(std::string_view value, seconds now_since_1970) {
    std::optional<seconds> most;
    for (const std::string_view part : parts_of(value)) {
        const std::optional<seconds> one = seconds_of(part);
        if (!one) {
            most.reset();
            break;
        }
        most = std::max(most.value_or(*one), *one);
    }
    if (most) return most;
    // libcurl would take the first of two dates.
    if (!value.ends_with("GMT") || value.find("GMT") + 3 != value.size()) return std::nullopt;
    const time_t moment = curl_getdate(std::string(value).c_str(), nullptr);
    if (moment < 0) return std::nullopt;
    return std::max(seconds(0), seconds(moment) - now_since_1970);
}

}  // namespace onceward::client
