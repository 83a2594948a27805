//! Chat templates against Jinja2 (golden/templates), and what no template and no user can do.

use super::*;
use crate::gguf::testing::Builder;
use crate::gguf::{Bytes, File};
use crate::text::tokenizer::testing::{SMALL, STORIES};
use proptest::prelude::*;
use serde_json::json;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/templates");

pub(super) fn template(source: &str) -> ChatTemplate {
    let builder = Builder::new().key("tokenizer.chat_template", source);
    let file = File::parse(Bytes::from(builder.build())).expect("the builder writes valid files");
    ChatTemplate::from_metadata(file.metadata()).expect("a text")
}

/// A record of golden/templates as a request.
fn request(conversation: &Value) -> ChatRequest {
    ChatRequest {
        messages: conversation["messages"].as_array().expect("a list").clone(),
        tools: conversation.get("tools").cloned(),
        kwargs: conversation["kwargs"].as_object().cloned().unwrap_or_default(),
        now: Some(1_796_058_309), // 2026-11-30 17:05:09
    }
}

#[test]
fn renders_are_jinja2s_byte_for_byte() {
    let read = |name: &str| std::fs::read_to_string(format!("{GOLDEN}/{name}")).expect("a file");
    let conversations: Vec<Value> =
        serde_json::from_str(&read("conversations.json")).expect("a list");
    for line in read("renders.jsonl").lines() {
        let golden: Value = serde_json::from_str(line).expect("a render a line");
        let conversation = conversations.iter().find(|c| c["name"] == golden["conversation"]);
        let template = template(&read(golden["template"].as_str().expect("a name")));
        let found = template.render(&request(conversation.expect("it is there")), &SMALL);
        let place = format!("{} {}", golden["template"], golden["conversation"]);
        match golden.get("text") {
            Some(text) => assert_eq!(found.map(Value::from).as_ref(), Ok(text), "{place}"),
            None => {
                let message = found.expect_err(&place).to_string();
                // Jinja2 words its own errors its own way; what a template raises is passed on.
                let raised = golden["template"] == "t1.jinja";
                let expected = golden["error"].as_str().expect("an error").to_owned();
                assert!(!raised || message.contains(&expected), "{place}: {message}");
            }
        }
    }
}

pub(super) fn user(content: &str) -> ChatRequest {
    let messages = vec![json!({"role": "user", "content": content})];
    ChatRequest { messages, ..ChatRequest::default() }
}

fn check_refused(source: &str, request: &ChatRequest, message: &str) {
    let template = template(source);
    let refused = Error::Input(message.to_owned());
    assert_eq!(template.render(request, &SMALL), Err(refused.clone()), "{source}");
    assert_eq!(template.encode(request, &SMALL), Err(refused), "{source}");
}

#[test]
fn a_template_refuses_in_its_own_words() {
    check_refused(
        "{% macro f(m) %}{{ raise_exception('no ' ~ m.content) }}{% endmacro %}\
         {{ f(messages[0]) }}",
        &user("<|im_end|>"),
        "the chat template refuses the conversation: no <|im_end|>",
    );
    check_refused(
        "a\n{{ messages[0].content.nothing() }}",
        &user("x"),
        "the conversation does not fit the chat template: unknown method: string has no method \
         named nothing (in chat template:2)",
    );
    check_refused(
        "{{ strftime_now('%Y') }}",
        &user("x"),
        "the conversation does not fit the chat template: invalid operation: strftime_now: the \
         request gives no time (in chat template:1)",
    );
}

#[test]
fn a_template_that_is_not_understood_says_so_when_it_is_used() {
    let template = template("line\n{% for %}");
    assert!(template.source().is_some());
    let error = template.encode(&user("x"), &SMALL).expect_err("it cannot run");
    let message = "tokenizer.chat_template is not understood: syntax error: unexpected end of \
                   block, expected in (in chat template:2)";
    assert_eq!(error, Error::Model(message.to_owned()));
}

#[test]
fn a_template_cannot_run_or_grow_for_ever() {
    let all = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    let doubled = "{% set n = namespace(x='x') %}{% for a in range(99) %}{% set n.x = n.x ~ n.x %}\
                   {% endfor %}";
    for (source, reason) in [
        (all, "engine ran out of fuel"),
        (doubled, "engine ran out of fuel"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion limit exceeded"),
    ] {
        match template(source).render(&user("x"), &SMALL) {
            Ok(text) => panic!("{source} rendered {} bytes", text.len()),
            Err(error) => assert!(error.to_string().contains(reason), "{source}: {error}"),
        }
    }
}

#[test]
fn requests_that_cannot_be_shown_are_refused_with_their_place() {
    let mut nested = json!("x");
    for _ in 0..200 {
        nested = json!([nested]);
    }
    let mut request = user("x");
    request.messages[0]["content"] = nested.clone();
    check_refused("", &request, "messages: nested deeper than 128");
    request = user("x");
    request.tools = Some(nested);
    check_refused("", &request, "tools: nested deeper than 128");
    request = user("x");
    request.kwargs.insert("bos_token".to_owned(), json!("<s>"));
    check_refused(
        "",
        &request,
        "chat_template_kwargs.bos_token: the engine sets this itself; leave it out",
    );
    for (arguments, shown) in [("{bad", "\"{bad\""), ("[1]", "\"[1]\"")] {
        request = user("x");
        request.messages.push(json!({
            "role": "assistant", "tool_calls": [{"function": {"arguments": arguments}}],
        }));
        check_refused(
            "",
            &request,
            &format!(
                "messages[1].tool_calls[0].function.arguments: a JSON object is expected, got \
                 {shown}"
            ),
        );
    }
    let every: String = ('\u{fdd0}'..='\u{fdef}').collect();
    let message = "the request uses all of U+FDD0 to U+FDEF: leave one out";
    let refused = template("{{ 1 }}").encode(&user(&every), &SMALL);
    assert_eq!(refused, Err(Error::Input(message.to_owned())));
}

#[test]
fn without_a_template_contents_are_joined_and_nothing_else() {
    let metadata = File::parse(Bytes::from(Builder::new().build())).expect("a file without keys");
    let fallback = ChatTemplate::from_metadata(metadata.metadata()).expect("no template");
    assert_eq!(fallback.source(), None);
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(fallback.digest(), empty);
    let mut request = user("Once<s>");
    request.messages.push(json!({"role": "assistant", "content": null}));
    request.messages.push(json!({"role": "user", "content": [{"type": "text", "text": "upon"}]}));
    assert_eq!(fallback.render(&request, &STORIES).as_deref(), Ok("Once<s>\nupon"));
    let tokens = fallback.encode(&request, &STORIES).expect("texts alone");
    assert_eq!(tokens, STORIES.encode_prompt("Once<s>\nupon", Special::Text));
    assert_eq!(tokens.iter().filter(|&&token| token == 1).count(), 1);
    request.messages.push(json!({"role": "user", "content": [{"type": "image_url"}]}));
    let message =
        "messages[3].content: this model has no chat template and takes only text".to_owned();
    assert_eq!(fallback.encode(&request, &STORIES), Err(Error::Input(message)));
}

#[test]
fn a_template_and_the_model_together_write_one_bos() {
    let tokens = |source| template(source).encode(&user("Once"), &STORIES).expect("it renders");
    assert_eq!(tokens("{{ bos_token }}{{ messages[0].content }}"), [1, 403]);
    assert_eq!(tokens("{{ messages[0].content }}"), [1, 403]);
}

/// A template of the usual kind, one that puts client texts side by side, and one that prints JSON.
const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n\
                      {% endfor %}<|im_start|>assistant\n<think>\n";
const SIDE_BY_SIDE: &str = "{% for m in messages %}{{ m.content }}{% endfor %}<|im|>";
const JSON: &str = "<|im_start|>{{ messages | tojson }}<|im_end|>";

/// How many control tokens a conversation of these texts becomes, and the text it is.
fn encoded(source: &str, texts: &[String]) -> (usize, String) {
    let messages = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    let request = ChatRequest { messages, ..ChatRequest::default() };
    let tokens = template(source).encode(&request, &SMALL).expect("it renders");
    let control = tokens.iter().filter(|&&token| {
        let spelling = SMALL.spelling(token).expect("in the vocabulary");
        spelling.starts_with("<|") && spelling.ends_with("|>")
    });
    (control.count(), SMALL.decode(&tokens))
}

#[test]
fn nothing_a_client_sends_becomes_a_control_token() {
    let request = ChatRequest {
        messages: vec![json!({
            "role": "assistant", "content": [{"type": "image<|im|>"}],
            "tool_calls": [{"function": {"arguments": {"a<|im_end|>": "<|im_start|>"}}}],
        })],
        tools: Some(json!([{"<|im|>": ["<|im_end|>"]}])),
        kwargs: Map::from_iter([("x".to_owned(), json!({"<|im|>": "<|im_end|>"}))]),
        now: None,
    };
    let template = template("{{ messages | tojson }}{{ tools }}{{ x }}");
    let tokens = template.encode(&request, &SMALL).expect("it renders");
    let first_control = SMALL.bos().expect("it has one");
    assert!(tokens.iter().all(|&token| token < first_control));
    assert_eq!(Ok(SMALL.decode(&tokens)), template.render(&request, &SMALL));
}

#[test]
fn a_client_may_use_the_character_that_breaks_tokens_up() {
    let (_, text) = encoded(CHATML, &["\u{fdd0}<|im_end|>\u{fdd1}".to_owned()]);
    assert!(text.contains("\u{fdd0}<|im_end|>\u{fdd1}"));
}

proptest! {
    /// Marks, parts of marks and any text: shown as they are, and no control token more than there
    /// are for empty texts.
    #[test]
    fn what_users_write_stays_text(texts in prop::collection::vec(
        prop_oneof![
            prop::collection::vec(prop::sample::select(vec![
                "<|im_end|>", "<|im_start|>", "<|im|>", "<", "|", "im", "_end", "|>", "<|", "<|im",
                "<think>", "\u{fdd0}", "\u{fdd1}", "é", " ", "\n",
            ]), 0..8).prop_map(|parts| parts.concat()),
            any::<String>(),
        ], 1..4)
    ) {
        let empty = vec![String::new(); texts.len()];
        for source in [CHATML, SIDE_BY_SIDE] {
            let (control, text) = encoded(source, &texts);
            prop_assert_eq!(control, encoded(source, &empty).0, "{} {:?}", source, texts);
            prop_assert!(texts.iter().all(|part| text.contains(part.as_str())), "{:?}", text);
        }
        prop_assert_eq!(encoded(JSON, &texts).0, 2);
    }
}
