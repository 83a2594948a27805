//! The address of a server: plain http, a host, a port, and nothing that must not be published.

use std::fmt;
use std::net::IpAddr;

/// Where a server listens: `http://HOST:PORT` and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
}

impl BaseUrl {
    /// Reads an operator's URL; a trailing `/` or `/v1` is dropped, anything unusable is refused
    /// in words.
    pub fn parse(url: &str) -> Result<BaseUrl, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            let why = match url.split_once("://") {
                Some(("https", _)) => {
                    "https is not built in: measure on the server's own machine over http, or \
                     through a local tunnel"
                }
                _ => "it must begin with http://",
            };
            return Err(format!("url `{url}`: {why}"));
        };
        let authority = rest.trim_end_matches('/');
        let authority = authority.strip_suffix("/v1").unwrap_or(authority);
        if authority.contains('@') {
            return Err("url: a name or key before `@` would end up in reports; put it into an \
                        environment variable and name that with --credential-env"
                .to_string());
        }
        if authority.is_empty() || authority.contains(['/', '?', '#']) {
            return Err(format!("url `{url}`: give http://HOST:PORT, without a path"));
        }
        Ok(BaseUrl { text: format!("http://{authority}") })
    }

    /// Whether the server runs on this machine, so that its hardware can be looked at.
    pub fn is_local(&self) -> bool {
        is_loopback(&self.text["http://".len()..])
    }
}

/// Whether `HOST` or `HOST:PORT`, as in a URL, is this machine by its loopback address or by the
/// name `localhost`. Any other name may be anybody's.
pub fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|c| c.is_ascii_digit()) => host,
        _ => authority,
    };
    let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address: Result<IpAddr, _> = v6.unwrap_or(host).parse();
    host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Result<&str, &str>) {
        let found = BaseUrl::parse(url).map(|base| base.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{url}");
    }

    #[test]
    fn urls() {
        check("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080"));
        check("http://localhost:8080/v1/", Ok("http://localhost:8080"));
        check(
            "https://example.org",
            Err("url `https://example.org`: https is not built in: measure on the server's own \
                 machine over http, or through a local tunnel"),
        );
        check("localhost:1", Err("url `localhost:1`: it must begin with http://"));
        check("http://", Err("url `http://`: give http://HOST:PORT, without a path"));
        check("http://a/b", Err("url `http://a/b`: give http://HOST:PORT, without a path"));
        let error = BaseUrl::parse("http://me:hunter2@a:1").unwrap_err();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn only_loopback_is_local() {
        for (url, local) in [
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("http://127.255.0.1", true),
            ("http://[::1]", true),
            ("http://[::ffff:127.0.0.1]:1", true),
            ("http://10.0.0.1:1", false),
            ("http://localhost.example:1", false),
            ("http://127.evil.example:1", false),
            ("http://127.0.0.1.evil.example", false),
            ("http://[::2]:1", false),
            ("http://[::1:1", false),
            ("http://:1", false),
        ] {
            assert_eq!(BaseUrl::parse(url).unwrap().is_local(), local, "{url}");
        }
    }
}
