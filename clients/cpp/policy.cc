#include "clients/cpp/policy.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <string>

namespace onceward::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool asks_for_another_try(int status) { return status == 408 || status == 425 || status == 429; }

milliseconds random_up_to(milliseconds most) {
    thread_local std::minstd_rand random(std::random_device{}());
    return milliseconds(std::uniform_int_distribution<milliseconds::rep>(0, most.count())(random));
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

// DANGER: after an attempt in doubt a 401 or a 404 says nothing of that attempt. A new key would be
// a second operation.
bool settles(int status, bool replayed, bool in_doubt) {
    if (status < 400 || replayed || status == 410 || status == 422) return true;
    return status < 500 && status != 409 && !asks_for_another_try(status) && !in_doubt;
}

milliseconds pause(const Retries& retries, int failures, std::optional<milliseconds> retry_after) {
    const double doubled =
        static_cast<double>(retries.backoff.count()) * std::exp2(std::max(failures - 1, 0));
    const double bounded = std::min(doubled, static_cast<double>(retries.backoff_max.count()));
    const milliseconds whole(static_cast<milliseconds::rep>(bounded));
    return retry_after.value_or(milliseconds(0)) + whole / 2 + random_up_to(whole - whole / 2);
}

milliseconds in_flight_pause(const Retries& retries, std::optional<milliseconds> retry_after) {
    return retry_after.value_or(milliseconds(1000)) + random_up_to(retries.backoff);
}

std::optional<milliseconds> parse_retry_after(std::string_view value, seconds now_since_1970) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!value.empty() && std::ranges::all_of(value, is_digit)) {
        value = value.substr(0, 9);
        seconds::rep count = 0;
        std::from_chars(value.data(), value.data() + value.size(), count);
        return seconds(count);
    }
    if (!value.ends_with("GMT")) return std::nullopt;
    const time_t moment = curl_getdate(std::string(value).c_str(), nullptr);
    if (moment < 0) return std::nullopt;
    return std::max(seconds(0), seconds(moment) - now_since_1970);
}

}  // namespace onceward::client
