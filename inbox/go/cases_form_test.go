package inbox_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	inbox "github.com/onceward/onceward/inbox/go"
)

type caseFile struct {
	About   any
	Ledgers []struct {
		Ledger         string `json:"ledger"`
		Store          string `json:"store"`
		Retention      string `json:"retention"`
		LongestRequest string `json:"longest_request"`
		StoresResults  bool   `json:"stores_results"`
		MaxResultBytes int    `json:"max_result_bytes"`
	}
	Digests []struct {
		Operation, Tenant, Kind, Digest string
		Key                             caseKey
		DownstreamKey                   string `json:"downstream_key"`
	}
	Fingerprints []struct{ Content, Fingerprint string }
	Cases        []struct {
		Name  string
		Steps []json.RawMessage
	}
}

// caseKey is a text, {"hex": ...} or {"repeat": ..., "times": ...}.
type caseKey string

func (k *caseKey) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(k))
	}
	var form struct {
		Hex    string
		Repeat string
		Times  int
	}
	if err := strict(text, &form); err != nil {
		return err
	}
	made, err := hex.DecodeString(form.Hex)
	*k = caseKey(string(made) + strings.Repeat(form.Repeat, form.Times))
	return err
}

// step has all members that a step may have.
type step struct {
	Do, On, Isolation, Error, Later, Task, As, Name, Text, Member string

	Key         caseKey
	Fingerprint *string
	Attempt     inbox.UUID
	MintedAt    json.RawMessage `json:"minted_at"`
	Tenant      string
	Ledger      string
	Suffix      string
	Of          json.RawMessage

	Status     int
	Body       string
	BodyBytes  int `json:"body_bytes"`
	Headers    []inbox.Header
	Failed     bool
	HoldMS     int64 `json:"hold_ms"`
	HonoursKey *bool `json:"honours_key"`

	Keys         []caseKey
	Fingerprints []string
	MaxBytes     int64  `json:"max_bytes"`
	BodyLengths  []*int `json:"body_lengths"`

	Value, Count int
	Expect       json.RawMessage
}

// strict reads JSON and refuses members that it does not know, so that no check is skipped unseen.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func readCases(t *testing.T) (file caseFile) {
	t.Helper()
	text, err := os.ReadFile("../cases.json")
	require(t, err)
	require(t, strict(text, &file))
	return file
}
