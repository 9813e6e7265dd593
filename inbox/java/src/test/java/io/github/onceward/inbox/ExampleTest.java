package io.github.onceward.inbox;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The example of the README runs. */
class ExampleTest {
    @Test
    void pay() throws Exception {
        Database.prepare();
        Process java = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
            "examples/Pay.java", url()).redirectErrorStream(true).start();
        String said = new String(java.getInputStream().readAllBytes());
        assertEquals(List.of("one payment",
            "refused: the key was used before with another fingerprint or time"),
            said.lines().toList());
        assertEquals(0, java.waitFor());
    }

    private static String url() {
        var source = Database.source();
        return "jdbc:postgresql://" + source.getServerNames()[0] + ":" + source.getPortNumbers()[0]
            + "/" + source.getDatabaseName() + "?user=" + source.getUser()
            + (source.getPassword() == null ? "" : "&password=" + source.getPassword());
    }
}
