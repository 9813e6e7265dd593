// I9 and I17: requests to routes that lead to an upstream, and the calls that were made for them.
// The upstream makes one effect of all calls with one key, and says the same of it each time.

#include <algorithm>
#include <map>
#include <set>

#include "tests/faults/checker/checks.h"
#include "tests/faults/checker/finding.h"

namespace onceward::checker {
namespace {

const std::string problem_prefix = "/onceward/problems/";

bool passing(int status) {
    return status >= 500 || status == 408 || status == 425 || status == 429;
}
// The upstream's last word. The front door's own ones are problems.
bool final_answer(const Request& request) {
    return request.problem.empty() && request.status >= 200 && !passing(request.status);
}
bool other_body(const Request& request) {
    return request.status == 422 && request.problem == problem_prefix + "key-reused";
}
// Nothing, or a word that says to ask again.
bool undecided(const Request& request) {
    if (request.status == 0) return true;
    if (request.problem.empty()) return passing(request.status);
    const std::set<std::string> again{"key-in-flight", "unavailable", "upstream-unanswered",
                                      "upstream-unreachable"};
    return request.problem.starts_with(problem_prefix) &&
           again.contains(request.problem.substr(problem_prefix.size()));
}

// All of one key.
struct CalledStory {
    std::vector<const Request*> requests;
    std::vector<const RouteCall*> calls;

    std::set<std::string> downstream() const {
        std::set<std::string> keys;
        for (const RouteCall* call : calls) keys.insert(call->key);
        return keys;
    }
    bool was_told(int status) const {
        return std::ranges::any_of(calls,
                                   [&](const RouteCall* call) { return call->status == status; });
    }
};

std::map<std::string, CalledStory> called_stories(const Evidence& evidence) {
    std::map<std::string, CalledStory> stories;
    for (const Request& request : evidence.requests) {
        if (request.called) stories[request.key].requests.push_back(&request);
    }
    for (const RouteCall& call : evidence.route_calls) stories[call.request].calls.push_back(&call);
    return stories;
}

class CalledAnswers {
  public:
    void check(const std::string& key, const CalledStory& story) {
        const auto where = [&] { return key; };
        if (story.requests.empty()) return nobody_.at(where);
        const std::set<std::string> downstream = story.downstream();
        if (downstream.size() > 1) two_keys_.at(where);
        for (const std::string& one : downstream) {
            if (!downstream_.insert(one).second) shared_.at(where);
        }
        std::set<std::string> bodies, called;
        for (const Request* request : story.requests) bodies.insert(request->body);
        // After a fail-over that lost its first call a key may be called on with another body.
        for (const RouteCall* call : story.calls) {
            if (!call->lost) called.insert(call->body);
            if (!bodies.contains(call->body)) nobody_.at(where);
        }
        if (called.size() > 1) two_bodies_.at(where);
        check_answers(story, bodies.size());
    }
    void into(Violations& violations) {
        for (Finding* finding : {&nobody_, &two_keys_, &shared_, &two_bodies_, &unearned_,
                                 &other_body_, &differ_, &first_, &nothing_, &strange_}) {
            finding->into(violations);
        }
    }

  private:
    void check_answers(const CalledStory& story, std::size_t bodies) {
        const Request* first = nullptr;
        int not_replayed = 0;
        for (const Request* request : story.requests) {
            const auto where = [&] {
                return request->key + ": " + std::to_string(request->status) + " " +
                       request->answer;
            };
            if (final_answer(*request)) {
                if (!story.was_told(request->status)) unearned_.at(where);
                if (std::ranges::any_of(story.calls, [&](const RouteCall* call) {
                        return call->body != request->body && !call->lost;
                    })) {
                    other_body_.at(where);
                }
                if (first == nullptr) first = request;
                if (request->status != first->status || request->answer != first->answer) {
                    differ_.at(where);
                }
                if (!request->replayed && ++not_replayed == 2) first_.at(where);
            } else if (other_body(*request)) {
                if (bodies < 2) nothing_.at(where);
            } else if (!undecided(*request)) {
                strange_.at(where);
            }
        }
    }

    std::set<std::string> downstream_;
    Finding nobody_{"I9", "a call was made for what no request had"};
    Finding two_keys_{"I9", "the calls of a request's key carry different keys"};
    Finding shared_{"I9", "the calls of two requests' keys carry the same key"};
    Finding two_bodies_{"I17", "two bodies of a key were called on"};
    Finding unearned_{"I17", "an answer came to a request that no call of its key got"};
    Finding other_body_{"I17", "another body than the one that was called on got its answer"};
    Finding differ_{"I17", "the answers of a key that was called on differ"};
    Finding first_{"I17", "two answers of a key that was called on say that they are the first"};
    Finding nothing_{"I17", "a conflict of a key that was called on with one body alone"};
    Finding strange_{"I17", "an answer that no request to an upstream may get here"};
};

}  // namespace

Violations check_route_calls(const Evidence& evidence) {
    Violations violations;
    CalledAnswers answers;
    for (const auto& [key, story] : called_stories(evidence)) answers.check(key, story);
    answers.into(violations);
    return violations;
}

RequestLosses count_route_losses(const Evidence& evidence) {
    RequestLosses losses;
    for (const auto& [key, story] : called_stories(evidence)) {
        const bool promised = std::ranges::any_of(story.requests, [&](const Request* request) {
            return final_answer(*request) && !story.was_told(request->status);
        });
        if (promised) ++losses.lost;
        const auto keys = static_cast<std::int64_t>(story.downstream().size());
        if (keys > 1) losses.twice += keys - 1;
    }
    return losses;
}

}  // namespace onceward::checker
