// Package engines is what stands in for Kafka and Redis when the platform is one
// process: franz-go's broker kfake on a data folder, and miniredis in memory. They
// speak the real protocols on a local address, so that everything above them is the
// code that runs against the real ones.
//
// Both were made for tests; what they need to carry a small installation was decided
// here:
//
//   - The broker writes synced: a record that was acknowledged, a committed offset and
//     a topic survive kill -9 and loss of power. It restarts by reading all it has, so
//     what it has is kept small (see trim.go): small segments, and records go once every
//     group has committed them and an hour has passed, or after seven days.
//   - Its own retention is not used: it may empty a partition, and an empty partition
//     begins again at offset 0 after a restart, below what its groups have committed.
//   - It remembers group members over a clean stop, as a broker beside its clients would;
//     here they went with the process, and a group would wait for them until they
//     time out. That memory is removed at the start; after a kill there is none.
//   - miniredis lets no time pass by itself: a clock ages its keys every 200 ms. Its
//     own way to do that (ClockTTL) sorts all keys with each command.
//   - Redis keeps nothing over a restart, which is what the services expect of it.
package engines
