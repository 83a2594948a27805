//! An answer and its bytes. It knows no sockets and no routes.

use crate::server::openai::ApiError;
use serde_json::Value;
use std::fmt::Write;

/// A whole answer; the body is JSON.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) struct Response {
    pub(in crate::server) status: u16,
    pub(in crate::server) headers: Vec<(&'static str, &'static str)>,
    pub(in crate::server) body: String,
}

impl Response {
    pub(in crate::server) fn json(body: &Value) -> Response {
        Response { status: 200, headers: Vec::new(), body: body.to_string() }
    }

    /// An error, with the headers its status asks for.
    pub(in crate::server) fn error(error: &ApiError) -> Response {
        let headers = match error.status {
            401 => vec![("www-authenticate", "Bearer")],
            503 => vec![("retry-after", "1")],
            _ => Vec::new(),
        };
        Response { status: error.status, headers, body: error.to_json().to_string() }
    }

    /// Head and body, or the head alone, which announces the body it would have.
    pub(super) fn bytes(&self, head_only: bool, keep_alive: bool) -> String {
        let length = self.body.len().to_string();
        let mut fields = vec![("content-type", "application/json"), ("content-length", &length)];
        fields.extend(&self.headers);
        let mut bytes = head(self.status, &fields, keep_alive);
        if !head_only {
            bytes += &self.body;
        }
        bytes
    }
}

/// The head of an answer, up to its empty line.
pub(super) fn head(status: u16, fields: &[(&str, &str)], keep_alive: bool) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    let now = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&jiff::Timestamp::now());
    let date = now.as_deref().ok().map(|now| ("date", now));
    let close = (!keep_alive).then_some(("connection", "close"));
    for (name, value) in fields.iter().copied().chain(date).chain(close) {
        // Writing to a String does not fail.
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head + "\r\n"
}

/// The phrase of RFC 9110, 15, for the statuses this server sends.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_announce_the_body_and_the_end() {
        let error = ApiError::new(503, "queue_full", "later");
        let check = |head_only, keep_alive, want: &str| {
            let bytes = Response::error(&error).bytes(head_only, keep_alive);
            let lines: Vec<&str> = bytes.lines().filter(|l| !l.starts_with("date: ")).collect();
            assert_eq!(lines.len() + 1, bytes.lines().count(), "{bytes}");
            assert_eq!(lines.join("|"), want);
        };
        let body = error.to_json().to_string();
        let head = format!(
            "HTTP/1.1 503 Service Unavailable|content-type: application/json|content-length: {}|\
             retry-after: 1|",
            body.len()
        );
        check(false, true, &format!("{head}|{body}"));
        check(true, true, &head);
        check(false, false, &format!("{head}connection: close||{body}"));
    }
}
