#pragma once
// Whether a batch's claims are presumed to be new, which makes them cheap to write where they are
// and is paid for twice where one is not. Pure, not thread-safe.

#include <algorithm>

namespace onceward {

class CopyPresumption {
  public:
    static constexpr int longest_caution = 256;  // batches

    // Asked once for each batch.
    bool presumes_new() {
        if (cautious_ == 0) return true;
        --cautious_;
        return false;
    }
    void was_right() { caution_ = 1; }
    // Twice as many batches as the last time are done with caution now.
    void was_wrong() {
        caution_ = std::min(2 * caution_, longest_caution);
        cautious_ = caution_;
    }

  private:
    int caution_ = 1;
    int cautious_ = 0;
};

}  // namespace onceward
