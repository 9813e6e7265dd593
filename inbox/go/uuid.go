package inbox

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"
)

// UUID is 16 bytes. pgx and database/sql pass it as PostgreSQL's type uuid.
type UUID [16]byte

var uuidForm = regexp.MustCompile(
	`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// ParseUUID reads the form of RFC 9562, in either case.
func ParseUUID(text string) (UUID, error) {
	var id UUID
	if !uuidForm.MatchString(text) {
		return id, argument(fmt.Sprintf("%q is not a UUID", text))
	}
	_, err := hex.Decode(id[:], []byte(text[:8]+text[9:13]+text[14:18]+text[19:23]+text[24:]))
	return id, err
}

// String returns the form of RFC 9562, in lower case.
func (id UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// IsZero says whether it is the zero UUID, which this package takes for none.
func (id UUID) IsZero() bool { return id == UUID{} }

// MarshalText and UnmarshalText make it a string in JSON.
func (id UUID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *UUID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseUUID(string(text))
	return err
}

// Value implements driver.Valuer.
func (id UUID) Value() (driver.Value, error) { return id.String(), nil }

// Scan implements sql.Scanner.
func (id *UUID) Scan(source any) error {
	text, ok := source.(string)
	if !ok {
		return fmt.Errorf("inbox: %T is not a UUID", source)
	}
	return id.UnmarshalText([]byte(text))
}

// FingerprintOf makes a fingerprint of what came with a key: the first 16 bytes of its SHA-256.
func FingerprintOf[T ~string | ~[]byte](content T) UUID {
	sum := sha256.Sum256([]byte(content))
	return UUID(sum[:16])
}

// NewUUID7 mints a key that carries its time (RFC 9562, version 7).
func NewUUID7() UUID {
	id := newUUID()
	now := uint64(time.Now().UnixMilli())
	binary.BigEndian.PutUint32(id[:4], uint32(now>>16))
	binary.BigEndian.PutUint16(id[4:6], uint16(now))
	id[6] = id[6]&0x0f | 0x70
	return id
}

// MintedAtOfUUID7 returns when a UUID of version 7 was minted, and false for any other key. Refuse
// a key without a time, where keys are to have one: it would be taken again after the retention.
func MintedAtOfUUID7(key string) (time.Time, bool) {
	id, err := ParseUUID(key)
	if err != nil || id[6]>>4 != 7 || id[8]>>6 != 2 {
		return time.Time{}, false
	}
	milliseconds := binary.BigEndian.Uint64(append([]byte{0, 0}, id[:6]...))
	return time.UnixMilli(int64(milliseconds)).UTC(), true
}

// newUUID makes a random UUID (version 4).
func newUUID() UUID {
	var id UUID
	// It never fails: Go ends the program if the system has no random bytes.
	rand.Read(id[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}
