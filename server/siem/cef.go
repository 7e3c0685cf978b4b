package siem

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCustom is the maximum length of a custom string of CEF in characters.
const maxCustom = 4000

// CEF encodes an audit event, given as JSON, as a line of CEF version 0 in UTF-8,
// without its line end. The mapping:
//
//	signature id, name  action; the same in words
//	severity            severity, which is on the CEF scale
//	rt                  time, in milliseconds since 1970
//	externalId          id
//	act, cat            action, category
//	suser, suid         actor; the id of the key or the user in it
//	src                 the client's IPv4 address
//	c6a2                the client's IPv6 address, labelled Source IPv6 Address
//	outcome             failure if the action was refused or failed, or else success
//	msg                 what happened, in a sentence
//	cs1, cs2            resource_type, resource_id
//	cs3                 the organisation's name
//	cs4                 the request's id
//	cs5                 metadata as JSON of at most 4000 characters; the rest is left
//	                    out, and the member truncated is true
//
// Absent members are left out, with their labels.
func (s Source) CEF(text []byte) ([]byte, error) {
	e, err := parse(text)
	if err != nil {
		return nil, err
	}
	metadata := ""
	if len(e.Metadata) > 0 {
		if metadata, err = fit(e.Metadata, maxCustom); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	b.WriteString("CEF:0")
	name := strings.NewReplacer(".", " ", "_", " ").Replace(e.Action)
	for _, field := range []string{product, product, s.Version, e.Action, name, strconv.Itoa(e.Severity)} {
		b.WriteString("|" + EscapeCEFHeader(field))
	}
	b.WriteByte('|')
	outcome := "success"
	if e.failed() {
		outcome = "failure"
	}
	uid, _ := e.keyID()
	if uid == system {
		uid = ""
	}
	x := extension{b: &b}
	x.add("rt", strconv.FormatInt(e.at.UnixMilli(), 10))
	x.add("externalId", e.ID)
	x.add("act", e.Action)
	x.add("cat", e.Category)
	x.add("suser", e.Actor)
	x.add("suid", uid)
	x.source(e.address())
	x.add("outcome", outcome)
	x.add("msg", e.message())
	x.custom(1, "resource_type", orEmpty(e.ResourceType))
	x.custom(2, "resource_id", orEmpty(e.ResourceID))
	x.custom(3, "organisation", s.OrganisationName)
	x.custom(4, "request_id", e.requestID())
	x.custom(5, "metadata", metadata)
	return []byte(b.String()), nil
}

// extension is the key-value part of a line.
type extension struct {
	b     *strings.Builder
	begun bool
}

func (x *extension) add(key, value string) {
	if value == "" {
		return
	}
	if x.begun {
		x.b.WriteByte(' ')
	}
	x.begun = true
	x.b.WriteString(key + "=" + EscapeCEFExtension(value))
}

func (x *extension) custom(number int, label, value string) {
	if value == "" {
		return
	}
	key := fmt.Sprintf("cs%d", number)
	x.add(key, value)
	x.add(key+"Label", label)
}

// EscapeCEFHeader escapes a field of the header. | and \ get a backslash, and
// control characters become spaces, because the header is one line.
func EscapeCEFHeader(text string) string {
	return strings.Map(func(r rune) rune {
		if breaks(r) {
			return ' '
		}
		return r
	}, strings.NewReplacer(`\`, `\\`, `|`, `\|`).Replace(strings.ToValidUTF8(text, "\uFFFD")))
}

// EscapeCEFExtension escapes a value of the extension. \ and = get a backslash.
// Line feed and carriage return become \n and \r. Other control characters and
// Unicode's line separators become spaces.
func EscapeCEFExtension(text string) string {
	text = strings.NewReplacer(`\`, `\\`, `=`, `\=`, "\n", `\n`, "\r", `\r`).Replace(strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Map(func(r rune) rune {
		if breaks(r) {
			return ' '
		}
		return r
	}, text)
}

// breaks reports whether a character is a line end for some readers, or a command
// for a terminal.
func breaks(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// source adds the client's address. CEF has a separate key for IPv6.
func (x *extension) source(text string) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return
	}
	if address = address.Unmap(); address.Is4() {
		x.add("src", address.String())
		return
	}
	x.add("c6a2", address.WithZone("").String())
	x.add("c6a2Label", "Source IPv6 Address")
}

// fit encodes metadata as a JSON object of at most limit characters. From a larger
// object it removes members and adds "truncated": true. Small members are kept
// first, and in the member changes small changes.
func fit(metadata map[string]any, limit int) (string, error) {
	whole, err := compact(metadata)
	if err != nil || utf8.RuneCount(whole) <= limit {
		return string(whole), err
	}
	kept := map[string]any{"truncated": true}
	room, err := keepSmall(kept, metadata, limit-len(`{"truncated":true}`))
	if err != nil {
		return "", err
	}
	if changes, ok := metadata["changes"].(map[string]any); ok && kept["changes"] == nil {
		few := map[string]any{}
		if _, err := keepSmall(few, changes, room-len(`,"changes":{}`)); err != nil {
			return "", err
		}
		if len(few) > 0 {
			kept["changes"] = few
		}
	}
	text, err := compact(kept)
	return string(text), err
}

// keepSmall copies members to kept, the smallest first, until their encoding is
// too long. It returns how many characters are left.
func keepSmall(kept, members map[string]any, room int) (int, error) {
	type member struct {
		name string
		size int
	}
	var all []member
	for name, value := range members {
		text, err := compact(map[string]any{name: value})
		if err != nil {
			return 0, err
		}
		all = append(all, member{name, utf8.RuneCount(text) - 1}) // a comma in place of two braces
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Or(a.size-b.size, strings.Compare(a.name, b.name)) })
	for _, m := range all {
		if m.size > room {
			break
		}
		room -= m.size
		kept[m.name] = members[m.name]
	}
	return room, nil
}
