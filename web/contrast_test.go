package web_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"govsvc/web"
)

// TestContrast checks that the colours of the stylesheets meet WCAG 2.2 AA in the light
// and the dark scheme. The minimum is 4.5 for text, and 3 for field borders and
// graphics.
func TestContrast(t *testing.T) {
	t.Parallel()
	files, err := web.Files()
	if err != nil {
		t.Fatal(err)
	}
	colours := map[string][2]string{}
	for _, match := range regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(files["static/tokens.css"], -1) {
		colours[match[1]] = [2]string{match[2], match[3]}
	}
	const text, picture = 4.5, 3.0
	type pair struct {
		front, back string
		least       float64
	}
	var pairs []pair
	for _, ground := range []string{"ground", "surface", "sunken"} {
		for _, front := range []string{"ink", "muted", "accent", "danger"} {
			pairs = append(pairs, pair{front, ground, text})
		}
	}
	pairs = append(pairs, pair{"edge", "surface", picture}, pair{"edge", "ground", picture}, pair{"accent", "soft", text},
		pair{"on-accent", "accent", text}, pair{"on-danger", "danger", text}, pair{"muted", "soft", text}, pair{"ink", "soft", text})
	for _, tone := range []string{"critical", "high", "medium", "good", "info", "neutral"} {
		pairs = append(pairs, pair{tone, tone + "-ground", text}, pair{"accent", tone + "-ground", text}, pair{tone + "-solid", "surface", picture},
			pair{tone + "-solid", "ground", picture})
	}
	for _, p := range pairs {
		front, back := colours[p.front], colours[p.back]
		for i, scheme := range []string{"light", "dark"} {
			if got := contrast(t, front[i], back[i]); got < p.least {
				t.Errorf("%s: %s %s on %s %s has contrast %.2f, want %.1f", scheme, p.front, front[i], p.back, back[i], got, p.least)
			}
		}
	}
}

// contrast returns the contrast ratio of two colours (WCAG 2.2, relative luminance).
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	if len(colour) != 7 {
		t.Fatalf("%q is not a colour", colour)
	}
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", colour, err))
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// TestTokens checks that the stylesheets take sizes of letters, spaces and colours from
// tokens.css. Spaces below .45rem are fine adjustments, and the QR code is black on white
// in both themes.
func TestTokens(t *testing.T) {
	t.Parallel()
	files, err := web.Files()
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?:^|[;{ ])([a-z-]+): ([^;{}]+)[;}]`)
	length := regexp.MustCompile(`(?:^|[ (-])([0-9]*\.?[0-9]+)(rem|px)`)
	colour := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(`)
	for name, text := range files {
		if !strings.HasSuffix(name, ".css") || name == "static/tokens.css" {
			continue
		}
		for line := range strings.Lines(text) {
			for _, match := range declaration.FindAllStringSubmatch(line, -1) {
				property, value := match[1], match[2]
				if property == "font-size" && length.MatchString(value) {
					t.Errorf("%s: font-size: %s: use one of --t1 to --t6", name, value)
				}
				if strings.HasPrefix(property, "padding") || strings.HasPrefix(property, "margin") || strings.HasSuffix(property, "gap") {
					for _, one := range length.FindAllStringSubmatch(value, -1) {
						if size, err := strconv.ParseFloat(one[1], 64); err != nil || one[2] == "rem" && size > .45 {
							t.Errorf("%s: %s: %s: use one of --s1 to --s7", name, property, value)
						}
					}
				}
			}
			if found := colour.FindString(line); found != "" && !strings.HasPrefix(line, ".qr-") {
				t.Errorf("%s: the colour %s: give it a name in tokens.css", name, found)
			}
		}
	}
}
