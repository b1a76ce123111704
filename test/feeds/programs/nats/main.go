// Publishes to a subject of NATS with the client for Go, as a program that knows nothing of Gatehouse would.
package main

import (
	"fmt"
	"os"

	"github.com/nats-io/nats.go"
)

func main() {
	connection, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		fail(err)
	}
	defer connection.Close()
	js, err := connection.JetStream()
	if err != nil {
		fail(err)
	}
	// Acknowledged by JetStream, and without waiting for it.
	ack, err := js.Publish(os.Getenv("NATS_SUBJECT"), []byte(`{"last":"101.25","by":"nats.go"}`))
	if err != nil {
		fail(err)
	}
	if err := connection.Publish(os.Getenv("NATS_SUBJECT"), []byte(`{"last":"101.50","by":"nats.go"}`)); err != nil {
		fail(err)
	}
	if err := connection.Flush(); err != nil {
		fail(err)
	}
	fmt.Println(ack.Stream, ack.Sequence)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
