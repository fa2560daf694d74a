package document

import "github.com/bellbuoy/bellbuoy/libs/document/internal/engine"

// Format is the number of the form in which this program stores data: the records of all services, the tables and
// indexes of their databases, and the files of a data folder. Each database and each data folder stores the number of
// the newest program that has used it: as user_version of SQLite, in the document formatKey of MongoDB, in the file
// named "format" of the folder. If none is stored, the number is 0. A program does not start with data that have a higher
// number than its own.
//
// Raise Format in the commit after which the program may store data that the program before that commit cannot read, or
// that it would drop or change when it writes a record again. A new field that the former program ignores without harm
// needs no new number: the former program then works after a rollback. Run scripts/old-data for the commit before that
// one.
const Format = engine.Format

// CheckFormat returns an error that names place if stored, the format of the data there, is higher than Format.
func CheckFormat(place string, stored int) error { return engine.CheckFormat(place, stored) }
