// I17: requests to routes, and what they have left.

#include <algorithm>
#include <map>
#include <set>

#include "tests/faults/checker/checks.h"
#include "tests/faults/checker/finding.h"

namespace onceward::checker {
namespace {

constexpr const char* reused = "/onceward/problems/key-reused";
constexpr int conflict = 422, in_flight = 409, unavailable = 503;

bool success(const Request& request) { return request.status >= 200 && request.status < 300; }
bool refused(const Request& request) {
    return request.status == conflict && request.problem == reused;
}
// A client that got that need not ask again.
bool definitive(const Request& request) { return success(request) || refused(request); }

// All of one key.
struct KeyStory {
    std::vector<const RequestEffect*> effects;
    std::vector<const Request*> requests;
    std::map<std::string, std::vector<const Request*>> bodies;
};

std::map<std::string, KeyStory> stories_of(const Evidence& evidence) {
    std::map<std::string, KeyStory> stories;
    for (const RequestEffect& effect : evidence.request_effects) {
        stories[effect.key].effects.push_back(&effect);
    }
    for (const Request& request : evidence.requests) {
        if (request.called) continue;  // check_route_calls.cc
        KeyStory& story = stories[request.key];
        story.requests.push_back(&request);
        story.bodies[request.body].push_back(&request);
    }
    return stories;
}

class Answers {
  public:
    void check(const std::string& key, const KeyStory& story) {
        const auto where = [&] { return key; };
        if (story.requests.empty()) return nobody_.at(where);
        if (story.effects.size() > 1) {
            twice_.at([&] { return key + ": " + std::to_string(story.effects.size()); });
        }
        for (const RequestEffect* effect : story.effects) check_effect(*effect, story);
        const bool decided = std::ranges::all_of(story.bodies, [](const auto& body) {
            return std::ranges::any_of(body.second,
                                       [](const Request* sent) { return definitive(*sent); });
        });
        if (decided && story.effects.empty()) without_.at(where);
        check_answers(story);
    }
    void into(Violations& violations) {
        for (Finding* finding :
             {&twice_, &nobody_, &body_, &refused_body_, &without_, &unearned_, &other_body_,
              &differ_, &first_, &other_effect_, &nothing_, &strange_}) {
            finding->into(violations);
        }
    }

  private:
    void check_effect(const RequestEffect& effect, const KeyStory& story) {
        const auto where = [&] { return effect.key + " with body " + effect.body; };
        const auto sent = story.bodies.find(effect.body);
        if (sent == story.bodies.end()) return body_.at(where);
        // One without an answer may be the one that took effect, whatever the others were told.
        if (std::ranges::all_of(sent->second, [](const Request* one) { return refused(*one); })) {
            refused_body_.at(where);
        }
    }

    void check_answers(const KeyStory& story) {
        const Request* first = nullptr;
        int not_replayed = 0;
        for (const Request* request : story.requests) {
            const auto where = [&] {
                return request->key + ": " + std::to_string(request->status) + " " +
                       request->answer;
            };
            if (success(*request)) {
                check_success(*request, story, where);
                if (first == nullptr) first = request;
                if (request->status != first->status || request->answer != first->answer) {
                    differ_.at(where);
                }
                if (!request->replayed && ++not_replayed == 2) first_.at(where);
            } else if (refused(*request)) {
                if (story.bodies.size() < 2) nothing_.at(where);
            } else if (request->status != 0 && request->status != in_flight &&
                       request->status != unavailable) {
                strange_.at(where);
            }
        }
    }

    template <typename Where>
    void check_success(const Request& request, const KeyStory& story, const Where& where) {
        if (story.effects.empty()) return unearned_.at(where);
        const RequestEffect& effect = *story.effects.front();
        if (request.body != effect.body) other_body_.at(where);
        if (request.effect && *request.effect != effect.number) other_effect_.at(where);
    }

    Finding twice_{"I17", "a key of requests took effect more than once"};
    Finding nobody_{"I17", "a key took effect that no request had"};
    Finding body_{"I17", "a body took effect that no request of its key had"};
    Finding refused_body_{"I17", "a body took effect that was answered with a conflict alone"};
    Finding without_{"I17", "all bodies of a key were answered to the end, and none took effect"};
    Finding unearned_{"I17", "a request was answered with success and its key took no effect"};
    Finding other_body_{"I17", "another body than the one that took effect was told of success"};
    Finding differ_{"I17", "the answers of a key differ"};
    Finding first_{"I17", "two answers of a key say that they are the first"};
    Finding other_effect_{"I17", "an answer tells of another effect than its key's"};
    Finding nothing_{"I17", "a conflict of a key that came with one body alone"};
    Finding strange_{"I17", "an answer that none of these requests may get"};
};

using Rows = std::map<Transaction, std::int64_t>;
template <typename Each>
Rows count_by_transaction(const std::vector<Each>& all) {
    Rows rows;
    for (const Each& one : all) ++rows[one.transaction];
    return rows;
}

// Whatever a transaction has more of than the other.
void compare(const Rows& these, const Rows& those, Finding& finding) {
    for (const auto& [transaction, count] : these) {
        const auto other = those.find(transaction);
        if (other != those.end() && other->second >= count) continue;
        finding.at([&, &number = transaction] { return "transaction " + std::to_string(number); });
    }
}

// Which claim is whose nothing tells but the transaction: there are as many of each in it, and a
// digest is claimed once.
void check_request_claims(const Evidence& evidence, Violations& violations) {
    Finding unclaimed("I17", "requests took effect in a transaction that did not claim them");
    Finding idle("I17", "keys of requests were claimed in a transaction without their effects");
    Finding two("I17", "a key of requests has two claims");
    Finding silent("I17", "a claim of a request has no stored answer of its transaction");
    Finding loose("I17", "a stored answer has no claim");
    const Rows effects = count_by_transaction(evidence.request_effects);
    const Rows claims = count_by_transaction(evidence.request_claims);
    compare(effects, claims, unclaimed);
    compare(claims, effects, idle);
    using Row = std::pair<int, std::string>;  // ledger, digest
    std::map<Row, Transaction> answers;
    for (const StoredAnswer& answer : evidence.stored_answers) {
        answers[{answer.ledger, answer.digest}] = answer.transaction;
    }
    std::set<Row> claimed;
    for (const RequestClaim& claim : evidence.request_claims) {
        const auto where = [&] { return claim.digest; };
        const Row row{claim.ledger, claim.digest};
        if (!claimed.insert(row).second) two.at(where);
        const auto answer = answers.find(row);
        if (answer == answers.end() || answer->second != claim.transaction) silent.at(where);
    }
    for (const auto& [row, transaction] : answers) {
        if (!claimed.contains(row)) loose.at([&, &digest = row.second] { return digest; });
    }
    for (Finding* finding : {&unclaimed, &idle, &two, &silent, &loose}) finding->into(violations);
}

// An answer that tells of its effect was stored with it.
void check_stored_answers(const Evidence& evidence, Violations& violations) {
    Finding apart("I17", "a stored answer tells of an effect that is not of its transaction");
    Finding shared("I17", "two stored answers tell of one effect");
    std::map<std::int64_t, Transaction> effects;
    for (const RequestEffect& effect : evidence.request_effects) {
        effects[effect.number] = effect.transaction;
    }
    std::set<std::int64_t> told;
    for (const StoredAnswer& answer : evidence.stored_answers) {
        if (!answer.effect) continue;
        const auto where = [&] { return answer.digest + ": " + std::to_string(*answer.effect); };
        const auto effect = effects.find(*answer.effect);
        if (effect == effects.end() || effect->second != answer.transaction) apart.at(where);
        if (!told.insert(*answer.effect).second) shared.at(where);
    }
    apart.into(violations);
    shared.into(violations);
}

}  // namespace

Violations check_requests(const Evidence& evidence) {
    Violations violations;
    Answers answers;
    for (const auto& [key, story] : stories_of(evidence)) answers.check(key, story);
    answers.into(violations);
    check_request_claims(evidence, violations);
    check_stored_answers(evidence, violations);
    return violations;
}

RequestLosses count_request_losses(const Evidence& evidence) {
    RequestLosses losses;
    for (const auto& [key, story] : stories_of(evidence)) {
        const bool promised = std::ranges::any_of(
            story.requests, [](const Request* request) { return success(*request); });
        if (promised && story.effects.empty()) ++losses.lost;
        if (story.effects.size() > 1) {
            losses.twice += static_cast<std::int64_t>(story.effects.size()) - 1;
        }
    }
    return losses;
}

}  // namespace onceward::checker
