//! The loader on what it must refuse, and the builder on every byte of the corpus.

use super::*;
use crate::plan::Planned;
use crate::protocol::PhaseName;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn spec() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec")
}

fn embedded() -> Suite {
    Suite::named("embedded-v1").unwrap()
}

/// The embedded corpus as its folder has it.
fn files() -> Files {
    folder::read(&spec().join("corpus/embedded-v1")).unwrap()
}

#[test]
fn the_program_carries_what_lies_in_spec() {
    for name in Suite::names() {
        let on_disk = Suite::open(&spec().join(format!("protocols/{name}.json"))).unwrap();
        assert_eq!(Suite::named(name).unwrap(), on_disk, "{name}");
    }
    let ids: BTreeSet<String> = Suite::protocols().into_iter().map(|known| known.id).collect();
    assert_eq!(ids.len(), Suite::names().len());
    let protocols = fs::read_dir(spec().join("protocols")).unwrap().count();
    assert_eq!(protocols, Suite::names().len());
}

/// The suites that can be replayed.
fn replayable() -> Vec<Suite> {
    let suites = Suite::names().into_iter().map(|name| Suite::named(name).unwrap());
    suites.filter(|suite| suite.corpus.is_some()).collect()
}

#[test]
fn the_builder_makes_every_byte_again() {
    for suite in replayable() {
        let folder = spec().join("corpus").join(&suite.protocol.suite);
        let files = folder::read(&folder).unwrap();
        let built = builder::build(&suite.protocol, &files[RECIPE], &files[STOCK]).unwrap();
        let made = |path: &&String| !path.starts_with("lengths/");
        assert!(built.keys().eq(files.keys().filter(made)), "run the example build_corpus");
        for (path, text) in &built {
            assert_eq!(text, &files[path], "{path}: run the example build_corpus");
        }
    }
}

#[test]
fn a_recipe_that_cannot_be_built_is_refused() {
    let files = files();
    let check = |from: &str, to: &str, problem: &str| {
        let recipe = files[RECIPE].replacen(from, to, 1);
        assert_ne!(recipe, files[RECIPE], "{from}");
        let found = builder::build(&embedded().protocol, &recipe, &files[STOCK]).unwrap_err();
        assert!(found.to_string().contains(problem), "{found}");
    };
    check("strata-corpus 1", "strata-corpus 9", "/generator is `strata-corpus 9`");
    check("\"stock_sha256\": \"", "\"stock_sha256\": \"0", "restore the stock");
    check("\"sentences\": 3", "\"sentences\": 300", "/conversations/0 wants more sentences");
    check("\"sentences\": 8", "\"sentences\": 2", "/conversations/2 has a part with fewer");
    check("\"case\": \"short\"", "\"case\": \"prompt-160\"", "is a second one of `prompt-160`");
    check("\"case\": \"short\"", "\"case\": \"longer\"", "has none for performance-short-r1");
    check("\"seed\": 115", "\"sede\": 115", "unknown field `sede`");
    let words = "\"text\": [{\"words\": \"Hens\"},";
    check(
        "\"seed\": 89,\n      \"text\": [",
        &format!("\"seed\": 89,\n{words}"),
        "would begin alike",
    );
    let fill = |line: &str| {
        let fill = json!({"seed": 1, "times": 3, "words": {"a": ["x"], "none": []}});
        let mut recipe: serde_json::Value = serde_json::from_str(&files[RECIPE]).unwrap();
        recipe["fill"] = fill;
        recipe["stock_sha256"] = json!(sha256(line.as_bytes()));
        let built = builder::build(&embedded().protocol, &recipe.to_string(), line);
        built.unwrap_err().problem
    };
    assert_eq!(fill("A {b}."), "/fill/words has none for the slot `b` of sentences.txt; add some");
    assert!(fill("A {none}.").contains("the slot `none`"));
    assert!(fill("A {b").contains("the slot `b`"));
    // Three times the same sentence is one.
    assert!(fill("A {a}.").contains("/conversations/0 wants more sentences than are left"));
}

/// The user's text of a request.
fn text(corpus: &Corpus, request: &Planned) -> String {
    let body: serde_json::Value = serde_json::from_str(corpus.body(&request.id).unwrap()).unwrap();
    let messages = body["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap().to_string()
}

/// B099: no payload's cache serves another, repetitions of a case included.
#[test]
fn payloads_begin_apart_and_have_their_nominal_length() {
    for suite in replayable() {
        let corpus = suite.corpus.unwrap();
        let mut beginnings = BTreeSet::new();
        for request in plan(&suite.protocol, true) {
            let text = text(&corpus, &request);
            let beginning: Vec<&str> = text.split(' ').take(2).collect();
            assert!(beginnings.insert(beginning.join(" ")), "{}: {text}", request.id);
            for lengths in &corpus.lengths {
                let length = lengths.requests[&request.id];
                if let Some(nominal) = request.case.nominal_input_tokens {
                    let apart = nominal.abs_diff(length.input_tokens);
                    assert!(apart <= suite.protocol.length_tolerance_tokens, "{}", request.id);
                }
                if request.repetition > 1 {
                    let first = format!("{}-{}-r1", request.phase.as_str(), request.case.id);
                    assert_eq!(lengths.requests[&first].input_tokens, length.input_tokens);
                }
            }
        }
    }
}

/// What a chat template puts before the first message is shared by all, and no more than a word or
/// two of the messages; a list of tools stands before the messages.
#[test]
fn no_two_payloads_share_more_than_their_beginning() {
    for (suite, most, most_with_tools) in
        [("embedded-v1", 7, 7), ("small-v1", 17, 80), ("standard-v1", 17, 80)]
    {
        let suite = Suite::named(suite).unwrap();
        for lengths in suite.corpus.unwrap().lengths {
            for (id, length) in &lengths.requests {
                let most = if id.contains("-T") { most_with_tools } else { most };
                assert!(length.max_shared_prefix_tokens <= most, "{id}: {length:?}");
            }
        }
    }
}

#[test]
fn a_template_gets_its_newline_back() {
    let mut corpus = embedded().corpus.unwrap();
    corpus.lengths[0].template_sha256 = sha256(b"{{ x }}\n");
    for (text, whole) in
        [("{{ x }}", "{{ x }}\n"), ("{{ x }}\n", "{{ x }}\n"), ("{{ y }}", "{{ y }}")]
    {
        assert_eq!(corpus.whole_template(text), whole);
    }
}

/// What `spec/protocol.md` says of the tokenizers and of the context that a server needs.
#[test]
fn lengths_are_recorded_for_the_tokenizers_named() {
    let check = |suite: &str, context: u64| {
        let suite = Suite::named(suite).unwrap();
        let corpus = suite.corpus.as_ref().unwrap();
        let names: Vec<String> = corpus.lengths.iter().map(Lengths::path).collect();
        let named = [
            "lengths/53d9bf02c6aa-872be49dbb63.json",
            "lengths/8f4e8d81e57f-cd8e9439f057.json",
            "lengths/8f4e8d81e57f-d5495a1e5db0.json",
            "lengths/unpinned-a4aee8afcf2e.json",
            "lengths/unpinned-c3cf9e34abf4.json",
        ];
        assert_eq!(names, named);
        let ends = plan(&suite.protocol, true).into_iter().flat_map(|request| {
            let input = |lengths: &Lengths| lengths.requests[&request.id].input_tokens;
            corpus
                .lengths
                .iter()
                .map(|lengths| input(lengths) + request.max_output_tokens)
                .collect::<Vec<_>>()
        });
        assert!(ends.max().unwrap() <= context, "{}", suite.protocol.id);
    };
    check("small-v1", 8192);
    check("standard-v1", 18_440);
}

/// The fact to be found stands once in the text, at the depth that `spec/protocol.md` gives.
#[test]
fn needles_stand_once_and_at_their_depth() {
    let check = |suite: &str, case: &str, needles: &[(&str, usize)]| {
        let suite = Suite::named(suite).unwrap();
        let corpus = suite.corpus.as_ref().unwrap();
        let planned = plan(&suite.protocol, false);
        let request = planned.iter().find(|request| request.case.id == case).unwrap();
        let text = text(corpus, request);
        for (needle, percent) in needles {
            assert_eq!(text.matches(needle).count(), 1, "{needle}");
            let found = text.find(needle).unwrap() * 100 / text.len();
            assert!(found.abs_diff(*percent) <= 3, "{needle} at {found} of 100");
        }
    };
    check("small-v1", "R1", &[("is called Morning Star.", 20)]);
    check("small-v1", "R2", &[("iron door is 5820.", 80)]);
    check("small-v1", "R3", &[("under an orange boat.", 50)]);
    let palaces = [("has 12 rooms", 10), ("has 27 rooms", 50), ("has 35 rooms", 90)];
    check("small-v1", "R4", &palaces);
    check("standard-v1", "R1", &[("guard is silver falcon.", 20)]);
    check("standard-v1", "R2", &[("called Victoria Stone.", 80)]);
    check("standard-v1", "R3", &[("room number 218.", 50)]);
    let locks = [("number 4071", 10), ("number 9356", 50), ("number 2818", 90)];
    check("standard-v1", "R4", &locks);
}

#[test]
fn lengths_are_of_one_tokenizer_and_one_template() {
    let corpus = embedded().corpus.unwrap();
    let known = &corpus.lengths[0];
    let tokenizer = known.tokenizer_sha256.as_ref().unwrap();
    let template = &known.template_sha256;
    assert_eq!(corpus.lengths(tokenizer, template), Some(known));
    assert_eq!(corpus.lengths(template, template), None);
    assert_eq!(corpus.lengths(tokenizer, tokenizer), None);
    let corpus = Suite::named("small-v1").unwrap().corpus.unwrap();
    let smollm2 = &corpus.lengths[0];
    let tokenizer = corpus.tokenizer_in(&smollm2.model_files[0]);
    assert_eq!(tokenizer, smollm2.tokenizer_sha256.as_deref());
    assert_eq!(corpus.tokenizer_in(template), None);
    let unpinned = corpus.lengths.iter().find(|lengths| lengths.tokenizer_sha256.is_none());
    let template = &unpinned.unwrap().template_sha256;
    for tokenizer in ["", "null", "unpinned"] {
        assert_eq!(corpus.lengths(tokenizer, template), None);
    }
}

#[test]
fn shared_prefixes_are_the_longest_over_the_corpus() {
    let tokens = [("a", vec![1, 5, 6]), ("b", vec![1, 5, 7, 8]), ("c", vec![1])];
    let tokens = tokens.into_iter().map(|(id, tokens)| (id.to_string(), tokens)).collect();
    let lengths = Lengths::of("0123456789abcdef", "fedcba9876543210", Vec::new(), "", &tokens);
    let found = |id: &str| {
        let length = lengths.requests[id];
        (length.input_tokens, length.max_shared_prefix_tokens)
    };
    assert_eq!([found("a"), found("b"), found("c")], [(3, 2), (4, 2), (1, 1)]);
    assert_eq!(lengths.path(), "lengths/0123456789ab-fedcba987654.json");
}

/// Loads the embedded corpus after `change`. `sealed` makes the digests right again, so that what
/// stands behind them is looked at.
fn check(sealed: bool, change: impl FnOnce(&mut Files), problem: &str) {
    let mut protocol = embedded().protocol;
    let mut files = files();
    change(&mut files);
    if sealed {
        let (lengths, rest): (Files, Files) = files
            .into_iter()
            .filter(|(path, _)| path != manifest::NAME)
            .partition(|(path, _)| path.starts_with("lengths/"));
        let manifest = manifest::write(&rest);
        protocol.corpus_sha256 = sha256(manifest.as_bytes());
        files = rest.into_iter().chain(lengths).collect();
        files.insert(manifest::NAME.to_string(), manifest);
    }
    let found = Corpus::verify(&protocol, files).map(|_| ()).unwrap_err();
    assert!(found.contains(problem), "{found}");
}

/// Changes the manifest and lets the protocol name the changed one.
fn check_manifest(change: impl FnOnce(&str) -> String, problem: &str) {
    let mut files = files();
    files.retain(|path, _| !path.starts_with("lengths/"));
    let manifest = change(&files.remove(manifest::NAME).unwrap());
    let found = manifest::check(&manifest, &files).unwrap_err();
    assert!(found.contains(problem), "{found}");
}

const WARMUP: &str = "payloads/warmup.json";

fn in_warmup(from: &'static str, to: &'static str) -> impl FnOnce(&mut Files) {
    move |files| {
        let body = files[WARMUP].replacen(from, to, 1);
        files.insert(WARMUP.to_string(), body);
    }
}

#[test]
fn a_corpus_that_is_not_the_protocols_is_refused() {
    check(false, |files| drop(files.remove(manifest::NAME)), "manifest.sha256 is missing");
    check(false, |files| drop(files.remove(WARMUP)), "payloads/warmup.json is missing");
    let extra = |files: &mut Files| drop(files.insert("payloads/x.json".into(), "{}".into()));
    check(false, extra, "payloads/x.json is not in manifest.sha256; remove it");
    check(true, extra, "27 payloads for 26 planned requests");
    check(false, in_warmup("Hens", "Cats"), "restore the file");
    check(true, |files| drop(files.remove(WARMUP)), "payloads/warmup.json is missing");
    check(true, |files| drop(files.remove(RECIPE)), "corpus-build.json is missing; restore it");
    let longer = |files: &mut Files| files.get_mut(manifest::NAME).unwrap().push('\n');
    check(false, longer, "take the corpus and the protocol of one version");
}

#[test]
fn a_manifest_that_leads_elsewhere_is_refused() {
    let rename = |to: &'static str| move |m: &str| m.replace(WARMUP, to);
    for path in ["../warmup.json", "/etc/passwd", "payloads/../x", "payloads//x", "payloads/.x", ""]
    {
        check_manifest(rename(path), "paths are relative, without `.` or `..`");
    }
    check_manifest(rename("a\\b"), "paths are relative");
    check_manifest(|m| format!("{m}{m}"), "out of order; sort by path, each once");
    check_manifest(|m| m.replace("  ", " "), "expected `<sha256>  <path>`");
    check_manifest(str::to_uppercase, "expected `<sha256>  <path>`");
}

#[test]
fn a_body_that_contradicts_the_protocol_is_refused() {
    let check = |from, to, problem| check(true, in_warmup(from, to), problem);
    check("\"seed\":1", "\"seed\":2", "warmup.json: /seed is 2; the protocol says 1");
    check("\"max_tokens\":64,", "", "/max_tokens is missing; the protocol says 64");
    check("\"top_p\":1.0", "\"top_p\":0.9", "/top_p is 0.9; the protocol says 1.0");
    check("\"stream\":true", "\"stream\":false", "/stream is false");
    check("\"seed\"", "\"model\":\"m\",\"seed\"", "/model is \"m\"; the protocol sends no such");
    check("\"role\"", "role", "not a JSON object");
    check("\"messages\":[", "\"messages\":[],\"tools\":[", "/messages must be an array");
    check("\"seed\"", "\"tools\":{},\"seed\"", "/tools must be an array");
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let change = |from: &'static str, to: &'static str| {
        move |files: &mut Files| {
            let is_lengths = |(path, _): &(&String, &mut String)| path.starts_with("lengths/");
            let (_, text) = files.iter_mut().find(is_lengths).unwrap();
            *text = text.replacen(from, to, 1);
        }
    };
    let digest = "\"tokenizer_sha256\": \"";
    check(false, change(digest, "\"tokenizer_sha256\": \"_"), "rename it");
    let both = "\"vocabulary\": \"v\", \"tokenizer_sha256\": \"";
    check(false, change(digest, both), "give one of /tokenizer_sha256 and /vocabulary");
    check(false, change("\"warmup\"", "\"cooldown\""), "/requests/warmup is missing");
    check(false, change("\"input_tokens\": 40", "\"input_tokens\": 1"), "payloads must differ");
    check(false, change("\"input_tokens\": 40", "\"input_tokens\": -1"), "invalid value");
    let more = "\"requests\": {\"x\": {\"input_tokens\": 2, \"max_shared_prefix_tokens\": 1},";
    check(false, change("\"requests\": {", more), "/requests has 27, the protocol plans 26");
}

#[test]
fn a_folder_is_read_without_following_links() {
    let root = std::env::temp_dir().join(format!("strata-corpus-{}", std::process::id()));
    fs::create_dir_all(root.join("payloads/deep")).unwrap();
    fs::write(root.join("a.txt"), "a").unwrap();
    let problem = folder::read(&root).unwrap_err();
    assert!(problem.starts_with("payloads/deep is a link, a special file"), "{problem}");
    fs::remove_dir(root.join("payloads/deep")).unwrap();
    fs::write(root.join("payloads/b.txt"), [0xff]).unwrap();
    let problem = folder::read(&root).unwrap_err();
    assert!(problem.starts_with("payloads/b.txt: not UTF-8"), "{problem}");
    fs::write(root.join("payloads/b.txt"), "b").unwrap();
    let files = folder::read(&root).unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["a.txt", "payloads/b.txt"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/hostname", root.join("link.txt")).unwrap();
        let problem = folder::read(&root).unwrap_err();
        assert!(problem.starts_with("link.txt is a link"), "{problem}");
    }
    fs::remove_dir_all(&root).unwrap();
    let gone = Suite::open(&root.join("x.json")).unwrap_err().to_string();
    assert!(gone.contains("x.json: cannot be read: "), "{gone}");
}

#[test]
fn an_unknown_suite_is_answered_with_the_known() {
    let problem = Suite::named("embedded-v2").unwrap_err().to_string();
    let want = "suite `embedded-v2`: not one of embedded-v1, small-v1, standard-v1, \
                strata-qwen38-thinking-v1-draft.1; for a protocol of your own give its file";
    assert_eq!(problem, want);
}

#[test]
fn the_listing_shows_every_request() {
    let suite = embedded();
    let text = suite.plan_text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2 + 26);
    let body = sha256(suite.corpus.as_ref().unwrap().body("warmup").unwrap().as_bytes());
    assert_eq!(
        lines[1],
        "request                       seed    cap  nominal        input  body sha256"
    );
    let columns: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(columns, ["warmup", "1", "64", "40", "40", &body]);
    assert!(lines[27].starts_with("concurrency-pair-b-r2 "), "{}", lines[27]);
    assert!(lines[27].ends_with("  optional"), "{}", lines[27]);
    let json = suite.plan_json();
    assert_eq!(json["requests"].as_array().unwrap().len(), 26);
    assert_eq!(json["requests"][0]["body_sha256"], body);
    assert_eq!(json["requests"][25]["round"], 2);
    assert_eq!(json["requests"][25]["input_tokens"], 160);
    let small = Suite::named("small-v1").unwrap();
    assert!(small.plan_text().contains("    125..129  "), "{}", small.plan_text());
    let json = small.plan_json();
    assert_eq!(json["requests"][0]["input_tokens"], json!(null));
    assert_eq!(json["lengths"][0]["requests"]["warmup"]["input_tokens"], 126);
    let draft = Suite::named("strata-qwen38-thinking-v1-draft.1").unwrap();
    assert!(draft.plan_text().contains("it cannot be replayed: its payloads are not public"));
    let json = draft.plan_json();
    assert_eq!(json["requests"].as_array().unwrap().len(), 22);
    assert_eq!(json["requests"][21]["input_tokens"], 339);
    let shared = json["requests"].as_array().unwrap().iter();
    assert!(shared.into_iter().all(|request| request["max_shared_prefix_tokens"].is_u64()));
    assert_eq!(draft.protocol.phase(PhaseName::Concurrency), None);
}

/// Whatever of a plan changes shows here: ids, order, seeds, caps, lengths and every byte sent.
#[test]
fn the_plans_of_the_suites() {
    for name in Suite::names() {
        insta::assert_snapshot!(name, Suite::named(name).unwrap().plan_text());
    }
}

/// The fields a schema describes and, of them, those it requires.
fn fields(schema: &str) -> (Vec<String>, Vec<String>) {
    let text = fs::read_to_string(spec().join("schema").join(schema)).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    let described = schema["properties"].as_object().unwrap().keys().cloned().collect();
    (described, serde_json::from_value(schema["required"].clone()).unwrap())
}

#[test]
fn the_schemas_name_the_same_fields() {
    let (described, required) = fields("lengths.schema.json");
    let pinned = embedded().corpus.unwrap().lengths.remove(0);
    let pinned = Lengths { model_files: Vec::new(), ..pinned };
    let all = Lengths {
        vocabulary: Some(String::new()),
        model_files: vec![String::new()],
        ..pinned.clone()
    };
    let written = |lengths| serde_json::to_value(lengths).unwrap();
    assert!(written(all).as_object().unwrap().keys().eq(&described));
    assert!(written(pinned).as_object().unwrap().keys().eq(&required));

    let (described, required) = fields("corpus-build.schema.json");
    let suite = Suite::named("small-v1").unwrap();
    let corpus = suite.corpus.unwrap();
    let recipe: serde_json::Value = serde_json::from_str(corpus.build_record()).unwrap();
    assert!(recipe.as_object().unwrap().keys().eq(&described));
    for field in required {
        let mut less = recipe.clone();
        less.as_object_mut().unwrap().remove(&field);
        let stock = &corpus.files[STOCK];
        let error = builder::build(&suite.protocol, &less.to_string(), stock).unwrap_err();
        assert!(error.problem.contains(&format!("missing field `{field}`")), "{error}");
    }
}
