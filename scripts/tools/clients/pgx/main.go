// pgx: its own protocol layer and database/sql, every type in its formats, batches, cancel by context, COPY.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func roundTrip[T comparable](connection *pgx.Conn, kind string, value T) {
	var got T
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		err := connection.QueryRow(context.Background(), "SELECT $1::"+kind, mode, value).Scan(&got)
		if err != nil || got != value {
			panic(fmt.Sprintf("%s in mode %v: %v instead of %v: %v", kind, mode, got, value, err))
		}
	}
}

func main() {
	background := context.Background()
	connection := must(pgx.Connect(background, ""))
	roundTrip(connection, "text", "a'b\\c €")
	roundTrip(connection, "int8", int64(math.MaxInt64))
	roundTrip(connection, "int8", int64(math.MinInt64))
	roundTrip(connection, "float8", 0.1)
	roundTrip(connection, "float8", math.MaxFloat64)
	roundTrip(connection, "bool", true)
	roundTrip(connection, "numeric(18,4)", "12345678901234.5678")
	roundTrip(connection, "uuid", "6f0f9a3c-2f5e-4c1b-9d53-0a7c3f9d2b11")
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	roundTrip(connection, "date", day)
	moment := time.Date(2026, 1, 5, 8, 0, 0, 123456000, time.UTC)
	var got time.Time
	if err := connection.QueryRow(background, "SELECT $1::timestamptz", moment).Scan(&got); err != nil || !got.Equal(moment) {
		panic(fmt.Sprint(got, err))
	}
	var binary []byte
	if err := connection.QueryRow(background, "SELECT $1::bytea", []byte{0, 255, '\\'}).Scan(&binary); err != nil || !bytes.Equal(binary, []byte{0, 255, '\\'}) {
		panic(fmt.Sprint(binary, err))
	}

	rows := must(connection.Query(background, "SELECT id, symbol, price, venue, executed_at FROM trades WHERE symbol = $1 ORDER BY id", "ACME"))
	if rows.FieldDescriptions()[2].DataTypeOID != 1700 {
		panic("price is not numeric")
	}
	count := 0
	for rows.Next() {
		must(rows.Values())
		count++
	}
	if rows.Err() != nil || count == 0 {
		panic(rows.Err())
	}
	var several int64
	if err := connection.QueryRow(background, "SELECT count(*) FROM trades WHERE symbol = ANY($1)", []string{"ACME", "BOLT"}).Scan(&several); err != nil || several == 0 {
		panic(err)
	}

	batch := &pgx.Batch{}
	for number := 1; number <= 10; number++ {
		batch.Queue("SELECT id FROM trades WHERE id = $1", number)
	}
	results := connection.SendBatch(background, batch)
	for number := 1; number <= 10; number++ {
		var id int
		if err := results.QueryRow().Scan(&id); err != nil || id != number {
			panic(fmt.Sprint(id, err))
		}
	}
	if err := results.Close(); err != nil {
		panic(err)
	}
	transaction := must(connection.BeginTx(background, pgx.TxOptions{AccessMode: pgx.ReadOnly}))
	must(transaction.Exec(background, "SELECT count(*) FROM instruments"))
	if err := transaction.Commit(background); err != nil {
		panic(err)
	}
	copied := &bytes.Buffer{}
	must(connection.PgConn().CopyTo(background, copied, "COPY instruments TO STDOUT (FORMAT csv)"))
	if copied.Len() == 0 {
		panic("nothing was copied")
	}
	if err := connection.Ping(background); err != nil {
		panic(err)
	}
	connection.Close(background)

	config := must(pgconn.ParseConfig(""))
	low := must(pgconn.ConnectConfig(background, config))
	time.AfterFunc(500*time.Millisecond, func() { low.CancelRequest(background) })
	_, err := low.Exec(background, "SELECT count(*) FROM trades a, trades b, trades c WHERE a.price + b.price < c.price").ReadAll()
	failure, isFailure := err.(*pgconn.PgError)
	if !isFailure || failure.Code != "57014" {
		panic(fmt.Sprint("not cancelled: ", err))
	}
	low.Close(background)

	database := must(sql.Open("pgx", ""))
	var name string
	if err := database.QueryRow("SELECT name FROM instruments WHERE symbol = $1", "ACME").Scan(&name); err != nil {
		panic(err)
	}
	statement := must(database.Prepare("SELECT price FROM trades WHERE id = $1"))
	must(statement.Query(1)).Close()
	database.Close()
	fmt.Println("pgx: ok")
}
