package account

import "strings"

// browsers are the products that a User-Agent header may name, the most
// specific first: Edge and Opera also claim to be Chrome, and Chrome Safari.
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

// browserName is a short name for a User-Agent header, such as "Firefox on
// Linux". The header may hold anything; none of its text is in the name.
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
