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
	// Those of Standard Webhooks.
	HeaderID                = "Webhook-Id"
	HeaderTimestamp         = "Webhook-Timestamp"
	HeaderStandardSignature = "Webhook-Signature"
)

// secretPrefix marks a signing secret; base64 follows.
const secretPrefix = "whsec_"

// Tolerance is how far the time of a delivery may be from that of the receiver,
// as Standard Webhooks recommends.
const Tolerance = 5 * time.Minute

// Sign makes the headers that authenticate a delivery with each of the
// secrets, the newest first.
func Sign(secrets []string, m db.Message, at time.Time) (http.Header, error) {
	ours, standard := make([]string, len(secrets)), make([]string, len(secrets))
	seconds := strconv.FormatInt(at.Unix(), 10)
	for i, secret := range secrets {
		key, err := standardKey(secret)
		if err != nil {
			return nil, err
		}
		ours[i] = signature(secret, m.Body)
		standard[i] = standardSignature(key, m.ID, seconds, m.Body)
	}
	return http.Header{
		HeaderSignature:         {strings.Join(ours, ",")},
		HeaderID:                {m.ID},
		HeaderTimestamp:         {seconds},
		HeaderStandardSignature: {strings.Join(standard, " ")},
	}, nil
}

// signature is keyed with the bytes of the secret as it is shown.
func signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// standardSignature is that of Standard Webhooks, keyed with what the secret's
// base64 stands for.
func standardSignature(key []byte, id, seconds string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + seconds + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func standardKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) == 0 {
		return nil, errors.New("a signing secret is whsec_ and base64; give it as it was shown")
	}
	return key, nil
}

// Verify checks what a receiver got, as a receiver should: both signatures and
// the time.
func Verify(secret string, headers http.Header, body []byte, now time.Time) error {
	key, err := standardKey(secret)
	if err != nil {
		return err
	}
	if !among(signature(secret, body), headers.Get(HeaderSignature), ",") {
		return errors.New(HeaderSignature + " does not fit the body and the secret")
	}
	seconds := headers.Get(HeaderTimestamp)
	if !among(standardSignature(key, headers.Get(HeaderID), seconds, body), headers.Get(HeaderStandardSignature), " ") {
		return errors.New("webhook-signature does not fit the body, its id, its time and the secret")
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return errors.New("webhook-timestamp is not a Unix time")
	}
	if away := now.Sub(time.Unix(unix, 0)).Abs(); away > Tolerance {
		return errors.New("webhook-timestamp is " + away.Round(time.Second).String() + " away; a delivery may be repeated by somebody else, or a clock is wrong")
	}
	return nil
}

// among tells in constant time whether a signature is one of those sent.
func among(want, sent, separator string) bool {
	found := false
	for one := range strings.SplitSeq(sent, separator) {
		found = hmac.Equal([]byte(want), []byte(one)) || found
	}
	return found
}
