#pragma once
// Whether a batch's keys are presumed to be new. If they are, writing them is cheap; if one is not,
// the batch is written twice. Pure, not thread-safe.

#include <algorithm>

namespace onceward {

class NewKeysPresumption {
  public:
    static constexpr int longest_caution = 256;  // batches

    // `rights_that_forget`: after so many right batches in a row the wrong ones are forgotten.
    explicit NewKeysPresumption(int rights_that_forget = 1)
        : rights_that_forget_(rights_that_forget) {}

    // Asked once for each batch.
    bool presumes_new() {
        if (cautious_ == 0) return true;
        --cautious_;
        return false;
    }
    void was_right() {
        right_in_a_row_ = std::min(right_in_a_row_ + 1, rights_that_forget_);
        if (right_in_a_row_ == rights_that_forget_) caution_ = 1;
    }
    // Twice as many batches as the last time are done with caution now.
    void was_wrong() {
        right_in_a_row_ = 0;
        caution_ = std::min(2 * caution_, longest_caution);
        cautious_ = caution_;
    }

  private:
    int rights_that_forget_;
    int right_in_a_row_ = 0;
    int caution_ = 1;
    int cautious_ = 0;
};

}  // namespace onceward
