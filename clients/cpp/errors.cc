#include "clients/cpp/errors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace onceward::client {
namespace {

constexpr std::string_view ours = "/onceward/problems/";

std::string lower(std::string_view text) {
    std::string lowered(text);
    for (char& c : lowered) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lowered;
}

std::string message_of(const Answer& answer, const std::optional<Problem>& problem) {
    std::string message = std::to_string(answer.status);
    if (!problem) return message;
    for (const std::string& word : {problem->name(), problem->title, problem->detail}) {
        if (!word.empty()) message += ": " + word;
    }
    return message;
}

std::string text_at(const nlohmann::json& document, const char* name) {
    const auto found = document.find(name);
    return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

template <class Kind>
[[noreturn]] void raise(Answer& answer, std::optional<Problem>& problem, bool settled) {
    throw Kind(std::move(answer), std::move(problem), settled);
}

}  // namespace

std::string Problem::name() const {
    if (type == "about:blank") return "";
    return type.starts_with(ours) ? type.substr(ours.size()) : type;
}

ProblemError::ProblemError(Answer answer, std::optional<Problem> problem, bool settled)
    : Error(message_of(answer, problem), answer.key, answer.attempts, settled),
      answer_(std::move(answer)),
      problem_(std::move(problem)) {}

std::string header_of(const Headers& headers, std::string_view name) {
    const std::string wanted = lower(name);
    std::string joined;
    bool found = false;
    for (const auto& [known, value] : headers) {
        if (lower(known) != wanted) continue;
        joined += (found ? ", " : "") + value;
        found = true;
    }
    return joined;
}

std::optional<Problem> parse_problem(const Answer& answer) {
    const std::string type = lower(header_of(answer.headers, "Content-Type"));
    if (type.substr(0, type.find_first_of("; ")) != "application/problem+json") return std::nullopt;
    const nlohmann::json document = nlohmann::json::parse(answer.body, nullptr, false);
    if (!document.is_object()) return std::nullopt;
    Problem problem;
    if (document.contains("type")) problem.type = text_at(document, "type");
    problem.title = text_at(document, "title");
    const auto status = document.find("status");
    if (status != document.end() && status->is_number_integer()) problem.status = *status;
    problem.detail = text_at(document, "detail");
    problem.document = answer.body;
    return problem;
}

void throw_problem(Answer answer, std::optional<Problem> problem, bool settled) {
    const int status = answer.status;
    const std::string name = problem ? problem->name() : "";
    const bool about_key =
        name == "key-missing" || name == "key-malformed" || name == "key-not-expected";
    if (status == 400 && about_key) raise<KeyRefused>(answer, problem, settled);
    if (status == 422 && name == "key-reused") raise<KeyReused>(answer, problem, settled);
    if (status == 422) raise<Rejected>(answer, problem, settled);
    if (status == 410 && name == "answer-gone") raise<AnswerGone>(answer, problem, settled);
    const bool in_flight = name.empty() || name == "key-in-flight";
    if (status == 409 && in_flight) raise<KeyInFlight>(answer, problem, settled);
    if (status == 401 || status == 403) raise<NotAuthorized>(answer, problem, settled);
    if (status == 429) raise<TooManyRequests>(answer, problem, settled);
    if (status >= 500) raise<ServerFailed>(answer, problem, settled);
    raise<ProblemError>(answer, problem, settled);
}

}  // namespace onceward::client
