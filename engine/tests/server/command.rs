//! The `strata` command: what it prints, where, and how it exits.

use crate::MODEL;
use crate::client::{chat, get};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn strata(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_strata")).args(arguments).output().unwrap()
}

/// Exit code, standard output and standard error, as one text.
fn shown(arguments: &[&str]) -> String {
    let output = strata(arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr)
    )
}

/// A command that cannot do its work: nothing on standard output, one line on standard error.
fn refused(arguments: &[&str], code: i32) -> String {
    let output = strata(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert_eq!(output.stdout, b"");
    assert_eq!(error.lines().count(), 1, "{error}");
    error.trim_end().into()
}

/// A folder of this test's own; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().into()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn help() {
    insta::assert_snapshot!("help", shown(&["--help"]));
    for command in ["serve", "generate", "inspect", "tokenize", "logits"] {
        insta::assert_snapshot!(format!("help_{command}"), shown(&[command, "--help"]));
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let cases: &[&[&str]] = &[
        &[],
        &["dance"],
        &["serve"],
        &["generate", "--model", "m"],
        &["generate", "--model", "m", "--prompt", "x", "--device", "cuda"],
        &["generate", "--model", "m", "--prompt", "x", "--kernels", "sse"],
        &["generate", "--model", "m", "--prompt", "x", "--kv", "int8"],
        &["generate", "--model", "m", "--prompt", "x", "--threads", "0"],
        &["generate", "--model", "m", "--prompt", "x", "--ctx", "many"],
        &["generate", "--model", "m", "--prompt", "x", "--ctx"],
        &["serve", "--model", "m", "--port", "99999"],
        &["serve", "--model", "m", "--api-key-env", "STRATA_TEST_UNSET"],
        &["inspect", "m", "--output", "xml"],
        &["tokenize", "--model", MODEL],
        &["tokenize", "--model", MODEL, "--text", "a", "--file", "b"],
        &["logits", "--model", "m", "--tokens", "1,x", "--out", "o"],
        &["generate", "--model", "m", "--prompt", "x", "--temp", "-1"],
    ];
    let lines: Vec<String> = cases.iter().map(|arguments| refused(arguments, 2)).collect();
    insta::assert_snapshot!("usage_errors", lines.join("\n"));
}

#[test]
fn the_version_names_the_commit() {
    let version = String::from_utf8(strata(&["--version"]).stdout).unwrap();
    let start = concat!("strata ", env!("CARGO_PKG_VERSION"), " (commit ");
    assert!(version.starts_with(start), "{version}");
}

#[test]
fn generate_prints_the_text_alone() {
    let prompt = "Once upon a time";
    let output = strata(&["generate", "--model", MODEL, "--prompt", prompt, "--max-tokens", "30"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    for fact in ["engine     strata ", "tokenizer  llama", "context    512 tokens", "threads "] {
        assert!(told.contains(fact), "{told}");
    }
    for line in ["prompt     ", "answer     30 tokens in "] {
        assert!(told.lines().any(|told| told.starts_with(line)), "{told}");
    }
    // Without a template a conversation of one message is its text.
    let running = crate::Running::start(None);
    let fields = json!({ "temperature": 0, "max_tokens": 30 });
    assert_eq!(chat(running.address, prompt, fields).text(), text);
}

#[test]
fn logits_are_rows_that_depend_on_what_came_before() {
    let folder = Folder::new("logits");
    let rows = |tokens: &str| {
        let out = folder.0.join("out.f32");
        let out = out.to_str().unwrap();
        let output = strata(&["logits", "--model", MODEL, "--tokens", tokens, "--out", out]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, b"");
        std::fs::read(out).unwrap()
    };
    let three = rows("1,403,407");
    assert_eq!(three.len(), 3 * 512 * 4);
    assert_eq!(rows("1,403"), three[..2 * 512 * 4]);
    let row: Vec<f32> =
        three.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    assert!(row.iter().all(|logit| logit.is_finite()));
    let out = folder.0.join("none");
    let error = refused_after_plan(&[
        "logits",
        "--model",
        MODEL,
        "--tokens",
        "1,512",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(error.contains("512"), "{error}");
    assert!(!out.exists(), "a file is whole or absent");
}

#[test]
fn logits_never_take_the_place_of_what_is_no_file() {
    let folder = Folder::new("logits-link");
    let (target, link) = (folder.0.join("target"), folder.0.join("link"));
    std::fs::write(&target, "kept").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    for out in [&link, &folder.0] {
        let out = out.to_str().unwrap();
        let output = strata(&["logits", "--model", MODEL, "--tokens", "1", "--out", out]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("is no regular file: give the path of a file"), "{error}");
    }
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), b"kept");
}

/// As `refused`, for what is only found after the plan was printed; returns the last line.
fn refused_after_plan(arguments: &[&str]) -> String {
    let output = strata(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    error.lines().last().unwrap().into()
}

#[test]
fn tokenize_counts_what_the_server_counts() {
    let folder = Folder::new("tokenize");
    let ids = |arguments: &[&str]| {
        let output = strata(&[&["tokenize", "--model", MODEL], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    let text = "Once upon a time";
    let by_text = ids(&["--text", text]);
    assert_eq!(ids(&["--file", &folder.file("text", text)]), by_text);
    let request = json!({ "messages": [{ "role": "user", "content": text }] }).to_string();
    let request = folder.file("chat.json", request);
    assert_eq!(ids(&["--chat", &request]), by_text);
    let json: Value =
        serde_json::from_str(&ids(&["--chat", &request, "--output", "json"])).unwrap();
    let list: Vec<String> = json["ids"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!(list.join(","), by_text);
    assert_eq!(json["count"], list.len());

    let running = crate::Running::start(None);
    let status = get(running.address, "/v1/status").json();
    assert_eq!(json["tokenizer"], status["tokenizer"]);
    assert_eq!(json["template"]["sha256"], status["template"]["sha256"]);
    let answer = chat(running.address, text, json!({ "max_tokens": 1 }));
    assert_eq!(answer.json()["usage"]["prompt_tokens"], json["count"]);

    let bad = folder.file("bad.json", r#"{"messages":[{"role":"user"}]}"#);
    let error = refused(&["tokenize", "--model", MODEL, "--chat", &bad], 2);
    assert!(
        error.ends_with("messages[0].content is null, expected a text or a list of text parts")
    );
}

/// The bundled model with the first `from` replaced by `to`, of the same length.
fn altered(from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = std::fs::read(MODEL).unwrap();
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    bytes[at..at + from.len()].copy_from_slice(to);
    bytes
}

#[test]
fn inspect_shows_what_runs_and_what_does_not() {
    let folder = Folder::new("inspect");
    let text = String::from_utf8(strata(&["inspect", MODEL]).stdout).unwrap();
    let head: Vec<&str> = text.lines().skip(1).take_while(|line| *line != "tensors").collect();
    // The best kernel set is the machine's.
    let head = head.join("\n");
    let (before, after) = head.split_once("on cpu, kernels ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    insta::assert_snapshot!("inspect", format!("{before}on cpu, kernels …\n{after}"));

    let json = |path: &str| -> Value {
        let output = strata(&["inspect", path, "--output", "json"]);
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let runs = json(MODEL);
    assert_eq!(runs["obstacles"], json!([]));
    assert_eq!(runs["geometry"]["embedding_length"], 64);
    assert_eq!(runs["tensors"].as_array().unwrap().len(), 47);

    let stranger = folder
        .file("stranger.gguf", altered(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0lhama"));
    let obstacles = json(&stranger)["obstacles"].to_string();
    assert!(obstacles.contains("lhama"), "{obstacles}");
    let error = refused(&["generate", "--model", &stranger, "--prompt", "x"], 2);
    assert!(error.contains("lhama"), "{error}");
}

#[test]
fn names_from_a_file_do_not_reach_the_terminal() {
    let folder = Folder::new("names");
    let name = b"blk.0.attn_q.weight";
    let path =
        folder.file("names.gguf", altered(name, "blk.0\u{1b}[2J\u{202e}\nk\u{9b}311".as_bytes()));
    let output = strata(&["inspect", &path]);
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(text.contains(r"blk.0\u{1b}[2J\u{202e}\nk\u{9b}311"), "{text}");
    let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!text.contains(obeyed), "{text:?}");
}

#[test]
fn unknown_formats_are_all_named() {
    let folder = Folder::new("formats");
    let mut bytes = std::fs::read(MODEL).unwrap();
    for name in ["blk.0.attn_q.weight", "blk.3.ffn_up.weight"] {
        let at = bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
        // After the name: the number of dimensions, two of them, and the type.
        let kind = at + name.len() + 4 + 2 * 8;
        bytes[kind..kind + 4].copy_from_slice(&99_u32.to_le_bytes());
    }
    let path = folder.file("formats.gguf", bytes);
    let error = refused(&["generate", "--model", &path, "--prompt", "x"], 2);
    for part in ["blk.0.attn_q.weight", "blk.3.ffn_up.weight", "99"] {
        assert!(error.contains(part), "{error}");
    }
    let text = String::from_utf8(strata(&["inspect", &path]).stdout).unwrap();
    assert!(text.contains("runs here     no: "), "{text}");
}

#[test]
fn models_that_are_missing_or_damaged_are_one_line() {
    let folder = Folder::new("damaged");
    let whole = std::fs::read(MODEL).unwrap();
    let cut = folder.file("cut.gguf", &whole[..whole.len() / 2]);
    let text = folder.file("text.gguf", "not a model");
    let none = folder.0.join("none.gguf");
    for path in [none.to_str().unwrap(), &cut, &text, folder.0.to_str().unwrap()] {
        let error = refused(&["serve", "--model", path, "--port", "0"], 2);
        assert!(error.contains(path), "{error}");
        refused(&["inspect", path], 2);
    }
}

/// `strata serve` as a child; killed when dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) address: std::net::SocketAddr,
    told: BufReader<std::process::ChildStderr>,
}

impl Serving {
    fn start(arguments: &[&str]) -> Serving {
        Serving::limited("", arguments)
    }

    /// After a shell command that narrows what the process may use.
    pub(crate) fn limited(limit: &str, arguments: &[&str]) -> Serving {
        let mut child = Command::new("/bin/sh")
            .args(["-c", &format!("{limit}\nexec \"$0\" serve \"$@\"")])
            .arg(env!("CARGO_BIN_EXE_strata"))
            .args(arguments)
            .env("STRATA_TEST_KEY", "k3y")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        let url = line.strip_prefix("listening on http://");
        let address = url.unwrap_or_else(|| panic!("{line:?}")).trim_end().parse().unwrap();
        Serving { child, address, told }
    }

    /// Sends a signal; returns the exit code.
    pub(crate) fn end(&mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serve_announces_its_port_and_ends_by_signal() {
    for (signal, code) in [("-TERM", 0), ("-INT", 130)] {
        let mut serving = Serving::start(&["--model", MODEL, "--port", "0", "--threads", "1"]);
        assert_eq!(get(serving.address, "/health").status, 200);
        let other = get(serving.address, "/v1/status").json()["options"].clone();
        assert_eq!(
            other["other"],
            json!({ "--ctx": "512", "--device": "cpu", "--kernels": "auto", "--threads": "1" })
        );
        assert_eq!(other["kv_cache"], json!({ "--kv": "f16" }));
        assert_eq!(serving.end(signal), Some(code), "{signal}");
    }
}

#[test]
fn a_port_in_use_is_found_before_the_model_is_loaded() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = refused(&["serve", "--model", MODEL, "--port", &port], 2);
    assert_eq!(
        error,
        format!(
            "127.0.0.1:{port} is already in use: stop what listens there or choose another --port \
             (0 takes any free one)"
        )
    );
}

const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/profile.json");

#[test]
fn a_profile_gives_model_and_options_and_flags_win() {
    let serving = Serving::start(&["--profile", PROFILE, "--port", "0", "--kv", "f32"]);
    let status = get(serving.address, "/v1/status").json();
    assert_eq!(status["context_tokens"], 256);
    assert_eq!(status["options"]["kv_cache"]["--kv"], "f32");
    assert_eq!(status["device"]["kernels"], "reference");
}

#[test]
fn profiles_that_cannot_be_used() {
    let folder = Folder::new("profiles");
    let profile: Value = serde_json::from_str(&std::fs::read_to_string(PROFILE).unwrap()).unwrap();
    let check = |change: fn(&mut Value), want: &str| {
        let mut profile = profile.clone();
        change(&mut profile);
        let path = folder.file("profile.json", profile.to_string());
        let error = refused(&["serve", "--profile", &path], 2);
        assert!(error.contains(want), "{error}");
    };
    check(|p| p["extra"] = json!(1), "unknown field `extra`");
    check(|p| p["schema_version"] = json!(2), "schema_version is 2, expected 1");
    check(|p| p["subcommand"] = json!(["bench"]), "subcommand is [\"bench\"]");
    check(|p| p["options"]["--model"] = json!("m"), "options holds --model");
    check(|p| p["options"]["--frob"] = json!("1"), "--frob");
    check(|p| p["options"]["--ctx"] = json!(256), "invalid type");
    let none = folder.0.join("none.json");
    assert!(refused(&["serve", "--profile", none.to_str().unwrap()], 2).contains("none.json"));
}

#[test]
fn the_key_comes_from_the_environment_and_is_not_told() {
    let arguments = ["--model", MODEL, "--port", "0", "--api-key-env", "STRATA_TEST_KEY"];
    let mut serving = Serving::start(&arguments);
    assert_eq!(get(serving.address, "/v1/models").status, 401);
    assert_eq!(get(serving.address, "/health").status, 200);
    serving.end("-INT");
    let mut told = String::new();
    std::io::Read::read_to_string(&mut serving.told, &mut told).unwrap();
    assert!(told.contains("API key    asked for"), "{told}");
    assert!(!told.contains("k3y"), "{told}");
}

#[test]
fn a_reader_that_has_enough_ends_generate_well() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_strata"))
        .args(["generate", "--model", MODEL, "--prompt", "Once upon a time"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

#[test]
fn an_interrupt_ends_generate_with_130() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_strata"))
        .args(["generate", "--model", MODEL, "--prompt", "Once", "--kernels", "reference"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut stdout, &mut [0]).unwrap();
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn bench_becomes_the_program_beside_this_one() {
    let folder = Folder::new("bench");
    let program = folder.0.join("strata");
    std::fs::copy(env!("CARGO_BIN_EXE_strata"), &program).unwrap();
    let run = || Command::new(&program).args(["bench", "--help", "x y"]).output().unwrap();
    let missing = run();
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("strata-bench"));

    use std::os::unix::fs::PermissionsExt;
    let script = folder.file("strata-bench", "#!/bin/sh\necho \"$1|$2\"\nexit 4\n");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = run();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(4), &b"--help|x y\n"[..]));
}
