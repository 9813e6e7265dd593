#include "dedup/claims/claim_store.h"

#include <algorithm>
#include <functional>

#include "dedup/base/expects.h"
#include "dedup/base/mutants.h"

namespace onceward {

bool in_claim_order(std::span<const Claim> claims) {
    return std::ranges::adjacent_find(claims, std::ranges::greater_equal(), &Claim::digest) ==
           claims.end();
}

void expect_claim_order(std::span<const Claim> claims) {
    expects(in_claim_order(claims) || mutant(Mutant::unsorted_batch),
            "claims are sorted by digest, and none is there twice");
}

}  // namespace onceward
