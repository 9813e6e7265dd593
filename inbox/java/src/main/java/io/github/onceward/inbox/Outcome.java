package io.github.onceward.inbox;

import java.util.Locale;

/** What the database answered for a key. */
public enum Outcome {
    /** The key is the caller's. */
    FRESH,
    /** It took effect before. */
    DUPLICATE,
    /** It failed for good before. */
    FAILED,
    /** It was used before with another fingerprint or another time. */
    CONFLICT,
    /** It may have taken effect, and no result of it is kept. */
    UNKNOWN,
    /** It was minted before the ledger's memory begins, so nobody can judge it. */
    EXPIRED,
    /** Another caller holds its lease. */
    IN_FLIGHT;

    static Outcome of(String answer) {
        return valueOf(answer.toUpperCase(Locale.ROOT));
    }
}
