package io.github.onceward.inbox;

import java.time.Duration;

/**
 * How {@link Once} runs a function.
 *
 * @param codec how values are stored
 * @param tries of a transaction, in all, if PostgreSQL asks for another or the connection is lost
 * @param pause before the second try, with jitter; doubled up to 2 s
 * @param hold of a lease, which is extended while the function runs
 * @param honoursKey whether the other system makes a call once for each downstream key
 * @param waitFor how long to wait for another caller that holds the lease
 */
public record OnceOptions<T>(Codec<T> codec, int tries, Duration pause, Duration hold,
        boolean honoursKey, Duration waitFor) {
    public OnceOptions {
        if (codec == null || tries < 1 || pause == null || pause.isNegative() || hold == null
                || waitFor == null) {
            throw new InboxException.Argument("options have a codec, a try or more, and times");
        }
    }

    /** Five tries, a pause of 50 ms, a hold of 60 s, and no wait. The other system honours keys. */
    public static <T> OnceOptions<T> of(Codec<T> codec) {
        return new OnceOptions<>(codec, 5, Duration.ofMillis(50), Duration.ofSeconds(60), true,
            Duration.ZERO);
    }

    public OnceOptions<T> tries(int tries) {
        return new OnceOptions<>(codec, tries, pause, hold, honoursKey, waitFor);
    }

    public OnceOptions<T> pause(Duration pause) {
        return new OnceOptions<>(codec, tries, pause, hold, honoursKey, waitFor);
    }

    public OnceOptions<T> hold(Duration hold) {
        return new OnceOptions<>(codec, tries, pause, hold, honoursKey, waitFor);
    }

    public OnceOptions<T> honoursKey(boolean honoursKey) {
        return new OnceOptions<>(codec, tries, pause, hold, honoursKey, waitFor);
    }

    public OnceOptions<T> waitFor(Duration waitFor) {
        return new OnceOptions<>(codec, tries, pause, hold, honoursKey, waitFor);
    }
}
