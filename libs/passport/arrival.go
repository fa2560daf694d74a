package passport

import (
	"encoding/json"
	"net/http"
)

// arrivalHeader is the name of the header with an Arrival. Clients cannot send it, see HeaderPrefix.
const arrivalHeader = HeaderPrefix + "Arrival"

// Arrival describes a request as the gateway received it, and the gateway. The gateway sends an Arrival with requests to the
// page Setup of the console. The page compares the Arrival with the settings. An Arrival is not part of the passport, because
// the gateway sends the same passport with many requests.
type Arrival struct {
	Scheme  string // https or http; a trusted proxy's X-Forwarded-Proto has priority
	Host    string // host that the request names
	Client  string // address of the client; behind trusted proxies from X-Forwarded-For
	Peer    string // address of the other end of the connection: the client, or the last proxy
	Trusted bool   // Peer is in BELLBUOY_TRUSTED_PROXIES

	ForwardedFor   bool   // the request has X-Forwarded-For or Forwarded, which a proxy or the client has added
	ForwardedProto string // http or https, if X-Forwarded-Proto says so
	Version        string // version of the gateway
	RedisDown      bool   // the gateway cannot reach Redis
}

// Set adds the header to a request.
func (a Arrival) Set(header http.Header) {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // cannot happen: a consists of strings and booleans
	}
	header.Set(arrivalHeader, string(text))
}

// ArrivalOf returns the Arrival in the header of a request, and false if the header contains none. The request must have a
// valid passport, because only the gateway then can have sent the Arrival.
func ArrivalOf(header http.Header) (a Arrival, sent bool) {
	err := json.Unmarshal([]byte(header.Get(arrivalHeader)), &a)
	return a, err == nil
}
