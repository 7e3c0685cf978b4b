package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"govsvc/db"
)

// The headers of a delivery (contract, "Events").
const (
	HeaderSignature = "X-Service-Signature"
	HeaderEvent     = "X-Service-Event"
	HeaderDelivery  = "X-Service-Delivery"
	// The headers of Standard Webhooks.
	HeaderID                = "Webhook-Id"
	HeaderTimestamp         = "Webhook-Timestamp"
	HeaderStandardSignature = "Webhook-Signature"
)

// secretPrefix starts a signing secret; base64 follows.
const secretPrefix = "whsec_"

// Tolerance is the maximum difference between the time of a delivery and the clock
// of the receiver, as Standard Webhooks recommends.
const Tolerance = 5 * time.Minute

// Sign returns the headers that authenticate a delivery. They have one signature for each
// secret, the newest first.
func Sign(secrets []string, m db.Message, at time.Time) (http.Header, error) {
	h := http.Header{HeaderID: {m.ID}, HeaderTimestamp: {strconv.FormatInt(at.Unix(), 10)}}
	return h, sign(h, secrets, m)
}

// sign adds the signatures to headers that have the time.
func sign(h http.Header, secrets []string, m db.Message) error {
	var ours, standard []byte
	seconds := h[HeaderTimestamp][0]
	for i, secret := range secrets {
		key, err := standardKey(secret)
		if err != nil {
			return err
		}
		if i > 0 {
			ours, standard = append(ours, ','), append(standard, ' ')
		}
		ours = append(ours, signature(secret, m.Body)...)
		standard = append(standard, standardSignature(key, m.ID, seconds, m.Body)...)
	}
	h[HeaderSignature], h[HeaderStandardSignature] = []string{string(ours)}, []string{string(standard)}
	return nil
}

// signature returns the HMAC whose key is the secret as text.
func signature(secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.AppendEncode(nil, mac.Sum(nil))
}

// standardSignature returns the signature of Standard Webhooks. Its key is the
// decoded secret.
func standardSignature(key []byte, id, seconds string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + seconds + "."))
	mac.Write(body)
	return base64.StdEncoding.AppendEncode([]byte("v1,"), mac.Sum(nil))
}

func standardKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) == 0 {
		return nil, errors.New("a signing secret consists of whsec_ and base64 text; copy it unchanged")
	}
	return key, nil
}

// Verify checks a delivery as a receiver should: both signatures and the time.
func Verify(secret string, headers http.Header, body []byte, now time.Time) error {
	key, err := standardKey(secret)
	if err != nil {
		return err
	}
	if !containsSignature(signature(secret, body), headers.Get(HeaderSignature), ",") {
		return errors.New(HeaderSignature + " does not match the body and the secret")
	}
	seconds := headers.Get(HeaderTimestamp)
	if !containsSignature(standardSignature(key, headers.Get(HeaderID), seconds, body), headers.Get(HeaderStandardSignature), " ") {
		return errors.New("webhook-signature does not match the body, the id, the time and the secret")
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return errors.New("webhook-timestamp is not a Unix time")
	}
	if away := now.Sub(time.Unix(unix, 0)).Abs(); away > Tolerance {
		return errors.New("webhook-timestamp differs from this clock by " + away.Round(time.Second).String() + "; the delivery may be a replay by an attacker, or a clock is wrong")
	}
	return nil
}

// containsSignature reports in constant time whether a header has a signature.
func containsSignature(want []byte, sent, separator string) bool {
	found := false
	for one := range strings.SplitSeq(sent, separator) {
		found = hmac.Equal(want, []byte(one)) || found
	}
	return found
}

// Agent returns the User-Agent of a version of the program.
func Agent(version string) string {
	if version == "" {
		return "govsvc"
	}
	return "govsvc/" + version
}

// Headers returns the headers of an attempt without its signatures, so that no secret is
// needed. The log of deliveries shows these headers.
func Headers(agent, deliveryID string, m db.Message, at time.Time) http.Header {
	h := make(http.Header, 9) // an attempt adds three
	h["Content-Type"] = []string{"application/json"}
	h["User-Agent"] = []string{agent}
	h[HeaderEvent] = []string{m.Type}
	h[HeaderDelivery] = []string{deliveryID}
	h[HeaderID] = []string{m.ID}
	h[HeaderTimestamp] = []string{strconv.FormatInt(at.Unix(), 10)}
	return h
}
