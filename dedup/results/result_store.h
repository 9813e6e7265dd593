#pragma once
// The results of a ledger's claims, in generations that expire with them. One object for each
// session; used by one thread. What it remembers was committed. It is used only after the
// generations, evictions and erasures were read from the database: so it never says more than the
// database does. Failures are PostgresErrors; 40001 if a generation was dropped meanwhile.
//
// The order of a transaction: begin(), then any put() and get(), settle() after the claims' own
// settle(), and committed() once COMMIT was answered.

#include <list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/ledger/ledger_options.h"
#include "dedup/message/digest.h"
#include "dedup/sink/message_result.h"

namespace onceward {

// Results in memory; the least recently used one is dropped first. It holds what its owner knows to
// be committed, and each is valid only while the generation that it was read from is listed. Used
// by one thread; throws nothing but std::bad_alloc.
class ResultCache {
  public:
    // About that many bytes at most; 0 keeps nothing.
    explicit ResultCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    struct Entry {
        std::int64_t generation = 0;
        MessageResult result;
    };
    // Null if there is none. Valid until the next call.
    const Entry* find(const Digest& digest);
    void put(const Digest& digest, Entry entry);
    void clear();
    std::size_t bytes() const { return bytes_; }
    std::size_t size() const { return places_.size(); }

  private:
    using Item = std::pair<Digest, Entry>;
    static std::size_t bytes_of(const Entry& entry);
    void erase(std::list<Item>::iterator item);
    std::size_t most_bytes_;
    std::size_t bytes_ = 0;
    std::list<Item> items_;  // the last used one comes first
    std::unordered_map<Digest, std::list<Item>::iterator> places_;
};

class ResultStore {
  public:
    struct Stored {
        Digest digest;
        std::string tenant;
        MessageResult result;
        std::optional<Digest> attempt = {};  // random, chosen by the writer
    };
    struct Found {
        MessageResult result;
        std::optional<Digest> attempt;
    };

    // `ledger` as register_ledger() gave it, with stores_results. `cache_bytes`: most that is
    // remembered; 0 asks the database each time.
    ResultStore(int ledger, StoreKind store, std::size_t cache_bytes = 0);

    // A transaction begins: what the one before stored counts only if committed() was called.
    void begin();
    // REQUIRES: the transaction claims these digests, each once.
    void put(Transaction& transaction, std::span<const Stored> results);
    // What put() would do, as a statement that is sent with the claims of these keys, all of them
    // new, into this generation. nullopt if another one was open at the last look.
    std::optional<Connection::Planned> put_as_new(std::string_view generation,
                                                  std::span<const Stored> results);
    // In the order of the digests; nullopt for a digest without a result.
    std::vector<std::optional<MessageResult>> get(Transaction& transaction,
                                                  std::span<const Digest> digests);
    std::vector<std::optional<MessageResult>> get(Connection& connection,
                                                  std::span<const Digest> digests);
    // Returns also which attempt stored it; never from memory.
    std::optional<Found> find(Transaction& transaction, const Digest& digest);
    // Whether a tenant's results were erased since the transaction's first put() or get().
    bool erased(Transaction& transaction) const;
    // `again`: the ledger was rotated since put(), so that the claims are in another generation
    // than their results and would outlive them.
    Settlement settle(Transaction& transaction);
    void committed();
    // DANGER: a fail-over may have lost what was committed. Forgets all.
    void connection_lost();

  private:
    struct State {
        std::vector<std::int64_t> generations;
        std::optional<std::int64_t> open;
        bool lists(std::int64_t generation) const;
    };
    struct Row {
        std::size_t place = 0;
        std::int64_t generation = 0;
        Found found;
    };
    State look(Connection& connection);
    Connection::Planned insert_of(std::span<const Stored> results, std::int64_t generation) const;
    void note(std::span<const Stored> results, std::int64_t generation);
    std::vector<Row> read(Connection& connection, const State& state,
                          std::span<const Digest> digests) const;

    int ledger_;
    StoreKind store_;
    ResultCache cache_;
    State known_;  // of the last look
    std::int64_t evictions_ = 0;
    std::int64_t erasures_ = 0;
    // of the transaction under way
    std::optional<std::int64_t> put_into_;
    std::optional<std::int64_t> first_erasures_;  // at its first look
    std::unordered_map<Digest, MessageResult> stored_;
};

}  // namespace onceward
