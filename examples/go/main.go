// The query and streaming protocols in Go. Start the demonstration (npm start), then, in this folder:
//
//	go run .
//
// It signs in as a service, runs a query, follows prices and a live query on one WebSocket, renews its token there, and
// ends.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

var server = "http://localhost:5080"

func main() {
	if named := os.Getenv("GATEHOUSE_SERVER"); named != "" {
		server = strings.TrimSuffix(named, "/")
	}
	token, err := signIn()
	if err != nil {
		log.Fatal("sign-in: ", err)
	}
	fmt.Println("signed in as demo-service")
	if err := query(token); err != nil {
		log.Fatal("query: ", err)
	}
	if err := follow(token); err != nil {
		log.Fatal("stream: ", err)
	}
	fmt.Println("go: ok")
}

// signIn gets an access token with the secret of a client (RFC 6749 §4.4). golang.org/x/oauth2/clientcredentials does the
// same, and renews it.
func signIn() (string, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"Platform/Market"}}
	request, err := http.NewRequest("POST", server+"/connect/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth("demo-service", "demo-service-secret")
	var reply struct {
		AccessToken string `json:"access_token"`
	}
	err = send(request, &reply)
	return reply.AccessToken, err
}

// query runs a statement. The values of its parameters are p.NAME in the query string.
func query(token string) error {
	values := url.Values{"p.first": {"ACME"}, "p.second": {"BOLT"}}
	statement := `select symbol, count(*) as trades, sum(price * quantity) as turnover
		from trades where symbol in (:first, :second) group by symbol order by symbol`
	request, err := http.NewRequest("POST", server+"/query?"+values.Encode(), strings.NewReader(statement))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	var result struct {
		Rows []struct {
			Symbol   string
			Trades   int64  // an Integer is a JSON number; an int64 holds every one exactly, a float64 does not
			Turnover string // a Decimal is a text with all its digits
		}
	}
	if err := send(request, &result); err != nil {
		return err
	}
	total := new(big.Rat)
	for _, row := range result.Rows {
		turnover, ok := new(big.Rat).SetString(row.Turnover)
		if !ok {
			return fmt.Errorf("%q is not a Decimal", row.Turnover)
		}
		fmt.Printf("%s: %d trades, turnover %s\n", row.Symbol, row.Trades, row.Turnover)
		total.Add(total, turnover)
	}
	fmt.Println("turnover of both:", total.FloatString(4))
	return nil
}

// send reads the JSON of a reply, or returns its error document.
func send(request *http.Request, result any) error {
	reply, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(reply.Body)
		return fmt.Errorf("%s: %s", reply.Status, text)
	}
	return json.NewDecoder(reply.Body).Decode(result)
}

// follow holds a stream until it has seen prices, changes of the live query, the renewal of its token, and a pong.
func follow(token string) error {
	dialer := websocket.Dialer{Subprotocols: []string{"PlatformJson"}, HandshakeTimeout: 10 * time.Second}
	connection, _, err := dialer.Dial("ws"+strings.TrimPrefix(server, "http")+"/Platform?version=1.1", nil)
	if err != nil {
		return err
	}
	defer connection.Close()
	// The library answers the pings of the server while messages are read.
	alive := false
	connection.SetPongHandler(func(string) error { alive = true; return nil })

	if err := authenticate(connection, 1, token); err != nil {
		return err
	}
	turnover := liveResult{rows: map[string]json.RawMessage{}}
	prices, renewed := 0, false
	for !alive {
		// Also ends a wait for a server that is gone: it sends a ping every 30 seconds.
		connection.SetReadDeadline(time.Now().Add(time.Minute))
		var got message
		if err := connection.ReadJSON(&got); err != nil {
			return err // a websocket.CloseError has the close code
		}
		switch {
		case got.Action == "Error":
			return fmt.Errorf("the server refused %s/%s: %s", got.Controller, got.Topic, got.Data)
		case got.Confirm: // of a subscription
		case got.TransactionID == 1 || got.TransactionID == 4:
			if err := identified(connection, got); err != nil {
				return err
			}
		case got.Topic == "Price/ACME":
			var price struct{ Bid, Ask json.Number }
			if err := json.Unmarshal(got.Data, &price); err != nil {
				return err
			}
			prices++
			fmt.Println("price: ACME", price.Bid, "/", price.Ask)
		case got.Topic == "Live/turnover":
			if err := turnover.apply(got.Data); err != nil {
				return err
			}
		}
		if !renewed && prices >= 2 && turnover.changes >= 1 {
			renewed = true // well before the token expires, in a program that runs on
			fresh, err := signIn()
			if err != nil {
				return err
			}
			if err := authenticate(connection, 4, fresh); err != nil {
				return err
			}
		}
	}
	closing := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	return connection.WriteControl(websocket.CloseMessage, closing, time.Now().Add(time.Second))
}

// message is what both sides send.
type message struct {
	Controller    string          `json:",omitempty"`
	Topic         string          `json:",omitempty"`
	Action        string          `json:",omitempty"`
	TransactionID int64           `json:",omitempty"`
	Confirm       bool            `json:",omitempty"`
	Data          json.RawMessage `json:",omitempty"`
}

func authenticate(connection *websocket.Conn, transaction int64, token string) error {
	data, err := json.Marshal(map[string]string{"Provider": "Bearer", "AccessToken": token})
	if err != nil {
		return err
	}
	return connection.WriteJSON(message{Controller: "Auth", Topic: "AuthToken", TransactionID: transaction, Data: data})
}

// identified handles the reply to AuthToken: after the first one it subscribes, after the renewal it sends a ping.
func identified(connection *websocket.Conn, reply message) error {
	var identity struct{ Result, UserID, ExpiryDate string }
	if err := json.Unmarshal(reply.Data, &identity); err != nil {
		return err
	}
	if identity.Result != "Success" {
		return fmt.Errorf("the token was rejected")
	}
	fmt.Println("stream:", identity.UserID, "until", identity.ExpiryDate)
	if reply.TransactionID != 1 {
		return connection.WriteControl(websocket.PingMessage, []byte("alive"), time.Now().Add(time.Second))
	}
	price := message{Controller: "Ticker", Topic: "Price/ACME", Action: "Sub", TransactionID: 2, Confirm: true}
	if err := connection.WriteJSON(price); err != nil {
		return err
	}
	return connection.WriteJSON(message{
		Controller: "Query", Topic: "Live/turnover", Action: "Sub", TransactionID: 3, Confirm: true,
		Data: json.RawMessage(`{"MaxRate": 5, "Statement":
			"select side, count(*) as trades, sum(price * quantity) as turnover from trades group by side"}`),
	})
}
