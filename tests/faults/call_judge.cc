#include "tests/faults/call_judge.h"

#include <algorithm>

namespace onceward::faults {
namespace {

const std::string problem_prefix = "/onceward/problems/";

bool is_problem(const ToldAnswer& answer, const std::string& name) {
    return answer.type == problem_prefix + name;
}

// What a client may be told of a key that is not decided yet.
bool may_be_told(const ToldAnswer& answer) {
    if (answer.type.empty()) return turned_down(answer.status);
    return is_problem(answer, "key-in-flight") || is_problem(answer, "unavailable") ||
           is_problem(answer, "upstream-unanswered") || is_problem(answer, "upstream-unreachable");
}

class CalledKey {
  public:
    CalledKey(const std::string& key, const CallEvidence& evidence)
        : key_(key), evidence_(evidence) {
        const auto route = evidence.routes.find(key.substr(0, key.find('/')));
        if (route != evidence.routes.end()) promise_ = route->second;
    }
    void add(const SeenCall& call) { calls_.push_back(&call); }
    void add(const ToldAnswer& answer) { answers_.push_back(&answer); }
    void judge(std::vector<std::string>& complaints) {
        complaints_ = &complaints;
        std::ranges::stable_sort(calls_, {}, &SeenCall::at);
        judge_each_call();
        judge_repeated_calls();
        for (const ToldAnswer* answer : answers_) judge_word(*answer);
        judge_final_answers();
        if (evidence_.undecided.contains(key_)) complain("undecided");
        if (!evidence_.sent.contains(key_)) complain("nobody sent it");
    }
    std::set<std::string> downstream() const {
        std::set<std::string> keys;
        for (const SeenCall* call : calls_) keys.insert(call->downstream);
        return keys;
    }

  private:
    void complain(const std::string& text) { complaints_->push_back(key_ + ": " + text); }

    void judge_each_call() {
        const std::set<std::string> keys = downstream();
        if (keys.size() > 1) complain("its calls carry different keys");
        if (keys.contains("")) complain("a call without a key");
        for (const SeenCall* call : calls_) {
            if (call->amount != first_amount) complain("a call with a body that was refused");
        }
    }
    // An upstream that does not know the key may send a 500, 502 or 504 after an effect.
    bool frees(int status) const {
        return promise_.honours_key ? turned_down(status)
                                    : turned_down(status) && (status < 500 || status == 503);
    }
    // Whether each call after another one was allowed.
    void judge_repeated_calls() {
        for (std::size_t i = 1; i < calls_.size(); ++i) {
            const SeenCall& before = *calls_[i - 1];
            if (frees(before.status) && !before.cut_off) continue;
            if (!promise_.honours_key) complain("called again, and nobody knew what became of it");
            if (promise_.held && calls_[i]->at - before.at < evidence_.apart) {
                complain("called again before its lease had ended");
            }
        }
    }
    void judge_word(const ToldAnswer& answer) {
        if (is_final(answer)) return;
        if (is_outcome_unknown(answer)) {
            if (promise_.honours_key) complain("left in doubt, and its upstream honours the key");
        } else if (is_problem(answer, "key-reused")) {
            // It is answered so too while another body of the key is under way: which of the two
            // landed is not known then.
            if (answer.amount == first_amount && !evidence_.reused.contains(key_)) {
                complain("a conflict with nothing");
            }
        } else if (!may_be_told(answer)) {
            complain("status " + std::to_string(answer.status) + " " + answer.type);
        }
    }
    void judge_final_answers() {
        const ToldAnswer* first = nullptr;
        int not_replayed = 0;
        for (const ToldAnswer* answer : answers_) {
            if (!is_final(*answer)) continue;
            if (first == nullptr || answer->told < first->told) first = answer;
            if (!answer->replayed && ++not_replayed == 2) {
                complain("two answers say that they are the first");
            }
            if (answer->amount != first_amount) complain("another body got the key's answer");
        }
        if (first == nullptr) return;
        for (const ToldAnswer* answer : answers_) judge_beside(*answer, *first);
        const bool was_said = std::ranges::any_of(calls_, [&](const SeenCall* call) {
            return call->status == first->status && call->body == first->body && !call->cut_off;
        });
        if (!was_said) complain("an answer that no call of it got: " + first->body);
        for (const SeenCall* call : calls_) {
            if (call->at > first->told) complain("called after its answer was stored");
        }
    }
    void judge_beside(const ToldAnswer& answer, const ToldAnswer& first) {
        if (is_final(answer)) {
            if (answer.status == first.status && answer.body == first.body) return;
            complain("its answers differ: " + first.body + " and " + answer.body);
        } else if (is_outcome_unknown(answer) && answer.asked > first.told) {
            complain("in doubt after its answer was stored");
        }
    }

    std::string key_;
    const CallEvidence& evidence_;
    UpstreamPromise promise_;
    std::vector<const SeenCall*> calls_;
    std::vector<const ToldAnswer*> answers_;
    std::vector<std::string>* complaints_ = nullptr;
};

}  // namespace

bool turned_down(int status) {
    return status >= 500 || status == 408 || status == 425 || status == 429;
}

bool is_final(const ToldAnswer& answer) {
    return answer.type.empty() && answer.status >= 200 && !turned_down(answer.status);
}

bool is_outcome_unknown(const ToldAnswer& answer) { return is_problem(answer, "outcome-unknown"); }

bool is_definitive(const ToldAnswer& answer) {
    return is_final(answer) || is_outcome_unknown(answer) || is_problem(answer, "key-reused");
}

std::vector<std::string> judge_calls(const CallEvidence& evidence) {
    std::map<std::string, CalledKey> keys;
    const auto of = [&](const std::string& key) -> CalledKey& {
        return keys.try_emplace(key, key, evidence).first->second;
    };
    for (const std::string& key : evidence.sent) of(key);
    for (const SeenCall& call : evidence.calls) of(call.key).add(call);
    for (const ToldAnswer& answer : evidence.answers) of(answer.key).add(answer);
    std::vector<std::string> complaints;
    std::map<std::string, std::string> owners;  // of downstream keys
    for (auto& [key, called] : keys) {
        called.judge(complaints);
        for (const std::string& downstream : called.downstream()) {
            if (owners.emplace(downstream, key).second) continue;
            complaints.push_back(key + ": its calls carry another one's key");
        }
    }
    return complaints;
}

}  // namespace onceward::faults
