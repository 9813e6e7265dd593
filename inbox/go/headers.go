package inbox

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const keyHeader = "Idempotency-Key"

// A key as a string of RFC 8941, with parameters or without, or as most clients send it.
// DANGER: no comma in a bare key. Two header lines that a proxy has joined read `a, b`, and would
// pass for a third key.
var (
	bareKey   = regexp.MustCompile(`^[\x21\x23-\x2b\x2d-\x7e]+$`)
	quotedKey = regexp.MustCompile(`^ *"((?:[ !#-\[\]-~]|\\["\\])*)"(?:; *[a-z*][a-z0-9_.*-]*` +
		`(?:=(?:"(?:[ !#-\[\]-~]|\\["\\])*"|-?[0-9]{1,15}|-?[0-9]{1,12}\.[0-9]{1,3}|\?[01]` +
		`|:[A-Za-z0-9+/]*={0,2}:|[A-Za-z*][A-Za-z0-9!#$%&'*+.^_` + "`" + `|~:/-]*))?)* *$`)
	escaped = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

// keyOf reads a request's key: its text, and the header as it was written.
func keyOf(headers http.Header) (key, written string, refusal *problem) {
	values := headers.Values(keyHeader)
	switch len(values) {
	case 0:
		return "", "", &problem{keyMissing, "This operation needs the header Idempotency-Key.", 0}
	case 1:
		written = values[0]
	default:
		return "", "", &problem{keyMalformed, "Idempotency-Key was sent more than once.", 0}
	}
	if match := quotedKey.FindStringSubmatch(written); match != nil {
		key = escaped.Replace(match[1])
	} else if bareKey.MatchString(written) {
		key = written
	} else {
		return "", "", &problem{keyMalformed, "Idempotency-Key must be printable ASCII without " +
			"blanks and commas, or a string in double quotes (RFC 8941).", 0}
	}
	if len(key) < 1 || len(key) > 255 {
		return "", "", &problem{keyMalformed, "Idempotency-Key must have 1 to 255 characters.", 0}
	}
	return key, written, nil
}

// Headers of an answer that are never stored: those of one hop, cookies, those that reveal the
// caller, and those that are written when the answer is sent.
var neverStored = strings.Fields(`connection http2-settings keep-alive proxy-authenticate
	proxy-authentication-info proxy-authorization proxy-connection te trailer transfer-encoding
	upgrade authentication-info authorization content-length cookie set-cookie set-cookie2
	www-authenticate date idempotent-replayed idempotency-key`)

func storedHeaders(headers http.Header) []Header {
	ofTheHop := strings.FieldsFunc(strings.ToLower(strings.Join(headers.Values("Connection"), ",")),
		func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
	stored := []Header{}
	for name, values := range headers {
		name = strings.ToLower(name)
		if slices.Contains(neverStored, name) || slices.Contains(ofTheHop, name) ||
			strings.HasPrefix(name, "trailer:") {
			continue
		}
		for _, value := range values {
			stored = append(stored, Header{name, value})
		}
	}
	// The order of a map is random; the same answer is to be stored in the same way.
	slices.SortStableFunc(stored, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return stored
}

// problemKind is one of the problems (RFC 9457) of Onceward's front door, with its type and title.
type problemKind struct {
	status      int
	name, title string
}

var (
	malformedRequest = problemKind{400, "malformed-request", "The request is not well formed"}
	tenantMissing    = problemKind{400, "tenant-missing", "The tenant is missing"}
	keyMissing       = problemKind{400, "key-missing", "The idempotency key is missing"}
	keyMalformed     = problemKind{400, "key-malformed", "The idempotency key is not valid"}
	keyInFlight      = problemKind{409, "key-in-flight",
		"A request with this idempotency key is still being processed"}
	outcomeUnknown = problemKind{409, "outcome-unknown",
		"Whether the request with this idempotency key took effect is not known"}
	answerGone = problemKind{410, "answer-gone",
		"It was carried out; its answer is no longer kept"}
	keyExpired = problemKind{412, "key-expired",
		"The idempotency key is older than the memory of this service"}
	bodyTooLarge = problemKind{413, "body-too-large", "The body is too large"}
	keyReused    = problemKind{422, "key-reused",
		"The idempotency key was used before with another request"}
	internal    = problemKind{500, "internal", "Internal error"}
	unavailable = problemKind{503, "unavailable",
		"Not available now; try again with the same key"}
)

type problem struct {
	problemKind
	detail     string
	retryAfter int // seconds; 0: none
}

func (p problem) send(w http.ResponseWriter) {
	body, _ := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail,omitempty"`
	}{"/onceward/problems/" + p.name, p.title, p.status, p.detail})
	w.Header().Set("Content-Type", "application/problem+json")
	// A cache must not answer the next request with it.
	w.Header().Set("Cache-Control", "no-store")
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(body)
}
