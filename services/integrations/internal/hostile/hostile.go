// Package hostile lists URLs that no endpoint may have. The tests of the domain and of its interface share the list.
package hostile

import "strings"

// URLs returns the URLs.
func URLs() []string {
	return []string{
		// not an absolute https URL
		"", "/hook", "hooks.example.com/hook", "//hooks.example.com/hook", "http://hooks.example.com/hook", "HTTP://hooks.example.com/",
		"ftp://hooks.example.com/", "file:///etc/passwd", "javascript:alert(1)", "gopher://127.0.0.1:6379/_", "https:", "https:/", "https://", "https:///hook",
		"https:hooks.example.com", "https:/hooks.example.com/", "httpss://hooks.example.com/", "https://?x=1", "https://#x", "https://:443/",
		// ports
		"https://hooks.example.com:80/", "https://hooks.example.com:8443/", "https://hooks.example.com:/", "https://hooks.example.com:0443/",
		"https://hooks.example.com:+443/", "https://hooks.example.com:443:443/", "https://hooks.example.com:https/", "https://8.8.8.8:22/", "https://[2606:4700::1111]:8443/",
		// credentials
		"https://user@hooks.example.com/", "https://user:pass@hooks.example.com/", "https://@hooks.example.com/", "https://hooks.example.com@127.0.0.1/",
		"https://127.0.0.1:443@hooks.example.com/", "https://hooks.example.com:443@localhost/",
		// characters
		" https://hooks.example.com/", "https://hooks.example.com/ ", "https://hooks.example.com/a b", "https://hooks.example.com/\t", "https://hooks.example.com/\n",
		"https://hooks.example.com/\r\nX: y", "https://hooks.example.com\x00.evil.com/", "https://hooks.example.com/\x7f", `https://hooks.example.com\@127.0.0.1/`,
		`https:\\hooks.example.com\hook`, "https://hooks.example.com/%zz", "https://hooks.example.com/%", "https://hooks.example.com/ü", "https://hooks.example.com/?q=ü",
		"https://%6c%6f%63%61%6c%68%6f%73%74/", "https://hooks%2eexample%2ecom/", "https://hooks.example.com%00/", "https://hooks.example.com%2f@x/", "https://hooks_1.example.com/", "https://hooks,example.com/",
		// names that are not public
		"https://localhost/", "https://LOCALHOST/", "https://localhost./", "https://app.localhost/", "https://localhost.localdomain/", "https://router.local/",
		"https://metadata.google.internal/computeMetadata/v1/", "https://intranet/", "https://hooks.example.com./", "https://hooks..example.com/", "https://.example.com/",
		// addresses that are not public
		"https://127.0.0.1/", "https://127.0.0.1:443/", "https://127.255.255.254/", "https://0.0.0.0/", "https://10.1.2.3/", "https://172.16.0.1/", "https://172.31.255.255/",
		"https://192.168.1.1/", "https://169.254.169.254/latest/meta-data/", "https://100.64.0.1/", "https://100.100.100.200/", "https://168.63.129.16/", "https://192.0.0.192/",
		"https://192.0.2.1/", "https://198.18.0.1/", "https://198.51.100.1/", "https://203.0.113.1/", "https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/",
		// other spellings of addresses
		"https://2130706433/", "https://134744072/", "https://0x7f000001/", "https://0X7F.0.0.1/", "https://017700000001/", "https://0177.0.0.1/", "https://0177.0.0.01/",
		"https://127.1/", "https://127.0.1/", "https://10.1/", "https://0/", "https://0x7f.1/", "https://127.0.0.1./", "https://127.0.0.0x1/", "https://1.2.3.4.5/", "https://256.256.256.256/",
		"https://１２７.0.0.1/", "https://127。0。0。1/", "https://①②⑦.0.0.1/", "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
		// IPv6 and what hides in it
		"https://[::1]/", "https://[::]/", "https://[0:0:0:0:0:0:0:1]:443/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://[::ffff:a9fe:a9fe]/", "https://[::127.0.0.1]/",
		"https://[::ffff:0:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[64:ff9b::169.254.169.254]/", "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::1]/", "https://[2002:a9fe:a9fe::1]/",
		"https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/",
		"https://[fec0::1]/", "https://[ff02::1]/", "https://[2001:db8::1]/", "https://[2606:4700::5efe:7f00:1]/", "https://[127.0.0.1]/", "https://[::1/", "https://::1/", "https://[]/", "https://[v1.x]/", "https://[::1]x/",
		// public addresses
		"https://8.8.8.8/", "https://1.1.1.1:443/hook", "https://[2606:4700::1111]/", "https://[2606:4700:0:0::1111]:443/", "https://134744072:443/", "https://010.8.8.8/", "https://8.8.8.8./",
		"https://8.526344/", "https://0x8.0x8.0x8.0x8/", "https://[::ffff:8.8.8.8]/", "https://[64:ff9b::808:808]/", "https://[2001:4860:4860::8888]/", "https://8.8.8.8#x/", "https://8.8.8.8?x",
		// names that are not ASCII, or no valid names in ASCII
		"https://b\u00fccher.example/", "https://\u0435xample.com/", "https://example\u3002com/", "https://exam\u00adple.com/", "https://ex\u200bample.com/", "https://\uff45xample.com/",
		"https://xn--0.example.com/", "https://xn--/", "https://xn--.example.com/", "https://xn--a.example.com/", "https://XN--A.example.com/", "https://-hooks.example.com/", "https://hooks-.example.com/",
		"https://" + strings.Repeat("a", 64) + ".example.com/", "https://" + strings.Repeat("a.", 127) + "example.com/", "https://*.example.com/", "https://hooks.example.com;x/", "https://hooks.example.com&x/",
		"https://hooks.example.com/" + strings.Repeat("x", 2048),
	}
}
