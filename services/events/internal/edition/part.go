package edition

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bellbuoy/bellbuoy/libs/fault"
)

// Part is a stored part of the editions of a dashboard: the head of one edition, the events of a chunk, or the days of
// the components on one date. Several editions may share a chunk or days. The id of the head is the id of the edition.
// Parts never change.
//
// Decision. An edition is several records, because MongoDB refuses a record of more than 16 MiB, and because a write
// then encodes and stores only the parts that it changes. Head and parts are stored in one collection, so that a write
// needs one operation.
type Part struct {
	ID          string    `json:"id"` // uuid v7
	DashboardID string    `json:"dashboardId"`
	CreatedAt   time.Time `json:"createdAt"`
	// Number is the number of the edition; 0: the part is not a head.
	Number int64     `json:"number"`
	Chunks []string  `json:"chunks"` // ids of the parts with the chunks, in their order; only in a head
	Days   []DayPart `json:"days"`   // the parts with the days, the oldest first; only in a head
	// Body is gzipped JSON. In a head it is the State without the days of its components, in a chunk it is the events,
	// and in a day it is the uptime.AffectedDay of each affected component, by id.
	Body []byte `json:"body"`
}

// DayPart is the id of the part with the days of all components on a date.
type DayPart struct {
	Date string `json:"date"` // yyyy-mm-dd
	ID   string `json:"id"`
}

// File is a rendered file in all of its content codings.
type File struct {
	Name    string   `json:"name"`   // the path below the dashboard's address
	Media   string   `json:"media"`  // Content-Type
	Policy  string   `json:"policy"` // Content-Security-Policy; empty: none
	Codings []Coding `json:"codings"`
}

// Coding is a file in a content coding.
type Coding struct {
	Name string `json:"name"` // identity, gzip or br
	Body []byte `json:"body"`
	ETag string `json:"etag"` // strong
}

// In returns the file in a content coding, and whether the file has this coding.
func (f *File) In(coding string) (Coding, bool) {
	for _, c := range f.Codings {
		if c.Name == coding {
			return c, true
		}
	}
	return Coding{}, false
}

// StoredFile is the record of a rendered file. It is stored at the first request of the file and deleted with its
// edition.
//
// Decision. Files are stored, and not only cached in memory, so that they are not rendered again after a restart. If
// two processes render a file at the same time, the file that is stored first is used. Visitors cannot fill the store:
// a file is deleted with its edition, and the number of files is limited by the events, months and components of the
// dashboard.
type StoredFile struct {
	EditionID   string    `json:"editionId"`
	DashboardID string    `json:"dashboardId"`
	CreatedAt   time.Time `json:"createdAt"`
	File        File      `json:"file"`
}

// Key returns the key of the record.
func (f *StoredFile) Key() string { return f.EditionID + "/" + f.File.Name }

func noFile() error { return fault.New(fault.NotFound, "The dashboard has no such file.") }

// uses returns the ids of the parts that a head names: the chunks, then the days.
func (p *Part) uses() []string {
	ids := slices.Clone(p.Chunks)
	for _, day := range p.Days {
		ids = append(ids, day.ID)
	}
	return ids
}

// zippers is a pool of gzip writers, because a new one allocates a megabyte.
var zippers = sync.Pool{New: func() any {
	zip, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for an unknown level
	return zip
}}

func pack(value any) ([]byte, error) {
	var out bytes.Buffer
	zip := zippers.Get().(*gzip.Writer)
	defer zippers.Put(zip)
	zip.Reset(&out)
	if err := errors.Join(json.NewEncoder(zip).Encode(value), zip.Close()); err != nil {
		return nil, fmt.Errorf("encode an edition: %w", err)
	}
	return out.Bytes(), nil
}

func unpack(body []byte, value any) error {
	zip, err := gzip.NewReader(bytes.NewReader(body))
	if err == nil {
		err = json.NewDecoder(zip).Decode(value)
	}
	if err != nil {
		return fmt.Errorf("decode an edition: %w", err)
	}
	return nil
}
