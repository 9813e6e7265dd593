#include "tests/faults/request_judge.h"

namespace onceward::faults {
namespace {

constexpr const char* reused = "/onceward/problems/key-reused";

bool success(int status) { return status >= 200 && status < 300; }

// The effects of one key, and all answers that came for it.
struct KeyStory {
    std::vector<const SeenEffect*> effects;
    std::vector<const SeenAnswer*> answers;
};

void judge_success(const SeenAnswer& answer, const KeyStory& story,
                   std::vector<std::string>& complaints) {
    const std::string at = answer.key + ": ";
    if (story.effects.empty()) {
        complaints.push_back(at + "was answered and has no effect");
        return;
    }
    const SeenEffect& effect = *story.effects.front();
    if (answer.amount != effect.amount) {
        complaints.push_back(at + "another body than the one that took effect got a success");
    }
    if (answer.effect && *answer.effect != effect.id) {
        complaints.push_back(at + "an answer names another effect");
    }
}

void judge_answers(const KeyStory& story, const std::set<std::int64_t>& amounts,
                   std::vector<std::string>& complaints) {
    const SeenAnswer* first = nullptr;
    int not_replayed = 0;
    for (const SeenAnswer* answer : story.answers) {
        const std::string at = answer->key + ": ";
        if (success(answer->status)) {
            judge_success(*answer, story, complaints);
            if (first == nullptr) first = answer;
            if (answer->status != first->status || answer->body != first->body) {
                complaints.push_back(at + "its answers differ: " + first->body + " and " +
                                     answer->body);
            }
            if (!answer->replayed && ++not_replayed == 2) {
                complaints.push_back(at + "two answers say that they are the first");
            }
        } else if (answer->status == 422) {
            // The body that takes effect can get one too: from a process that had the other one
            // in hand just then.
            if (answer->type != reused) complaints.push_back(at + "refused: " + answer->body);
            if (amounts.size() < 2) complaints.push_back(at + "a conflict with nothing");
        } else if (answer->status != 409 && answer->status != 503) {
            complaints.push_back(at + "status " + std::to_string(answer->status));
        }
    }
}

}  // namespace

void SeenRequests::add(const SeenRequests& others) {
    for (const auto& [key, amounts] : others.sent) sent[key].insert(amounts.begin(), amounts.end());
    undecided.insert(others.undecided.begin(), others.undecided.end());
    answers.insert(answers.end(), others.answers.begin(), others.answers.end());
}

bool definitive(int status) { return success(status) || status == 422; }

std::vector<std::string> judge_requests(const RequestEvidence& evidence) {
    std::vector<std::string> complaints;
    const SeenRequests& requests = evidence.requests;
    std::map<std::string, KeyStory> stories;
    for (const SeenEffect& effect : evidence.effects)
        stories[effect.key].effects.push_back(&effect);
    for (const SeenAnswer& answer : requests.answers)
        stories[answer.key].answers.push_back(&answer);
    for (const auto& [key, story] : stories) {
        const auto sent = requests.sent.find(key);
        if (sent == requests.sent.end()) {
            complaints.push_back(key + ": nobody sent it");
            continue;
        }
        for (const SeenEffect* effect : story.effects) {
            if (sent->second.contains(effect->amount)) continue;
            complaints.push_back(key + ": an effect of a body that nobody sent");
        }
        if (story.effects.size() > 1) {
            complaints.push_back(key + ": " + std::to_string(story.effects.size()) + " effects");
        }
        judge_answers(story, sent->second, complaints);
    }
    for (const std::string& key : requests.undecided) complaints.push_back(key + ": undecided");
    if (evidence.claims_of != evidence.effects_of) {
        complaints.emplace_back("claims and effects are not of the same transactions");
    }
    if (evidence.results_of != evidence.effects_of) {
        complaints.emplace_back("stored answers and effects are not of the same transactions");
    }
    return complaints;
}

}  // namespace onceward::faults
