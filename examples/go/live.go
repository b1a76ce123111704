package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// liveResult holds the result of a live query: rows by key, first of the snapshot, then as the changes leave them.
type liveResult struct {
	rows    map[string]json.RawMessage
	changes int
	pieces  piece
}

type piece struct {
	Kind    string
	Columns json.RawMessage
	Put     []struct{ Key, Row json.RawMessage }
	Remove  []json.RawMessage
	More    bool
}

func (live *liveResult) apply(data json.RawMessage) error {
	var got piece
	if err := json.Unmarshal(data, &got); err != nil {
		return err
	}
	if got.Kind == "Reset" || got.Columns != nil {
		clear(live.rows)
		live.pieces = piece{}
	}
	if got.Kind != "Snapshot" && got.Kind != "Change" {
		return nil
	}
	live.pieces.Put = append(live.pieces.Put, got.Put...)
	live.pieces.Remove = append(live.pieces.Remove, got.Remove...)
	if got.More { // a long message comes in pieces, which are applied together
		return nil
	}
	for _, key := range live.pieces.Remove {
		delete(live.rows, string(key))
	}
	for _, entry := range live.pieces.Put {
		live.rows[string(entry.Key)] = entry.Row
	}
	live.pieces = piece{}
	if got.Kind == "Change" {
		live.changes++
	}
	fmt.Println("live:", live)
	return nil
}

func (live *liveResult) String() string {
	var text []string
	for _, key := range slices.Sorted(maps.Keys(live.rows)) {
		text = append(text, string(live.rows[key]))
	}
	return strings.Join(text, " ")
}
