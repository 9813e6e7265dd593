#include "dedup/claims/claim_store.h"

#include <algorithm>
#include <functional>

namespace onceward {

bool in_claim_order(std::span<const Claim> claims) {
    return std::ranges::adjacent_find(claims, std::ranges::greater_equal(), &Claim::digest) ==
           claims.end();
}

}  // namespace onceward
