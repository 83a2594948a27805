//! The address of a server: plain http, a host, a port, and nothing that must not be published.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// Longest name of a host, in bytes (RFC 1035, section 2.3.4, without its length bytes).
const MAX_NAME: usize = 253;

/// Where a server listens: `http://HOST:PORT` and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
}

impl BaseUrl {
    /// Reads an operator's URL; a trailing `/` or `/v1` is dropped, anything unusable is refused
    /// in words.
    pub fn parse(url: &str) -> Result<BaseUrl, String> {
        if url.contains('@') {
            return Err("url: a name or key before `@` would end up in reports; put it into an \
                        environment variable and name that with --credential-env"
                .to_string());
        }
        let authority = url.strip_prefix("http://").map(|rest| {
            let authority = rest.trim_end_matches('/');
            authority.strip_suffix("/v1").unwrap_or(authority)
        });
        let problem = match authority {
            Some(authority) => match problem(authority) {
                None => return Ok(BaseUrl { text: format!("http://{authority}") }),
                Some(problem) => problem,
            },
            None if url.starts_with("https://") => {
                "https is not built in: measure on the server's own machine over http, or through \
                 a local tunnel"
                    .to_string()
            }
            None => "it must begin with http://".to_string(),
        };
        Err(format!("url `{}`: {problem}", url.escape_debug()))
    }

    /// Whether the server runs on this machine, so that its hardware can be looked at.
    pub fn is_local(&self) -> bool {
        is_loopback(&self.text["http://".len()..])
    }
}

/// Why nobody can be reached at `HOST` or `HOST:PORT`, if so.
fn problem(authority: &str) -> Option<String> {
    const FORM: &str = "give http://HOST:PORT";
    if let Some(mark) = authority.chars().find(|c| matches!(c, '/' | '?' | '#')) {
        let part = if mark == '/' { "path" } else { "query or fragment" };
        return Some(format!("{FORM}, without a {part}"));
    }
    let v6_end = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let (host, port) = match authority[v6_end..].find(':') {
        Some(colon) => (&authority[..v6_end + colon], Some(&authority[v6_end + colon + 1..])),
        None => (authority, None),
    };
    if host.is_empty() {
        return Some(format!("it names no host; {FORM}"));
    }
    let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let named = host.len() <= MAX_NAME && host.chars().all(in_name);
    if !v6.map_or(named, |v6| v6.parse::<Ipv6Addr>().is_ok()) {
        return Some(format!(
            "`{}` is not a host; give a name of letters, digits, `-` and `.`, an IPv4 address, or \
             an IPv6 address in brackets",
            host.escape_debug()
        ));
    }
    let digits = |port: &str| port.bytes().all(|c| c.is_ascii_digit());
    let usable = |port: &str| digits(port) && port.parse().is_ok_and(|port: u16| port > 0);
    match port {
        Some(port) if !usable(port) => {
            Some(format!("port `{}` is not one of 1 to 65535", port.escape_debug()))
        }
        _ => None,
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
        check("", Err("url ``: it must begin with http://"));
        check("HTTP://a:1", Err("url `HTTP://a:1`: it must begin with http://"));
        check("ftp://a:1", Err("url `ftp://a:1`: it must begin with http://"));
        for url in ["http://", "http://:80", "http:///", "http:///v1"] {
            let expected = format!("url `{url}`: it names no host; give http://HOST:PORT");
            check(url, Err(&expected));
        }
        for (part, urls) in [
            ("path", ["http://a/b", "http://a:1/v1/chat"]),
            ("query or fragment", ["http://a:1?k=v", "http://a#f"]),
        ] {
            for url in urls {
                let expected = format!("url `{url}`: give http://HOST:PORT, without a {part}");
                check(url, Err(&expected));
            }
        }
        for port in ["", "0", "65536", "99999", "-1", "+1", "8080x", "1:2", " 1"] {
            let url = format!("http://127.0.0.1:{port}");
            let expected = format!("url `{url}`: port `{port}` is not one of 1 to 65535");
            check(&url, Err(&expected));
        }
        check("http://[::1]:65535", Ok("http://[::1]:65535"));
        check("http://my_host.example", Ok("http://my_host.example"));
        for host in ["a b", "[::1", "::1]", "[1.2.3.4]", "[]", "h\u{e9}", "a\n", "a%20b", "*"] {
            let error = BaseUrl::parse(&format!("http://{host}:1")).unwrap_err();
            assert!(error.contains("` is not a host; ") && !error.contains('\n'), "{error}");
        }
        for url in ["http://me:hunter2@a:1", "https://me:hunter2@a", "me:hunter2@a"] {
            let error = BaseUrl::parse(url).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
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
        ] {
            assert_eq!(BaseUrl::parse(url).unwrap().is_local(), local, "{url}");
        }
    }
}
