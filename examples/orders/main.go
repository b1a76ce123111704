// A program that answers the controller Orders of Gatehouse, with golang-jwt. README.md says how to start it.
//
// Every request is one POST with a token that Gatehouse has issued for it. The token says who the caller is and what they
// may do; this program believes nothing else.
package main

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/big"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/golang-jwt/jwt/v5"
)

var (
	issuer = strings.TrimSuffix(setting("GATEHOUSE_SERVER", "http://localhost:5080"), "/")
	port   = setting("PORT", "8091")
	// As it is declared: the audience of the tokens.
	url = setting("ORDERS_URL", "http://localhost:"+port+"/gatehouse")
)

func main() {
	keys, err := openKeys()
	if err != nil {
		log.Fatal("the keys of Gatehouse: ", err)
	}
	orders := &orders{owners: map[int64]string{}}
	http.HandleFunc("POST /gatehouse", func(reply http.ResponseWriter, request *http.Request) {
		answer(reply, request, keys, orders)
	})
	fmt.Println("answers", url)
	log.Fatal(http.ListenAndServe("localhost:"+port, nil))
}

// A message is what Gatehouse posts. A json.Number and a json.RawMessage keep all digits.
type message struct {
	Controller, Topic string
	TransactionID     json.Number
	Data              json.RawMessage
}

func answer(reply http.ResponseWriter, request *http.Request, keys *keys, orders *orders) {
	caller, err := keys.caller(request.Header.Get("Authorization"))
	if err != nil {
		problem(reply, http.StatusUnauthorized, "The token is not valid: "+err.Error())
		return
	}
	// Gatehouse has checked the scope of the topic already.
	if !slices.Contains(strings.Fields(caller.Scope), "Platform/Trading") {
		problem(reply, http.StatusForbidden, "The caller may not trade")
		return
	}
	var got message
	if err := json.NewDecoder(request.Body).Decode(&got); err != nil {
		problem(reply, http.StatusBadRequest, "The request is not JSON")
		return
	}
	var data any
	switch got.Topic {
	case "Place":
		data, err = orders.place(caller.Subject, got.Data)
	case "Cancel":
		data, err = orders.cancel(caller.Subject, got.Data)
	default:
		err = errors.New("there is no such topic")
	}
	if err != nil {
		problem(reply, http.StatusUnprocessableEntity, err.Error())
		return
	}
	write(reply, http.StatusOK, "application/json", data)
}

// orders are those of every user, in memory.
type orders struct {
	sync.Mutex
	owners map[int64]string
}

func (orders *orders) place(user string, text json.RawMessage) (any, error) {
	var data struct{ Quantity, Price json.Number }
	if err := read(text, &data); err != nil {
		return nil, err
	}
	quantity, err := data.Quantity.Int64()
	if err != nil || quantity <= 0 {
		return nil, errors.New("Quantity must be a positive integer")
	}
	price, isNumber := new(big.Rat).SetString(data.Price.String())
	if !isNumber || price.Sign() <= 0 {
		return nil, errors.New("Price must be a positive number")
	}
	value := new(big.Rat).Mul(price, new(big.Rat).SetInt64(quantity))
	places, _ := value.FloatPrec()
	orders.Lock()
	defer orders.Unlock()
	id := int64(len(orders.owners) + 1)
	orders.owners[id] = user
	// A decimal is a text in JSON, so that no reader makes a double of it.
	return map[string]any{"OrderID": id, "Status": "Accepted", "Value": value.FloatString(places)}, nil
}

func (orders *orders) cancel(user string, text json.RawMessage) (any, error) {
	var data struct{ OrderID int64 }
	if err := read(text, &data); err != nil {
		return nil, err
	}
	orders.Lock()
	defer orders.Unlock()
	if orders.owners[data.OrderID] != user {
		return nil, errors.New("There is no such order of yours")
	}
	orders.owners[data.OrderID] = ""
	return map[string]any{"OrderID": data.OrderID, "Status": "Cancelled"}, nil
}

func read(text json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(into); err != nil {
		return errors.New("Data must be an object with the members of an order")
	}
	return nil
}

type claims struct {
	jwt.RegisteredClaims
	ClientID string   `json:"client_id"`
	Scope    string   `json:"scope"`
	Role     []string `json:"role"`
}

// keys are the public keys of Gatehouse, fetched again when a token names one that is not known.
type keys struct {
	sync.Mutex
	address string
	byID    map[string]*rsa.PublicKey
}

func openKeys() (*keys, error) {
	var discovery struct {
		Address string `json:"jwks_uri"`
	}
	if err := get(issuer+"/.well-known/openid-configuration", &discovery); err != nil {
		return nil, err
	}
	return &keys{address: discovery.Address}, nil
}

func (keys *keys) caller(authorization string) (*claims, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, errors.New("there is none")
	}
	caller := &claims{}
	_, err := jwt.ParseWithClaims(token, caller, keys.find,
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(issuer), jwt.WithAudience(url), jwt.WithExpirationRequired())
	return caller, err
}

func (keys *keys) find(token *jwt.Token) (any, error) {
	id, _ := token.Header["kid"].(string)
	if token.Header["typ"] != "call+jwt" {
		return nil, errors.New("it is not a token for a call")
	}
	keys.Lock()
	defer keys.Unlock()
	if keys.byID[id] == nil {
		if err := keys.fetch(); err != nil {
			return nil, err
		}
	}
	if key := keys.byID[id]; key != nil {
		return key, nil
	}
	return nil, errors.New("its key is not known")
}

func (keys *keys) fetch() error {
	var published struct {
		Keys []struct{ Kid, N, E string }
	}
	if err := get(keys.address, &published); err != nil {
		return err
	}
	keys.byID = map[string]*rsa.PublicKey{}
	for _, key := range published.Keys {
		n, errN := base64.RawURLEncoding.DecodeString(key.N)
		e, errE := base64.RawURLEncoding.DecodeString(key.E)
		if errN == nil && errE == nil {
			exponent := int(new(big.Int).SetBytes(e).Int64())
			keys.byID[key.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: exponent}
		}
	}
	return nil
}

func get(address string, into any) error {
	reply, err := http.Get(address)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	return json.NewDecoder(reply.Body).Decode(into)
}

func problem(reply http.ResponseWriter, status int, detail string) {
	write(reply, status, "application/problem+json", map[string]any{"status": status, "detail": detail})
}

func write(reply http.ResponseWriter, status int, mediaType string, value any) {
	reply.Header().Set("Content-Type", mediaType)
	reply.WriteHeader(status)
	json.NewEncoder(reply).Encode(value)
}

func setting(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
