package account

import "strings"

// browsers are the products in User-Agent headers, the most specific first: Edge
// and Opera also name Chrome, and Chrome names Safari.
var browsers = []struct{ token, name string }{
	{"Edg/", "Edge"},
	{"EdgA/", "Edge"},
	{"EdgiOS/", "Edge"},
	{"OPR/", "Opera"},
	{"SamsungBrowser/", "Samsung Internet"},
	{"FxiOS/", "Firefox"},
	{"Firefox/", "Firefox"},
	{"CriOS/", "Chrome"},
	{"HeadlessChrome/", "Chrome"},
	{"Chrome/", "Chrome"},
	{"Safari/", "Safari"},
	{"curl/", "curl"},
	{"Go-http-client/", "Go program"},
	{"python", "Python program"},
}

// systems are the operating systems, the most specific first.
var systems = []struct{ token, name string }{
	{"iPhone", "iPhone"},
	{"iPad", "iPad"},
	{"Android", "Android"},
	{"CrOS", "ChromeOS"},
	{"Windows", "Windows"},
	{"Macintosh", "macOS"},
	{"Linux", "Linux"},
}

// browserName returns a short name for a User-Agent header, such as "Firefox on
// Linux". It contains no text of the header.
func browserName(userAgent string) string {
	name, system := "Unknown browser", ""
	for _, browser := range browsers {
		if strings.Contains(userAgent, browser.token) {
			name = browser.name
			break
		}
	}
	for _, known := range systems {
		if strings.Contains(userAgent, known.token) {
			system = " on " + known.name
			break
		}
	}
	return name + system
}
