//! The head of a request: bytes into checked data. httparse splits it into lines; what they mean
//! together follows RFC 9112, and where two readings are possible the request is refused, because
//! two readings are how one request hides in another. It knows no sockets and no routes.

use crate::server::openai::ApiError;

/// A head that can be acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    /// The path without scheme, host, query and trailing slashes.
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) framing: Framing,
    /// HTTP/1.0 knows no chunks, no interim answers and, here, no second request.
    pub(super) http_1_0: bool,
    /// Whether the client would send another request on this connection.
    pub(super) keep_alive: bool,
    /// Whether the client waits for a word before it sends the body.
    pub(super) expects_continue: bool,
}

/// How the end of the body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes; 0 where nothing is announced.
    Length(u64),
    Chunked,
}

impl Head {
    /// The head at the start of `bytes` and its length in bytes, `None` while it is incomplete.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, ApiError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let too_large = |what: String| Err(ApiError::new(431, "head_too_large", what));
        let bytes_max = || format!("the head of the request is larger than {HEAD_MAX_BYTES} bytes");
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(len)) if len <= HEAD_MAX_BYTES => {
                Ok(Some((Head::check(&request)?, len)))
            }
            Ok(httparse::Status::Partial) if bytes.len() <= HEAD_MAX_BYTES => Ok(None),
            Ok(_) => too_large(bytes_max()),
            Err(httparse::Error::TooManyHeaders) => {
                too_large(format!("the request has more than {HEADERS_MAX} headers"))
            }
            Err(httparse::Error::Version) => {
                let message = "this server speaks HTTP/1.1 and HTTP/1.0, without TLS";
                Err(ApiError::new(505, "http_version", message))
            }
            Err(error) => Err(invalid(format!("this is no HTTP request: {error}"))),
        }
    }

    fn check(request: &httparse::Request<'_, '_>) -> Result<Head, ApiError> {
        let headers: Vec<(String, String)> = request
            .headers
            .iter()
            .map(|header| (header.name.into(), String::from_utf8_lossy(header.value).into_owned()))
            .collect();
        let all = |name: &str| -> Vec<&str> { values(&headers, name).collect() };
        let listed = |name: &str, token: &str| {
            let mut tokens = values(&headers, name).flat_map(|value| value.split(','));
            tokens.any(|listed| listed.trim().eq_ignore_ascii_case(token))
        };
        let http_1_0 = request.version == Some(0);
        match all("host")[..] {
            [host] if host.bytes().all(in_host) => {}
            [_] => return Err(invalid("the Host header holds what no host name and port do")),
            [] if http_1_0 => {}
            [] => return Err(invalid("an HTTP/1.1 request has a Host header")),
            ref several => {
                let count = several.len();
                return Err(invalid(format!("{count} Host headers where there may be one")));
            }
        }
        Ok(Head {
            method: request.method.unwrap_or_default().into(),
            path: plain_path(request.path.unwrap_or_default()).into(),
            framing: framing(&all("content-length"), &all("transfer-encoding"), http_1_0)?,
            http_1_0,
            keep_alive: !http_1_0 && !listed("connection", "close"),
            expects_continue: !http_1_0 && listed("expect", "100-continue"),
            headers,
        })
    }

    /// The first header of this name, in any case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        values(&self.headers, name).next()
    }
}

fn values<'h>(headers: &'h [(String, String)], name: &str) -> impl Iterator<Item = &'h str> {
    headers
        .iter()
        .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

/// What a host and a port are written with (RFC 3986, 3.2).
fn in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte)
}

/// RFC 9112, 6.1 to 6.3, at its strictest: one framing, said once.
fn framing(lengths: &[&str], codings: &[&str], http_1_0: bool) -> Result<Framing, ApiError> {
    match (lengths, codings) {
        ([], []) => Ok(Framing::Length(0)),
        ([length], []) if !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit()) => {
            // More than a u64 holds is more than any limit allows.
            Ok(Framing::Length(length.parse().unwrap_or(u64::MAX)))
        }
        ([length], []) => Err(invalid(format!("content-length {length:?} is not a number"))),
        (lengths, []) => {
            Err(invalid(format!("{} Content-Length headers where there may be one", lengths.len())))
        }
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") && !http_1_0 => {
            Ok(Framing::Chunked)
        }
        ([], _) if http_1_0 => Err(invalid("HTTP/1.0 has no Transfer-Encoding")),
        ([], codings) => {
            let codings = codings.join(", ");
            let message = format!("transfer-encoding {codings:?}: only \"chunked\" is understood");
            Err(ApiError::new(501, "transfer_encoding", message))
        }
        _ => Err(invalid("Content-Length and Transfer-Encoding together: send one of them")),
    }
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(400, "invalid_request", message)
}

/// The path of a target in origin form (`/path?query`) or absolute form (`http://host/path`).
fn plain_path(target: &str) -> &str {
    let absolute = target.split_once("://").filter(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    let target = match absolute {
        Some((_, rest)) => rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]),
        None => target,
    };
    let path = target.split(['?', '#']).next().unwrap_or_default();
    match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}

/// Largest head; what common servers take lies between 8 and 64 KiB.
const HEAD_MAX_BYTES: usize = 32 << 10;

/// Most headers of one request.
const HEADERS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn parsed(head: &str) -> Result<Head, ApiError> {
        Head::parse(head.as_bytes()).map(|head| head.expect("the head is whole").0)
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_head_or_a_refusal(bytes in vec(any::<u8>(), 0..600)) {
            if let Ok(Some((_, len))) = Head::parse(&bytes) {
                prop_assert!(len <= bytes.len());
            }
        }

        #[test]
        fn a_head_is_whole_at_its_last_byte_and_not_before(
            names in vec("[A-Za-z-]{1,12}", 0..6),
            value in "[ -~]{0,20}",
            body in vec(any::<u8>(), 0..20),
        ) {
            let mut head = "POST /v1/x?y HTTP/1.1\r\nHost: h\r\n".to_owned();
            for name in names {
                head += &format!("x{name}: {value}\r\n");
            }
            head += "\r\n";
            for len in 0..head.len() {
                prop_assert_eq!(Head::parse(&head.as_bytes()[..len]), Ok(None));
            }
            let whole = Head::parse(head.as_bytes()).unwrap().unwrap();
            prop_assert_eq!(whole.1, head.len());
            let followed = [head.as_bytes(), &body].concat();
            prop_assert_eq!(Head::parse(&followed), Ok(Some(whole)));
        }
    }

    #[test]
    fn the_framing_has_one_reading() {
        let check = |lines: &str, want: Result<Framing, u16>| {
            let head = format!("POST / HTTP/1.1\r\nHost: h\r\n{lines}\r\n");
            let got = parsed(&head).map(|head| head.framing).map_err(|error| error.status);
            assert_eq!(got, want, "{lines:?}");
        };
        check("", Ok(Framing::Length(0)));
        check("Content-Length: 17\r\n", Ok(Framing::Length(17)));
        check("content-length: 007\r\n", Ok(Framing::Length(7)));
        check("Content-Length: 99999999999999999999999\r\n", Ok(Framing::Length(u64::MAX)));
        check("Content-Length: \r\n", Err(400));
        check("Content-Length: +5\r\n", Err(400));
        check("Content-Length: -5\r\n", Err(400));
        check("Content-Length: 5, 5\r\n", Err(400));
        check("Content-Length: 0x5\r\n", Err(400));
        check("Content-Length: 5\r\nContent-Length: 5\r\n", Err(400));
        check("Content-Length: 5\r\nContent-Length: 6\r\n", Err(400));
        check("Transfer-Encoding: Chunked\r\n", Ok(Framing::Chunked));
        check("Transfer-Encoding: gzip, chunked\r\n", Err(501));
        check("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Err(501));
        check("Transfer-Encoding: identity\r\n", Err(501));
        check("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Err(400));
        check("Content-Length : 5\r\n", Err(400));
        check("A: b\r\n c: d\r\n", Err(400));
        let old = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(parsed(old).unwrap_err().status, 400);
    }

    #[test]
    fn what_is_no_request_says_so() {
        let check = |bytes: &[u8], status: u16| {
            assert_eq!(Head::parse(bytes).unwrap_err().status, status, "{bytes:?}");
        };
        check(b"nonsense\r\n\r\n", 400);
        check(b"\x16\x03\x01\x02\x00\x01\x00\x01", 400);
        check(b"GET / HTTP/2.0\r\n\r\n", 505);
        check(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
        check(b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 400);
        check(b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400);
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(HEAD_MAX_BYTES));
        check(long.as_bytes(), 431);
        let long =
            format!("GET / HTTP/1.1\r\nhost: h\r\na: {}\r\n\r\n", "a".repeat(HEAD_MAX_BYTES));
        check(long.as_bytes(), 431);
        let many = format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(HEADERS_MAX + 1));
        check(many.as_bytes(), 431);
    }

    #[test]
    fn hosts_are_one_and_plausible() {
        let check = |lines: &str, want: bool| {
            let head = parsed(&format!("GET / HTTP/1.1\r\n{lines}\r\n"));
            assert_eq!(head.map_err(|error| error.status).err(), (!want).then_some(400), "{lines}");
        };
        check("Host: localhost:8080\r\n", true);
        check("Host: [::1]:80\r\n", true);
        check("Host: my_service\r\n", true);
        check("Host:\r\n", true);
        check("", false);
        check("Host: a\r\nHost: a\r\n", false);
        check("Host: a b\r\n", false);
        check("Host: a/b\r\n", false);
        check("Host: u@h\r\n", false);
    }

    #[test]
    fn connections_end_when_either_side_says_so() {
        let check = |version: &str, lines: &str, want: bool| {
            let head = parsed(&format!("GET / HTTP/{version}\r\nHost: h\r\n{lines}\r\n")).unwrap();
            assert_eq!(head.keep_alive, want, "{version} {lines:?}");
        };
        check("1.1", "", true);
        check("1.1", "Connection: keep-alive\r\n", true);
        check("1.1", "Connection: Close\r\n", false);
        check("1.1", "Connection: te, close\r\n", false);
        check("1.1", "Connection: te\r\nConnection: close\r\n", false);
        check("1.0", "Connection: keep-alive\r\n", false);
    }

    #[test]
    fn paths_lose_host_query_and_trailing_slash() {
        let check = |target, want| assert_eq!(plain_path(target), want, "{target}");
        check("/v1/models", "/v1/models");
        check("/v1/models/", "/v1/models");
        check("/v1/chat/completions?api-version=1", "/v1/chat/completions");
        check("/v1/models/?a=/b/", "/v1/models");
        check("/", "/");
        check("", "/");
        check("?x", "/");
        check("*", "*");
        check("//v1/models", "//v1/models");
        check("http://localhost:80/v1/models?x", "/v1/models");
        check("HTTP://h", "/");
        check("https://h?x", "/");
        check("/a://b", "/a://b");
    }
}
