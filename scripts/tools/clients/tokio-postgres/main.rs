//! tokio-postgres: prepared statements in binary, pipelined queries, portals, COPY, cancel.
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};
use futures_util::{future::join_all, TryStreamExt};
use std::time::Duration;
use tokio_postgres::{error::SqlState, types::ToSql, Client, NoTls};
use uuid::Uuid;

async fn round_trip<T>(client: &Client, kind: &str, value: T)
where
    T: ToSql + Sync + PartialEq + std::fmt::Debug + for<'a> tokio_postgres::types::FromSql<'a>,
{
    let row = client.query_one(&format!("SELECT $1::{kind}"), &[&value]).await.expect(kind);
    assert_eq!(row.get::<_, T>(0), value);
    let row = client.query_one(&format!("SELECT $1::{kind}"), &[&None::<T>]).await.expect(kind);
    assert_eq!(row.get::<_, Option<T>>(0), None);
}

#[tokio::main]
async fn main() -> Result<(), tokio_postgres::Error> {
    let variable = |name: &str| std::env::var(name).unwrap();
    let address = format!(
        "host={} port={} user={} password={} dbname={}",
        variable("PGHOST"), variable("PGPORT"), variable("PGUSER"), variable("PGPASSWORD"), variable("PGDATABASE")
    );
    let (mut client, connection) = tokio_postgres::connect(&address, NoTls).await?;
    tokio::spawn(connection);

    round_trip(&client, "text", "a'b\\c €".to_string()).await;
    round_trip(&client, "int8", i64::MAX).await;
    round_trip(&client, "int8", i64::MIN).await;
    round_trip(&client, "float8", 0.1f64).await;
    round_trip(&client, "bool", true).await;
    round_trip(&client, "bytea", vec![0u8, 255, 92]).await;
    round_trip(&client, "uuid", Uuid::from_u128(0x6f0f9a3c2f5e4c1b9d530a7c3f9d2b11)).await;
    round_trip(&client, "date", NaiveDate::from_ymd_opt(2024, 2, 29).unwrap()).await;
    round_trip(&client, "time", NaiveTime::from_hms_micro_opt(23, 59, 59, 999_999).unwrap()).await;
    let moment: DateTime<Utc> = Utc.timestamp_micros(1_767_600_000_123_456).unwrap();
    round_trip(&client, "timestamptz", moment).await;
    let local: NaiveDateTime = NaiveDate::from_ymd_opt(2026, 3, 29).unwrap().and_hms_opt(2, 30, 0).unwrap();
    round_trip(&client, "timestamp without time zone", local).await;
    round_trip(&client, "json", serde_json::json!({"a": [1, 2.5]})).await;

    let statement = client.prepare("SELECT id, symbol, executed_at FROM trades WHERE symbol = $1 AND id < $2").await?;
    assert_eq!(statement.params().iter().map(|each| each.name()).collect::<Vec<_>>(), ["text", "int8"]);
    assert!(!client.query(&statement, &[&"ACME", &1000i64]).await?.is_empty());
    let pipelined = join_all((1..=10i64).map(|id| {
        let client = &client;
        async move { client.query_one("SELECT id FROM trades WHERE id = $1", &[&id]).await.unwrap().get::<_, i64>(0) }
    }));
    assert_eq!(pipelined.await, (1..=10).collect::<Vec<_>>());

    let transaction = client.transaction().await?;
    let portal = transaction.bind("SELECT id FROM trades ORDER BY id", &[]).await?;
    assert_eq!(transaction.query_portal(&portal, 10).await?.len(), 10);
    assert_eq!(transaction.query_portal(&portal, 10).await?[0].get::<_, i64>(0), 11);
    transaction.rollback().await?;

    let copied = client.copy_out("COPY (SELECT id FROM trades ORDER BY id LIMIT 10) TO STDOUT").await?;
    assert!(!copied.try_collect::<Vec<_>>().await?.is_empty());
    assert!(client.simple_query("SELECT 1; SELECT symbol FROM instruments LIMIT 1").await?.len() >= 4);

    let token = client.cancel_token();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        token.cancel_query(NoTls).await
    });
    let heavy = "SELECT count(*) FROM trades a, trades b, trades c WHERE a.price + b.price < c.price";
    let error = client.query(heavy, &[]).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED));
    println!("tokio-postgres: ok");
    Ok(())
}
