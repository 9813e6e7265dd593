package io.github.onceward.inbox;

/** A header of a result. */
public record Header(String name, String value) {
    public Header {
        if (name == null || value == null) {
            throw new InboxException.Argument("a header has a name and a value");
        }
    }
}
