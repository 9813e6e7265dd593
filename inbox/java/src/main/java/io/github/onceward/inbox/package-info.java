/**
 * Claims idempotency keys in PostgreSQL, in the same transaction as their effect. A thin layer over
 * the SQL functions of Onceward's schema, for plain JDBC.
 *
 * <p>{@link io.github.onceward.inbox.Once} runs a function once for each key. The methods of
 * {@link io.github.onceward.inbox.Inbox} are the SQL functions themselves: they run in the caller's
 * transaction and never end it.
 */
package io.github.onceward.inbox;
