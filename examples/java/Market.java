// The query and streaming protocols in Java 17, with the standard library only. Start the demonstration (npm start), then:
//
//     java examples/java/Market.java
//
// It signs in as a user, runs a query, follows prices and a live query on one WebSocket, renews its token there, and ends.

import java.io.IOException;
import java.math.BigDecimal;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

public class Market {
    static final String SERVER = System.getenv().getOrDefault("GATEHOUSE_SERVER", "http://localhost:5080");
    static final HttpClient HTTP = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();

    public static void main(String[] arguments) throws Exception {
        Map<?, ?> tokens = signIn(Map.of("grant_type", "password", "username", "alice", "password", "wonderland-1",
            "scope", "openid offline_access Platform/Market"));
        System.out.println("signed in with the rights " + tokens.get("scope"));
        query((String) tokens.get("access_token"));
        stream(tokens);
        System.out.println("java: ok");
    }

    // Sign-in: RFC 6749, with the public client of the demonstration. A program without a user would use
    // grant_type=client_credentials, and one without a browser on a user's desk the device grant.

    static Map<?, ?> signIn(Map<String, String> form) throws IOException, InterruptedException {
        String body = form.entrySet().stream().map(entry -> entry.getKey() + "=" + encode(entry.getValue()))
            .collect(Collectors.joining("&", "client_id=demo-cli&", ""));
        HttpRequest request = HttpRequest.newBuilder(URI.create(SERVER + "/connect/token"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        return send(request);
    }

    /** A refresh token is valid once: the reply contains the next one. */
    static Map<?, ?> refresh(Map<?, ?> tokens) throws IOException, InterruptedException {
        return signIn(Map.of("grant_type", "refresh_token", "refresh_token", (String) tokens.get("refresh_token")));
    }

    // Query: the statement is the body, its parameters are p.NAME in the query string.

    static void query(String token) throws IOException, InterruptedException {
        String statement = "select symbol, count(*) as trades, sum(price * quantity) as turnover"
            + " from trades where symbol in (:first, :second) group by symbol order by symbol";
        HttpRequest request = HttpRequest.newBuilder(URI.create(SERVER + "/query?p.first=ACME&p.second=BOLT"))
            .header("Authorization", "Bearer " + token)
            .header("Content-Type", "text/plain; charset=utf-8")
            .POST(HttpRequest.BodyPublishers.ofString(statement)).build();
        BigDecimal total = BigDecimal.ZERO;
        for (Object item : (List<?>) send(request).get("Rows")) {
            Map<?, ?> row = (Map<?, ?>) item;
            // A Decimal is a text with all its digits; an Integer is a JSON number, here read as a BigDecimal.
            BigDecimal turnover = new BigDecimal((String) row.get("turnover"));
            long trades = ((BigDecimal) row.get("trades")).longValueExact();
            System.out.println(row.get("symbol") + ": " + trades + " trades, turnover " + turnover.toPlainString());
            total = total.add(turnover);
        }
        System.out.println("turnover of both: " + total.toPlainString());
    }

    // Streaming: one WebSocket, whose messages are objects with Controller, Topic, Action, TransactionID and Data.

    static void stream(Map<?, ?> tokens) throws Exception {
        LinkedBlockingQueue<Map<?, ?>> received = new LinkedBlockingQueue<>();
        WebSocket socket = HTTP.newWebSocketBuilder().subprotocols("PlatformJson")
            .buildAsync(URI.create(SERVER.replaceFirst("^http", "ws") + "/Platform?version=1.1"), new Receiver(received))
            .get(10, TimeUnit.SECONDS);
        authenticate(socket, 1, tokens);
        LiveResult turnover = new LiveResult();
        int prices = 0;
        boolean renewed = false;
        while (true) {
            Map<?, ?> message = received.poll(60, TimeUnit.SECONDS);
            if (message == null) throw new IOException("nothing arrived for a minute");
            if (message.get("Failure") instanceof String failure) throw new IOException(failure);
            if ("Error".equals(message.get("Action"))) throw new IOException("the server refused: " + message);
            if (message.containsKey("Pong")) break;
            long transaction = message.get("TransactionID") instanceof BigDecimal id ? id.longValueExact() : 0;
            if (message.get("Confirm") != null) continue; // of a subscription
            Map<?, ?> data = (Map<?, ?>) message.get("Data");
            if (transaction == 1 || transaction == 4) {
                if (!"Success".equals(data.get("Result"))) throw new IOException("the token was rejected");
                System.out.println("stream: " + data.get("UserID") + " until " + data.get("ExpiryDate"));
                if (transaction == 1) subscribe(socket);
                // The library answers the pings of the server; this one shows that the connection is alive.
                else socket.sendPing(ByteBuffer.wrap("alive".getBytes(StandardCharsets.US_ASCII))).get();
            } else if ("Price/ACME".equals(message.get("Topic"))) {
                prices++;
                System.out.println("price: ACME " + data.get("Bid") + " / " + data.get("Ask"));
            } else if ("Live/turnover".equals(message.get("Topic"))) {
                if (turnover.apply(data)) System.out.println("live: " + turnover.rows.values());
            }
            if (!renewed && prices >= 2 && turnover.changes >= 1) {
                renewed = true;
                authenticate(socket, 4, refresh(tokens)); // well before the token expires, in a program that runs on
            }
        }
        socket.sendClose(WebSocket.NORMAL_CLOSURE, "").get(10, TimeUnit.SECONDS);
    }

    static void authenticate(WebSocket socket, int transaction, Map<?, ?> tokens) throws Exception {
        socket.sendText("""
            {"Controller":"Auth","Topic":"AuthToken","TransactionID":%d,"Data":{"Provider":"Bearer","AccessToken":"%s"}}"""
            .formatted(transaction, tokens.get("access_token")), true).get();
    }

    static void subscribe(WebSocket socket) throws Exception {
        socket.sendText("""
            {"Controller":"Ticker","Topic":"Price/ACME","Action":"Sub","TransactionID":2,"Confirm":true}""", true).get();
        socket.sendText("""
            {"Controller":"Query","Topic":"Live/turnover","Action":"Sub","TransactionID":3,"Confirm":true,"Data":{
              "Statement":"select side, count(*) as trades, sum(price * quantity) as turnover from trades group by side",
              "MaxRate":5}}""", true).get();
    }

    /** Holds the result of a live query: rows by key, first of the snapshot, then as the changes leave them. */
    static class LiveResult {
        final Map<Object, Object> rows = new LinkedHashMap<>();
        int changes = 0;
        private final List<Object> removed = new ArrayList<>();
        private final List<Map<?, ?>> put = new ArrayList<>();

        /** Whether the rows are those of a new state of the result. */
        boolean apply(Map<?, ?> data) {
            Object kind = data.get("Kind");
            if (kind.equals("Reset") || data.containsKey("Columns")) {
                rows.clear();
                removed.clear();
                put.clear();
            }
            if (!kind.equals("Snapshot") && !kind.equals("Change")) return false;
            if (data.get("Remove") instanceof List<?> keys) removed.addAll(keys);
            if (data.get("Put") instanceof List<?> entries) for (Object entry : entries) put.add((Map<?, ?>) entry);
            if (Boolean.TRUE.equals(data.get("More"))) return false; // a long message comes in pieces
            removed.forEach(rows::remove);
            for (Map<?, ?> entry : put) rows.put(entry.get("Key"), entry.get("Row"));
            removed.clear();
            put.clear();
            if (kind.equals("Change")) changes++;
            return true;
        }
    }

    /** Puts the fragments of each message together. */
    static class Receiver implements WebSocket.Listener {
        private final LinkedBlockingQueue<Map<?, ?>> received;
        private final StringBuilder text = new StringBuilder();

        Receiver(LinkedBlockingQueue<Map<?, ?>> received) {
            this.received = received;
        }

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean last) {
            text.append(part);
            if (last) {
                received.add((Map<?, ?>) new Json(text.toString()).read());
                text.setLength(0);
            }
            socket.request(1);
            return null;
        }

        @Override
        public CompletionStage<?> onPong(WebSocket socket, ByteBuffer payload) {
            received.add(Map.of("Pong", true));
            socket.request(1);
            return null;
        }

        @Override
        public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
            received.add(Map.of("Failure", "the server closed the stream with " + code + " " + reason));
            return null;
        }

        @Override
        public void onError(WebSocket socket, Throwable error) {
            received.add(Map.of("Failure", error.toString()));
        }
    }

    static Map<?, ?> send(HttpRequest request) throws IOException, InterruptedException {
        HttpResponse<String> reply = HTTP.send(request, BodyHandlers.ofString());
        if (reply.statusCode() != 200) throw new IOException(request.uri() + ": " + reply.statusCode() + " " + reply.body());
        return (Map<?, ?>) new Json(reply.body()).read();
    }

    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    /**
     * Reads JSON. Java has no reader of its own; use a library such as Jackson (with USE_BIG_DECIMAL_FOR_FLOATS) in a real
     * program. Numbers become BigDecimal, so that no digit is lost.
     */
    static class Json {
        private final String text;
        private int at = 0;

        Json(String text) {
            this.text = text;
        }

        Object read() {
            char first = next();
            if (first == '{') {
                Map<String, Object> members = new LinkedHashMap<>();
                for (at++; next() != '}';) {
                    String name = string();
                    expect(':');
                    members.put(name, read());
                    if (next() == ',') at++;
                }
                at++;
                return members;
            }
            if (first == '[') {
                List<Object> items = new ArrayList<>();
                for (at++; next() != ']';) {
                    items.add(read());
                    if (next() == ',') at++;
                }
                at++;
                return items;
            }
            if (first == '"') return string();
            int start = at;
            while (at < text.length() && ",]} \n\r\t".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            return switch (word) {
                case "true" -> true;
                case "false" -> false;
                case "null" -> null;
                default -> new BigDecimal(word);
            };
        }

        private String string() {
            expect('"');
            StringBuilder read = new StringBuilder();
            for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
                if (c == '\\') {
                    c = text.charAt(at++);
                    int escape = "bfnrt".indexOf(c);
                    if (escape >= 0) c = "\b\f\n\r\t".charAt(escape);
                    else if (c == 'u') c = (char) Integer.parseInt(text.substring(at, at += 4), 16);
                }
                read.append(c);
            }
            return read.toString();
        }

        /** The next character that is no space, which stays to be read. */
        private char next() {
            while (Character.isWhitespace(text.charAt(at))) at++;
            return text.charAt(at);
        }

        private void expect(char wanted) {
            if (next() != wanted) throw new IllegalArgumentException("JSON: " + wanted + " expected at " + at);
            at++;
        }
    }
}
