#pragma once
// One validating walk over a JSON document (RFC 8259) that hands out the values that a trie wants.
// Belongs to one thread. Bad JSON is a returned reason; nothing is thrown but bad_alloc.

#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "consumer/decode/json_trie.h"
#include "dedup/message/value.h"

namespace onceward {

class JsonWalk {
  public:
    JsonWalk();
    ~JsonWalk();
    // Fills `slots` (all absent before). The whole document is checked, wanted or not, so that what
    // is rejected does not depend on the mapping. A wanted member that is there twice is a fault:
    // which one counts depends on the reader. Views point into `document` and, where a string had
    // escapes, into the arena. Returns what is wrong, without any of the payload's text.
    std::optional<std::string> run(std::string_view document, JsonTrie& trie,
                                   std::span<Value> slots, std::pmr::memory_resource& arena);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
