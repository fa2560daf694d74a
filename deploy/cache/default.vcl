# Varnish (7.1) in front of the gateway, for crowds: deploy/README.md explains it. Copy this file to /etc/varnish and write the
# platform's host for status.example.com. A program in front of Varnish ends TLS and sends the PROXY protocol.
vcl 4.1;

import std;

backend gateway {
    .host = "127.0.0.1";
    .port = "8080";
    .connect_timeout = 1s;
    .first_byte_timeout = 75s;
    .between_bytes_timeout = 75s;
    .probe = {
        .url = "/healthz";
        .expected_response = 204;
        .interval = 1s;
        .timeout = 1s;
        .window = 2;
        .threshold = 1;
    }
}

sub vcl_recv {
    unset req.http.X-Dashboard;
    set req.http.X-Forwarded-For = client.ip; # not what the client sent
    set req.http.X-Forwarded-Proto = "http";
    if (std.port(server.ip) == 443) {
        set req.http.X-Forwarded-Proto = "https";
    }

    # Requests that go to the gateway unchanged and are never stored: other methods, visitors who entered a password, everything
    # on the platform's host that is not a dashboard, the legacy list (its clients read what they have just written), feeds with a key.
    if ((req.method != "GET" && req.method != "HEAD")
        || req.http.Cookie ~ "bellbuoy_entry="
        || (regsub(req.http.Host.lower(), ":.*$", "") == "status.example.com" && req.url !~ "^/d/") # a line for each host of the base URLs
        || req.url ~ "^[^?]*/api/v1/"
        || req.url ~ "^[^?]*\.(rss|atom|json|ics)\?(.*&)?key=") {
        return (pass);
    }

    # What selects a file: the host, the path, and for an unknown dashboard whether a browser asks. Varnish keeps the compressed file.
    set req.url = regsub(req.url, "\?.*$", "");
    set req.http.Host = regsub(req.http.Host, ":.*$", "");
    if (req.http.Accept ~ "text/html") {
        set req.http.Accept = "text/html";
    } else {
        unset req.http.Accept;
    }
    unset req.http.Authorization;
    unset req.http.Cookie;
    unset req.http.Traceparent;
    unset req.http.X-Request-Id;
    set req.http.X-Dashboard = req.http.Host.lower() + regsub(req.url, "^(/d/[^/]*)?.*$", "\1");

    # Older copies than these serve only while the gateway is down, or after it responded with 5xx (vcl_synth).
    set req.grace = 1s;
    if (req.restarts > 0 || !std.healthy(req.backend_hint)) {
        set req.grace = 24h;
    }
}

sub vcl_backend_fetch {
    if (!bereq.uncacheable) { # all visitors of the file wait for this one request
        set bereq.first_byte_timeout = 7s;
        set bereq.between_bytes_timeout = 7s;
    }
}

sub vcl_backend_response {
    if (bereq.uncacheable) {
        return (deliver);
    }
    if (beresp.status >= 500) {
        return (abandon); # vcl_synth looks for a copy
    }
    if (beresp.http.Cache-Control ~ "private") {
        ban("obj.http.X-Dashboard == " + bereq.http.X-Dashboard); # copies from before the dashboard became private
    }
    if (beresp.status == 308 || beresp.status == 405) { # Varnish stores these only if it is told to
        set beresp.ttl = std.duration(regsub(beresp.http.Cache-Control, "^.*s-maxage=([0-9]+).*$", "\1s"), 0s);
    }
    if (beresp.http.Cache-Control ~ "stale-if-error=") {
        set beresp.grace = std.duration(regsub(beresp.http.Cache-Control, "^.*stale-if-error=([0-9]+).*$", "\1s"), 0s);
    }
    set beresp.http.X-Dashboard = bereq.http.X-Dashboard;
    unset beresp.http.X-Request-Id;
}

sub vcl_backend_error {
    if (!bereq.uncacheable) {
        return (abandon);
    }
}

sub vcl_synth {
    if (resp.status == 503 && req.http.X-Dashboard && req.restarts == 0) {
        return (restart);
    }
    if (resp.status == 503) {
        set resp.http.Cache-Control = "no-store";
    }
}

sub vcl_deliver {
    unset resp.http.X-Dashboard;
}
