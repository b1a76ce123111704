//! The query and streaming protocols in Rust. Start the demonstration (npm start), then, in this folder:
//!
//!     cargo run
//!
//! It signs in as a service, runs a query, follows prices and a live query on one WebSocket, renews its token there, and
//! ends.

mod live;

use live::LiveResult;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::{env, error::Error, net::TcpStream, time::Duration};
use tungstenite::{Message, WebSocket, client::IntoClientRequest, http::HeaderValue, stream::MaybeTlsStream};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Socket = WebSocket<MaybeTlsStream<TcpStream>>;

fn main() -> Result<()> {
    let server = env::var("GATEHOUSE_SERVER").unwrap_or("http://localhost:5080".into());
    let token = sign_in(&server)?;
    println!("signed in as demo-service");
    query(&server, &token)?;
    follow(&server, &token)?;
    println!("rust: ok");
    Ok(())
}

/// Gets an access token with the secret of a client (RFC 6749 §4.4).
fn sign_in(server: &str) -> Result<String> {
    let reply = read(
        ureq::post(format!("{server}/connect/token")).config().http_status_as_error(false).build().send_form([
            ("grant_type", "client_credentials"),
            ("client_id", "demo-service"),
            ("client_secret", "demo-service-secret"),
            ("scope", "Platform/Market"),
        ])?,
    )?;
    Ok(text(&reply, "access_token")?.to_string())
}

/// Runs a statement. The values of its parameters are p.NAME in the query string.
fn query(server: &str, token: &str) -> Result<()> {
    let result = read(
        ureq::post(format!("{server}/query"))
            .config()
            .http_status_as_error(false)
            .build()
            .query("p.first", "ACME")
            .query("p.second", "BOLT")
            .header("Authorization", format!("Bearer {token}"))
            .header("Content-Type", "text/plain; charset=utf-8")
            .send(
                "select symbol, count(*) as trades, sum(price * quantity) as turnover \
                 from trades where symbol in (:first, :second) group by symbol order by symbol",
            )?,
    )?;
    let mut total = Decimal::ZERO;
    for row in result["Rows"].as_array().ok_or("the result has no rows")? {
        // A Decimal is a text with all its digits. An Integer is a JSON number, which serde_json reads as an i64.
        let turnover: Decimal = text(row, "turnover")?.parse()?;
        let trades = row["trades"].as_i64().ok_or("trades is not an Integer")?;
        println!("{}: {trades} trades, turnover {turnover}", text(row, "symbol")?);
        total += turnover;
    }
    println!("turnover of both: {total}");
    Ok(())
}

/// Holds a stream until it has seen prices, changes of the live query, the renewal of its token, and a pong.
fn follow(server: &str, token: &str) -> Result<()> {
    let mut request = format!("{}/Platform?version=1.1", server.replacen("http", "ws", 1)).into_client_request()?;
    request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static("PlatformJson"));
    let (mut socket, _) = tungstenite::connect(request)?;
    // Also ends a wait for a server that is gone: it sends a ping every 30 seconds.
    let patience = Some(Duration::from_secs(60));
    match socket.get_ref() {
        MaybeTlsStream::Plain(stream) => stream.set_read_timeout(patience)?,
        MaybeTlsStream::Rustls(stream) => stream.get_ref().set_read_timeout(patience)?,
        _ => {}
    }
    authenticate(&mut socket, 1, token)?;
    let mut turnover = LiveResult::default();
    let (mut prices, mut renewed) = (0, false);
    loop {
        let message: Value = match socket.read()? {
            Message::Text(text) => serde_json::from_str(&text)?,
            Message::Pong(_) => break,
            Message::Close(frame) => return Err(format!("the server closed the stream: {frame:?}").into()),
            _ => continue, // the library answers the pings of the server
        };
        let data = &message["Data"];
        match (message["Action"].as_str(), message["Topic"].as_str(), message["TransactionID"].as_i64()) {
            (Some("Error"), ..) => return Err(format!("the server refused: {message}").into()),
            (Some("Sub"), ..) => {} // the confirmation of a subscription
            (.., Some(transaction @ (1 | 4))) => {
                if data["Result"] != "Success" {
                    return Err("the token was rejected".into());
                }
                println!("stream: {} until {}", text(data, "UserID")?, text(data, "ExpiryDate")?);
                match transaction {
                    1 => subscribe(&mut socket)?,
                    _ => socket.send(Message::Ping("alive".into()))?,
                }
            }
            (_, Some("Price/ACME"), _) => {
                prices += 1;
                println!("price: ACME {} / {}", data["Bid"], data["Ask"]);
            }
            (_, Some("Live/turnover"), _) => {
                turnover.apply(data)?;
                println!("live: {turnover}");
            }
            _ => {}
        }
        if !renewed && prices >= 2 && turnover.changes >= 1 {
            renewed = true; // well before the token expires, in a program that runs on
            authenticate(&mut socket, 4, &sign_in(server)?)?;
        }
    }
    socket.close(None)?;
    Ok(())
}

fn authenticate(socket: &mut Socket, transaction: i64, token: &str) -> Result<()> {
    let data = json!({"Provider": "Bearer", "AccessToken": token});
    send(socket, json!({"Controller": "Auth", "Topic": "AuthToken", "TransactionID": transaction, "Data": data}))
}

fn subscribe(socket: &mut Socket) -> Result<()> {
    send(
        socket,
        json!({
            "Controller": "Ticker", "Topic": "Price/ACME", "Action": "Sub", "TransactionID": 2, "Confirm": true,
        }),
    )?;
    send(
        socket,
        json!({
            "Controller": "Query", "Topic": "Live/turnover", "Action": "Sub", "TransactionID": 3, "Confirm": true,
            "Data": {
                "Statement": "select side, count(*) as trades, sum(price * quantity) as turnover from trades group by side",
                "MaxRate": 5,
            },
        }),
    )
}

fn send(socket: &mut Socket, message: Value) -> Result<()> {
    Ok(socket.send(Message::text(message.to_string()))?)
}

/// The JSON of a reply, or its error document as an error.
fn read(mut reply: ureq::http::Response<ureq::Body>) -> Result<Value> {
    if !reply.status().is_success() {
        return Err(format!("{}: {}", reply.status(), reply.body_mut().read_to_string()?).into());
    }
    Ok(reply.body_mut().read_json()?)
}

fn text<'a>(object: &'a Value, member: &str) -> Result<&'a str> {
    object[member].as_str().ok_or_else(|| format!("{member} is not a text in {object}").into())
}
