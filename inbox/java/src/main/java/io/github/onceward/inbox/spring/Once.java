package io.github.onceward.inbox.spring;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a method once for each key. {@link OncePostProcessor} makes it so. What the method returns
 * is stored as JSON, and each later call with the key gets it again.
 *
 * <p>Texts in SpEL see the arguments, as in Spring's Cacheable: {@code #order.id}. Parameters have
 * their names if the code was compiled with {@code -parameters}; else write {@code #p0}.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface Once {
    /** Where the effect is. */
    enum Mode {
        /** In the database: claim, method and result are in one transaction. */
        INSIDE,
        /** In another system, which gets {@link OnceInterceptor#downstreamKey()}. */
        OUTSIDE
    }

    /** What is done with the key, such as "pay". */
    String operation();

    /** The key, in SpEL: a text, bytes or a UUID. */
    String key();

    Mode mode() default Mode.INSIDE;

    /** What came with the key, in SpEL: a text, bytes or a UUID. */
    String fingerprint() default "";

    /**
     * When the key was made, in SpEL: an Instant. Null is refused, because a key without its time
     * would be taken again after the retention.
     */
    String mintedAt() default "";

    /** Whose key it is, in SpEL. Null and an empty text are refused. */
    String tenant() default "";

    String kind() default "id";

    /** The default is "inbox", and "inbox_leases" outside. */
    String ledger() default "";

    String schema() default "onceward";

    /** How often a transaction is tried, in all. */
    int tries() default 5;

    /** How long a lease is held, in milliseconds. It is extended while the method runs. */
    long holdMillis() default 60_000;

    /** Whether the other system makes a call once for each downstream key. */
    boolean honoursKey() default true;

    /** How long to wait for another caller that holds the lease, in milliseconds. */
    long waitMillis() default 0;
}
