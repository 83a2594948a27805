//! Writes the payloads and the manifest of a corpus anew from its stock and its recipe:
//! `cargo run --example build_corpus -- spec/protocols/embedded-v1.json`

#![allow(clippy::print_stdout)] // a program for people

use std::error::Error;
use std::fs;
use std::path::Path;
use strata_harness::corpus::{RECIPE, STOCK, builder};
use strata_harness::digest::sha256;
use strata_harness::protocol::Protocol;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("give the path of a protocol file")?;
    let protocol = Protocol::parse(&fs::read_to_string(&path)?, &path)?;
    let folder = Path::new(&path).with_file_name("..").join("corpus").join(&protocol.suite);
    let recipe = fs::read_to_string(folder.join(RECIPE))?;
    let stock = fs::read_to_string(folder.join(STOCK))?;
    let files = builder::build(&protocol, &recipe, &stock)?;
    for (name, text) in &files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().ok_or("a file lies in a folder")?)?;
        fs::write(file, text)?;
    }
    let digest = sha256(files["manifest.sha256"].as_bytes());
    println!("{} files; the protocol's corpus_sha256 must be {digest}", files.len());
    Ok(())
}
