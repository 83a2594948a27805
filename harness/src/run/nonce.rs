//! Makes a body unlike any the server may have cached, at the price of no longer being the
//! protocol's.

use serde_json::Value;

/// `body` with `nonce` and a blank before its first user message.
pub fn prefix(body: &str, nonce: &str) -> Result<String, String> {
    let mut body: Value = serde_json::from_str(body).map_err(|error| format!("body: {error}"))?;
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    let user = messages.into_iter().flatten().find(|message| message["role"] == "user");
    let text = match user.map(|message| &mut message["content"]) {
        Some(Value::Array(parts)) => {
            parts.iter_mut().find_map(|part| part.get_mut("text")).filter(|text| text.is_string())
        }
        other => other,
    };
    let Some(Value::String(text)) = text else {
        return Err("body: no user message with a text to put the nonce before".to_string());
    };
    *text = format!("{nonce} {text}");
    serde_json::to_string(&body).map_err(|error| format!("body: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        assert_eq!(prefix(body, "N").unwrap_or_else(|error| error), expected);
    }

    #[test]
    fn bodies() {
        check(
            r#"{"messages":[{"role":"tool","content":"s"},{"role":"user","content":"u"}],"n":1}"#,
            r#"{"messages":[{"role":"tool","content":"s"},{"role":"user","content":"N u"}],"n":1}"#,
        );
        check(
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"u"}]}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"N u"}]}]}"#,
        );
        check("{}", "body: no user message with a text to put the nonce before");
        check("{", "body: EOF while parsing an object at line 1 column 1");
    }
}
