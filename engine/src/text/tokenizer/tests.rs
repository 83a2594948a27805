//! The tokenizer against what other tools say (golden/tokens) and against itself.

use super::pretokenize::{Pretokenizer, RULES};
use super::testing::{GOLDEN, SMALL, STORIES, from_file, small, tokenizer};
use super::*;
use crate::gguf::testing::Builder;
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;

fn cases() -> Vec<Value> {
    let cases = std::fs::read_to_string(format!("{GOLDEN}/cases.jsonl")).expect("a golden file");
    cases.lines().map(|line| serde_json::from_str(line).expect("a case a line")).collect()
}

/// Every text of golden/tokens under the name another tool's ids have there.
fn check_golden(name: &str, tokenizer: &Tokenizer) {
    for case in cases() {
        let text = case["text"].as_str().expect("a text");
        let special = if case["special"] == true { Special::Token } else { Special::Text };
        let ids = tokenizer.encode(text, special);
        assert_eq!(Value::from(ids), case[name], "{name} {text:?} {special:?}");
    }
}

#[test]
fn stories260k_as_llama_cpp() {
    check_golden("stories260K", &STORIES);
}

#[test]
fn every_rule_as_llama_cpp() {
    for rule in &RULES {
        let tokenizer = tokenizer(&small(rule.name)).expect("a valid vocabulary");
        check_golden(&format!("small {}", rule.name), &tokenizer);
    }
}

#[test]
fn smollm2_as_llama_cpp() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = manifest.join("../.models/SmolLM2-135M-Instruct.Q4_1.gguf");
    if !path.exists() {
        eprintln!("skipped: smollm2_tokens: no {}: make models", path.display());
        return;
    }
    let tokenizer = from_file(&path);
    check_golden("SmolLM2", &tokenizer);
    let digest = "53d9bf02c6aa3b1f26ee311a1a7660046a2c89d64b741b7db5840f8f26a41c58";
    assert_eq!(tokenizer.digest(), digest, "as the script of the digest's own test has it");
}

#[test]
fn pieces_as_the_published_patterns() {
    let cases = cases();
    for rule in &RULES {
        let pretokenizer = Pretokenizer::new(rule);
        for case in &cases {
            let text = case["text"].as_str().expect("a text");
            let pieces = pretokenizer.split(text);
            assert_eq!(Value::from(pieces), case["pieces"][rule.name], "{} {text:?}", rule.name);
        }
    }
}

#[test]
fn long_runs_take_no_quadratic_time() {
    let runs = ["a".repeat(1_000_000), " ".repeat(200_000), "ab\n".repeat(100_000)];
    for text in &runs {
        for tokenizer in [&*SMALL, &*STORIES] {
            assert!(tokenizer.decode(&tokenizer.encode(text, Special::Text)) == *text);
        }
    }
}

#[test]
fn escapes_are_never_undone() {
    for tokenizer in [&*SMALL, &*STORIES] {
        let [typed, meant] = ["a\\nb", "a\nb"].map(|text| tokenizer.encode(text, Special::Text));
        assert_ne!(typed, meant);
        assert_eq!(tokenizer.decode(&typed), "a\\nb");
        assert_eq!(tokenizer.decode(&meant), "a\nb");
    }
}

#[test]
fn a_prompt_has_one_bos_if_the_file_asks_for_one() {
    let check = |tokenizer: &Tokenizer, text, tokens: &[Token]| {
        assert_eq!(tokenizer.encode_prompt(text, Special::Token), tokens, "{text:?}");
    };
    check(&STORIES, "", &[1]);
    check(&STORIES, "Once", &[1, 403]);
    check(&STORIES, "<s>Once", &[1, 403]);
    check(&STORIES, "<s><s>", &[1, 1]);
    let end = SMALL.bos().expect("it has one");
    check(&SMALL, "", &[]);
    let builder = small("llama-bpe").key("tokenizer.ggml.add_eos_token", true);
    let both = tokenizer(&builder).expect("a valid vocabulary");
    check(&both, "", &[end]);
    check(&both, "!", &[end, 0, end]);
    check(&both, "<|endoftext|>!<|endoftext|>", &[end, 0, end]);
    let builder = small("llama-bpe").key("tokenizer.ggml.add_bos_token", false);
    check(&tokenizer(&builder).expect("a valid vocabulary"), "!", &[0]);
}

#[test]
fn ends_are_what_the_file_names_and_control_tokens_spelled_like_one() {
    let builder = small("qwen2").key("tokenizer.ggml.eot_token_id", 7_u32);
    let tokenizer = tokenizer(&builder).expect("a valid vocabulary");
    let first_special = tokenizer.len() as Token - 6;
    let ends: Vec<Token> =
        (0..tokenizer.len() as Token + 9).filter(|&token| tokenizer.is_end(token)).collect();
    // <|endoftext|> and <|im_end|>, but neither <|im_start|> nor <|im|>.
    assert_eq!(ends, [7, first_special, first_special + 2]);
    assert!(STORIES.is_end(2) && !STORIES.is_end(1));
}

#[test]
fn an_answer_keeps_its_leading_blank_and_a_text_drops_the_one_put_in() {
    let tokens = STORIES.encode("Once<s> upon", Special::Token);
    assert_eq!(STORIES.decode(&tokens), "Once upon");
    assert_eq!(STORIES.bytes(tokens[0]), b" Once");
    assert_eq!(STORIES.spelling(tokens[0]), Some("▁Once"));
    assert_eq!(STORIES.bytes(1), b"", "a control token");
    assert_eq!(STORIES.bytes(68), b"A", "a byte token");
    assert_eq!((STORIES.bytes(512), STORIES.spelling(512)), (&b""[..], None));
}

#[test]
fn only_llama_bpe_takes_a_piece_that_is_a_token_whatever_the_merges_say() {
    let ids = |pre| {
        let tokens = ["q", "z", "qzqz"].map(str::to_owned);
        let builder = Builder::new()
            .key("tokenizer.ggml.model", "gpt2")
            .key("tokenizer.ggml.pre", pre)
            .key("tokenizer.ggml.tokens", tokens);
        tokenizer(&builder).expect("a valid vocabulary").encode("qzqz", Special::Text)
    };
    assert_eq!(ids("llama-bpe"), [2]);
    assert_eq!(ids("qwen2"), [0, 1, 0, 1]);
}

#[test]
fn what_cannot_be_spelled_becomes_unknown_but_never_a_control_token() {
    let ids = |model, kind: i32| {
        let builder = Builder::new()
            .key("tokenizer.ggml.model", model)
            .key("tokenizer.ggml.pre", if model == "gpt2" { "gpt-2" } else { "default" })
            .key("tokenizer.ggml.tokens", ["a", "<?>"].map(str::to_owned))
            .key("tokenizer.ggml.token_type", [1, kind])
            .key("tokenizer.ggml.scores", [0.0_f32, 0.0])
            .key("tokenizer.ggml.add_space_prefix", false)
            .key("tokenizer.ggml.unknown_token_id", 1_u32);
        tokenizer(&builder).expect("a valid vocabulary").encode("aé", Special::Text)
    };
    for model in ["gpt2", "llama"] {
        assert_eq!(ids(model, 2), [0, 1, 1]);
        assert_eq!(ids(model, 3), [0]);
    }
}

#[test]
fn the_digest_covers_all_that_decides_an_encoding() {
    // Computed from the file by a script that follows the documentation of `digest`.
    let stories = "d1f78b75559010627692ffaf4f1d1c6526d1b44557da783e691462c8c70a00c2";
    assert_eq!(STORIES.digest(), stories);
    assert_eq!(SMALL.kind(), ("gpt2", "qwen2"));
    assert_eq!(STORIES.kind(), ("llama", "default"));
    let mut digests = std::collections::BTreeSet::from([SMALL.digest().to_owned()]);
    let changed = [
        small("gpt-2"),
        small("qwen2").key("tokenizer.ggml.add_eos_token", true),
        small("qwen2").key("tokenizer.ggml.eot_token_id", 1_u32),
        small("qwen2").key("tokenizer.ggml.eom_token_id", 1_u32),
    ];
    for builder in &changed {
        digests.insert(tokenizer(builder).expect("a valid vocabulary").digest().to_owned());
    }
    assert_eq!(digests.len(), 1 + changed.len());
}

/// The message of a vocabulary of two tokens, `a` and `b`, with these keys.
fn check_refused(keys: impl FnOnce(Builder) -> Builder, message: &str) {
    let builder = Builder::new().key("tokenizer.ggml.tokens", ["a", "b"].map(str::to_owned));
    let error = tokenizer(&keys(builder)).expect_err(message);
    assert_eq!(error, Error::Model(message.to_owned()));
}

#[test]
fn wrong_files_are_refused_with_the_key_and_both_values() {
    let gpt2 = |b: Builder| b.key("tokenizer.ggml.model", "gpt2");
    let qwen2 = |b: Builder| gpt2(b).key("tokenizer.ggml.pre", "qwen2");
    let llama = |b: Builder| b.key("tokenizer.ggml.model", "llama");
    let scored = |b: Builder| llama(b).key("tokenizer.ggml.scores", [0.0_f32, 0.0]);
    check_refused(|b| b, "tokenizer.ggml.model: missing; this build knows gpt2, llama");
    check_refused(
        |b| b.key("tokenizer.ggml.model", "rwkv"),
        "tokenizer.ggml.model: \"rwkv\" is not known; this build knows gpt2, llama",
    );
    check_refused(
        |b| gpt2(b).key("tokenizer.ggml.pre", "tekken"),
        "tokenizer.ggml.pre: \"tekken\" is not known; this build knows smollm, gpt-2, llama-bpe, \
         qwen2",
    );
    check_refused(
        gpt2,
        "tokenizer.ggml.pre: missing; this build knows smollm, gpt-2, llama-bpe, qwen2",
    );
    check_refused(
        |b| llama(b).key("tokenizer.ggml.pre", "qwen2"),
        "tokenizer.ggml.pre: \"qwen2\" is not known; this build knows default",
    );
    check_refused(|_| qwen2(Builder::new()), "tokenizer.ggml.tokens: missing or empty");
    check_refused(
        |b| qwen2(b).key("tokenizer.ggml.token_type", [1]),
        "tokenizer.ggml.token_type: 1 entries for 2 tokens",
    );
    check_refused(
        |b| qwen2(b).key("tokenizer.ggml.token_type", [1, 7]),
        "tokenizer.ggml.token_type[1]: type 7, but types are 1 to 6",
    );
    check_refused(
        |b| qwen2(b).key("tokenizer.ggml.eos_token_id", 2_u32),
        "tokenizer.ggml.eos_token_id: token 2 of a vocabulary of 2",
    );
    check_refused(
        |b| qwen2(b).key("tokenizer.ggml.add_bos_token", true),
        "tokenizer.ggml.add_bos_token: true without tokenizer.ggml.bos_token_id",
    );
    check_refused(
        |b| qwen2(b).key("tokenizer.ggml.merges", ["a b"].map(str::to_owned)),
        "tokenizer.ggml.merges[0]: \"a b\" does not name two tokens that join to a third",
    );
    check_refused(llama, "tokenizer.ggml.scores: 0 entries for 2 tokens");
    check_refused(
        |b| llama(b).key("tokenizer.ggml.scores", [0.0, f32::NAN]),
        "tokenizer.ggml.scores[1]: not a number",
    );
    check_refused(
        |b| scored(b).key("tokenizer.ggml.token_type", [1, 6]),
        "tokenizer.ggml.tokens[1]: \"b\" is of the type of a byte, but not spelled <0xNN>",
    );
}

/// Any text, and texts made of what tokenizers stumble over.
fn texts() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "<|im_end|>",
        "<|im|>",
        "<|",
        "im",
        "_end|>",
        "<think>",
        "<s>",
        "</s>",
        "<unk>",
        "<0x41>",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "'s",
        "'LL",
        "12",
        "½",
        "a",
        "Ab",
        "é",
        "ि",
        "\u{301}",
        "🌍",
        "\u{200d}",
        "\u{feff}",
        "\0",
        "(",
        "->",
        "the",
        " of",
    ]);
    prop_oneof![any::<String>(), prop::collection::vec(part, 0..24).prop_map(|p| p.concat())]
}

proptest! {
    #[test]
    fn bpe_spells_any_text(text in texts()) {
        prop_assert_eq!(SMALL.decode(&SMALL.encode(&text, Special::Text)), text);
    }

    /// All but U+2581, which is a blank to SentencePiece.
    #[test]
    fn spm_spells_any_text(text in texts()) {
        let text = text.replace('\u{2581}', " ");
        prop_assert_eq!(STORIES.decode(&STORIES.encode(&text, Special::Text)), text);
    }

    #[test]
    fn text_never_becomes_a_control_token(text in texts()) {
        for tokenizer in [&*SMALL, &*STORIES] {
            for token in tokenizer.encode(&text, Special::Text) {
                prop_assert!(!tokenizer.vocabulary.kinds[token as usize].is_control());
            }
        }
    }

    /// What is streamed piece by piece is the text, but for the blank that a prefix puts in front.
    #[test]
    fn streaming_gives_the_text(text in texts()) {
        for (tokenizer, prefix) in [(&*SMALL, ""), (&*STORIES, " ")] {
            let text = text.replace(['\u{2581}', '<'], " ");
            let mut detokenizer = Detokenizer::default();
            let tokens = tokenizer.encode(&text, Special::Text);
            let pieces = tokens.iter().map(|&token| detokenizer.push(tokenizer.bytes(token)));
            let streamed = pieces.collect::<String>() + &detokenizer.finish();
            let prefix = if text.is_empty() { "" } else { prefix };
            prop_assert_eq!(streamed, format!("{prefix}{text}"));
        }
    }
}
