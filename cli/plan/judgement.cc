#include "cli/plan/judgement.h"

#include <algorithm>
#include <set>

#include "cli/plan/differences.h"
#include "cli/plan/key_rules.h"
#include "cli/plan/option_rules.h"
#include "cli/terminal/counted.h"

namespace onceward {
namespace {

using Level = Consequence::Level;

std::string start_text(const StartPosition& start) {
    using Kind = StartPosition::Kind;
    const bool latest = start.fallback == StartPosition::Fallback::latest;
    switch (start.kind) {
        case Kind::earliest: return "at the beginning of its log";
        case Kind::latest: return "at the end of its log: what it holds now is not read";
        case Kind::timestamp: return "at the time that `start` names";
        case Kind::committed: break;
    }
    return std::string("at the offsets that the group has committed in Kafka, else at the ") +
           (latest ? "end of its log" : "beginning of its log");
}

const TopicFacts* facts_of(const PlanFacts& facts, const std::string& topic) {
    const auto found = facts.topics.find(topic);
    return found == facts.topics.end() ? nullptr : &found->second;
}

std::set<std::string> servers_with_topics(const Configuration& configuration) {
    std::set<std::string> servers;
    for (const TopicConfiguration& topic : configuration.topics) servers.insert(topic.database);
    return servers;
}

bool rotates_alike(const LedgerOptions& one, const LedgerOptions& other) {
    return one.rotate_after == other.rotate_after && one.rotate_claims == other.rotate_claims &&
           one.purge_hours == other.purge_hours && one.lease == other.lease;
}

class Judge {
  public:
    Judge(const Configuration* now, const Configuration& next, const PlanFacts& facts)
        : now_(now), next_(next), facts_(facts) {}

    std::vector<Consequence> judge() {
        if (now_ != nullptr) {
            judge_differences(differences(*now_, next_));
        } else {
            judge_facts_alone();
        }
        for (const TopicConfiguration& topic : next_.topics) judge_facts_of(topic);
        std::ranges::stable_sort(found_, std::ranges::greater{}, &Consequence::level);
        return std::move(found_);
    }

  private:
    void judge_differences(const Differences& all) {
        for (const std::string& path : all.process) found_.push_back(judge_process_option(path));
        for (const Differences::Topic& topic : all.topics) {
            add(judge_keys({now_, topic.now, next_, *topic.next, topic.options, facts_}));
            for (const std::string& option : topic.options) {
                if (!is_of_keys(option)) found_.push_back(judge_topic_option(*topic.next, option));
            }
        }
        for (const TopicConfiguration* topic : all.added) judge_added(*topic);
        const std::set<std::string> left = servers_with_topics(next_);
        for (const TopicConfiguration* topic : all.removed) {
            judge_removed(topic->name, left.contains(topic->database));
        }
    }

    void judge_facts_alone() {
        std::set<std::string> known;
        for (const TopicConfiguration& topic : next_.topics) {
            known.insert(topic.name);
            const TopicFacts* const facts = facts_of(facts_, topic.name);
            if (facts == nullptr || facts->fences == 0) {
                judge_added(topic);
            } else {
                add(judge_keys({nullptr, nullptr, next_, topic, {}, facts_}));
            }
        }
        for (const auto& [topic, facts] : facts_.topics) {
            if (!known.contains(topic) && facts.fences > 0) judge_removed(topic, true);
        }
    }

    // A new topic needs a worker with a session on its server, and a relay if it publishes. Either
    // they exist already, or a restart makes them.
    void judge_added(const TopicConfiguration& topic) {
        const TopicFacts* const facts = facts_of(facts_, topic.name);
        Consequence made{.level = Level::safe, .reloads = true, .topic = topic.name};
        made.text = facts != nullptr && facts->fences > 0
                        ? "it is read on from " + counted(facts->fences, "fence")
                        : "it is read, and begins " + start_text(topic.start);
        const auto needs_restart = [&](const std::string& why) {
            made.level = Level::restart;
            made.reloads = false;
            made.text += "; " + why;
        };
        if (now_ != nullptr && !servers_with_topics(*now_).contains(topic.database)) {
            needs_restart("no worker is on `" + topic.database + "` yet");
        }
        if (publishes(topic)) needs_restart("what it publishes needs the relay of a new process");
        if (now_ != nullptr) {
            const auto ledger = now_->ledgers.find(topic.ledger);
            if (ledger != now_->ledgers.end() &&
                !rotates_alike(ledger->second, next_.ledgers.at(topic.ledger))) {
                needs_restart("its ledger is rotated in another way");
            }
        }
        found_.push_back(std::move(made));
        add(judge_keys({now_, nullptr, next_, topic, {}, facts_}));
    }

    void judge_removed(const std::string& topic, bool server_keeps_topics) {
        const TopicFacts* const facts = facts_of(facts_, topic);
        const std::string fences =
            facts == nullptr ? "its fences" : "its " + counted(facts->fences, "fence");
        std::string text = "nobody reads it any more: its lag grows until Kafka deletes the "
                           "messages unread, and what its ledger keeps is held back by " +
                           fences;
        if (!server_keeps_topics) text += "; it is the last topic of its server, whose workers end";
        found_.push_back({.level = Level::danger,
                          .reloads = server_keeps_topics,
                          .topic = topic,
                          .text = std::move(text),
                          .instead = "keep it until its lag is 0; then `onceward groups retire " +
                                     next_.group + " --topic " + topic + "`"});
    }

    // What only PostgreSQL knows. A process would take the change, and its topic would halt.
    void judge_facts_of(const TopicConfiguration& topic) {
        const TopicFacts* const facts = facts_of(facts_, topic.name);
        if (facts == nullptr) return;
        if (!facts->sink_problem.empty()) {
            found_.push_back({.level = Level::danger,
                              .reloads = true,
                              .topic = topic.name,
                              .option = "sink",
                              .text = "the topic would halt: " + facts->sink_problem,
                              .instead = "change the table first, or the option"});
        }
        if (now_ == nullptr && facts->fences == 0 && !facts->fences_in.empty()) {
            Consequence moved = judge_topic_option(topic, "database");
            moved.text = "its fences are on `" + facts->fences_in + "`: " + moved.text;
            found_.push_back(std::move(moved));
        }
    }

    void add(std::vector<Consequence> more) {
        std::ranges::move(more, std::back_inserter(found_));
    }

    const Configuration* now_;
    const Configuration& next_;
    const PlanFacts& facts_;
    std::vector<Consequence> found_;
};

}  // namespace

std::vector<Consequence> judge(const Configuration* now, const Configuration& next,
                               const PlanFacts& facts) {
    return Judge(now, next, facts).judge();
}

}  // namespace onceward
