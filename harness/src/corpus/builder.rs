//! Builds the payloads of a corpus from a stock of sentences and a recipe, `corpus-build.json`.
//! The same three inputs give the same bytes on any machine; no tokenizer is asked.

use super::{Files, RECIPE, STOCK, body, manifest};
use crate::digest::sha256;
use crate::plan::{Planned, plan};
use crate::protocol::{LoadError, PhaseName, Protocol};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The version of this procedure that a recipe was written for.
pub const GENERATOR: &str = "strata-corpus 1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    generator: String,
    stock_sha256: String,
    /// Without it the lines of the stock are the sentences.
    #[serde(default)]
    fill: Option<Fill>,
    /// The message before that of the user, of every case.
    #[serde(default)]
    system: Option<String>,
    /// One for each case of the protocol, in its order.
    conversations: Vec<Conversation>,
}

/// How many sentences are made of few lines: each is written out again and again, with words drawn
/// for its `{slots}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fill {
    seed: u64,
    /// How often the whole stock is written out.
    times: u32,
    /// What may stand in a slot, by its name.
    words: BTreeMap<String, Vec<String>>,
}

/// What the user's message of a case is made of. All repetitions hold the same sentences in another
/// order, so they are equally long under any tokenizer that does not merge across blanks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversation {
    phase: PhaseName,
    case: String,
    /// Which sentences are drawn, and their order; without sentences it decides nothing.
    #[serde(default)]
    seed: u64,
    /// Joined by a blank.
    text: Vec<Part>,
    #[serde(default)]
    tools: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    /// As they stand.
    Words(String),
    /// So many, each of which serves one conversation only.
    Sentences(usize),
}

/// All files of the corpus: stock, recipe, payloads, and the manifest over them.
pub fn build(protocol: &Protocol, recipe: &str, stock: &str) -> Result<Files, LoadError> {
    let payloads = payloads(protocol, recipe, stock)
        .map_err(|problem| LoadError { place: RECIPE.to_string(), problem })?;
    let mut files = payloads;
    files.insert(RECIPE.to_string(), recipe.to_string());
    files.insert(STOCK.to_string(), stock.to_string());
    files.insert(manifest::NAME.to_string(), manifest::write(&files));
    Ok(files)
}

fn payloads(protocol: &Protocol, recipe: &str, stock: &str) -> Result<Files, String> {
    let recipe: Recipe = serde_json::from_str(recipe).map_err(|error| error.to_string())?;
    if recipe.generator != GENERATOR {
        return Err(format!("/generator is `{}`; this one is `{GENERATOR}`", recipe.generator));
    }
    if recipe.stock_sha256 != sha256(stock.as_bytes()) {
        return Err(format!(
            "/stock_sha256 is {}, that of {STOCK} is {}; restore the stock or record its digest",
            recipe.stock_sha256,
            sha256(stock.as_bytes())
        ));
    }
    let requests = plan(protocol, true);
    let sentences = match &recipe.fill {
        Some(fill) => fill.sentences(stock).map_err(|problem| format!("/fill{problem}"))?,
        None => stock.lines().map(str::to_string).collect(),
    };
    let mut left: Vec<&str> = sentences.iter().map(String::as_str).collect();
    let mut files = Files::new();
    for (i, conversation) in recipe.conversations.iter().enumerate() {
        let at = format!("/conversations/{i}");
        let requests: Vec<&Planned> = requests
            .iter()
            .filter(|r| r.phase == conversation.phase && r.case.id == conversation.case)
            .collect();
        let texts = conversation.texts(&mut left, requests.len()).map_err(|p| at.clone() + p)?;
        for (request, text) in requests.iter().zip(texts) {
            let system =
                recipe.system.iter().map(|text| json!({"role": "system", "content": text}));
            let user = json!({"role": "user", "content": text});
            let messages: Vec<Value> = system.chain([user]).collect();
            let body = body::body(protocol, request, messages, conversation.tools.as_ref());
            if files.insert(super::payload_path(&request.id), body).is_some() {
                return Err(format!("{at} is a second one of `{}`; drop one", conversation.case));
            }
        }
    }
    match requests.iter().find(|request| !files.contains_key(&super::payload_path(&request.id))) {
        Some(request) => Err(format!("/conversations has none for {}; add it", request.id)),
        None => Ok(files),
    }
}

impl Fill {
    /// Every sentence once: one that comes out a second time is left out.
    fn sentences(&self, stock: &str) -> Result<Vec<String>, String> {
        let mut random = SplitMix64(self.seed);
        let (mut sentences, mut seen) = (Vec::new(), BTreeSet::new());
        for _ in 0..self.times {
            for line in stock.lines() {
                let sentence = self.sentence(line, &mut random)?;
                if seen.insert(sentence.clone()) {
                    sentences.push(sentence);
                }
            }
        }
        Ok(sentences)
    }

    /// The line with its slots filled from left to right.
    fn sentence(&self, line: &str, random: &mut SplitMix64) -> Result<String, String> {
        let mut pieces = line.split('{');
        let mut sentence = pieces.next().unwrap_or_default().to_string();
        for piece in pieces {
            let (slot, rest) = piece.split_once('}').unwrap_or((piece, ""));
            let words = self.words.get(slot).filter(|words| !words.is_empty());
            let words = words.ok_or_else(|| {
                format!("/words has none for the slot `{slot}` of {STOCK}; add some")
            })?;
            sentence += &words[random.below(words.len())];
            sentence += rest;
        }
        Ok(sentence)
    }
}

/// A part with its sentences drawn.
enum Drawn<'a> {
    Words(&'a str),
    Sentences(Vec<&'a str>),
}

impl Conversation {
    /// One text a repetition. Takes the sentences it draws out of `left`.
    fn texts(&self, left: &mut Vec<&str>, repetitions: usize) -> Result<Vec<String>, &'static str> {
        let mut random = SplitMix64(self.seed);
        let mut parts = Vec::new();
        for part in &self.text {
            parts.push(match part {
                Part::Words(words) => Drawn::Words(words),
                Part::Sentences(count) if *count > left.len() => {
                    return Err(" wants more sentences than are left; add to the stock");
                }
                Part::Sentences(count) => {
                    let draw = |_| left.remove(random.below(left.len()));
                    Drawn::Sentences((0..*count).map(draw).collect())
                }
            });
        }
        if repetitions > 1 && matches!(parts.first(), Some(Drawn::Words(_))) {
            return Err(" opens with words; its repetitions would begin alike");
        }
        (0..repetitions).map(|repetition| text(&parts, repetition, &mut random)).collect()
    }
}

fn text(
    parts: &[Drawn],
    repetition: usize,
    random: &mut SplitMix64,
) -> Result<String, &'static str> {
    let mut text = Vec::new();
    for part in parts {
        match part {
            Drawn::Words(words) => text.push(*words),
            Drawn::Sentences(sentences) if sentences.len() <= repetition => {
                return Err(" has a part with fewer sentences than repetitions; they would begin \
                            alike");
            }
            Drawn::Sentences(sentences) => {
                // Another sentence opens each repetition, so that they part from there on.
                let mut rest = sentences.clone();
                text.push(rest.remove(repetition));
                random.shuffle(&mut rest);
                text.append(&mut rest);
            }
        }
    }
    Ok(text.join(" "))
}

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `bound`, by the high half of a product (Lemire 2019); the bias is below bound / 2^64.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Fisher and Yates, from the end.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
