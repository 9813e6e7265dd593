package io.github.onceward.inbox;

import java.util.List;

/**
 * What a key's first call ended with. Later calls with the key get it again.
 *
 * @param failed whether it failed for good
 */
public record Result(int status, List<Header> headers, byte[] body, boolean failed) {
    /** No more than that the effect happened. */
    public static final Result EMPTY = of(new byte[0]);

    public Result {
        if (headers == null || body == null) {
            throw new InboxException.Argument("a result has headers and a body; both may be empty");
        }
        headers = List.copyOf(headers);
    }

    /** A result with a body alone. */
    public static Result of(byte[] body) {
        return new Result(0, List.of(), body, false);
    }
}
